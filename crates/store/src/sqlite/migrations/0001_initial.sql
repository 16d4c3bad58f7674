-- The first schema.
--
-- Instants are whole numbers of 100-nanosecond ticks since 1970-01-01T00:00:00Z: what the API can write, no more.
-- A `…_key` is a name in lower case: it is what names are found and sorted by; the name itself keeps its case.
-- Small sets (state, cause, fate, …) are numbers; `codec.rs` lists them, and a number never changes its meaning.

-- One row: the last revision given to anything. Revisions are never used twice, so that the ETag of a job that is
-- deleted and made anew is a new one.
CREATE TABLE revisions (last INTEGER NOT NULL) STRICT;
INSERT INTO revisions (last) VALUES (0);

CREATE TABLE collections (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_key TEXT    NOT NULL,
    group_key        TEXT    NOT NULL,
    name_key         TEXT    NOT NULL,
    -- The collection as JSON. The columns below repeat of it what queries need.
    document         TEXT    NOT NULL,
    plan             TEXT    NOT NULL,
    enabled          INTEGER NOT NULL,
    resumed_at       INTEGER,
    -- How many jobs it has: counting a million of them for every new one would take its time.
    jobs             INTEGER NOT NULL DEFAULT 0,
    revision         INTEGER NOT NULL,
    -- Deleted collections stay as long as the ledger speaks of them.
    deleted_at       INTEGER
) STRICT;

-- One living collection of a name.
CREATE UNIQUE INDEX collections_by_path ON collections (subscription_key, group_key, name_key)
    WHERE deleted_at IS NULL;
-- The ledger is asked for collections by name, the deleted ones too.
CREATE INDEX collections_ever ON collections (subscription_key, group_key, name_key);

-- What changes with every firing is kept apart from the definition: rows are short, so that a herd of jobs that are
-- due together dirties few pages.
CREATE TABLE jobs (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id  INTEGER NOT NULL REFERENCES collections (id),
    name           TEXT    NOT NULL,
    name_key       TEXT    NOT NULL,
    seed           BLOB    NOT NULL,
    state          INTEGER NOT NULL,
    -- Whether its occurrences may be claimed ahead of time: they may where runs do not wait for each other.
    ahead          INTEGER NOT NULL,
    executions     INTEGER NOT NULL,
    failures       INTEGER NOT NULL,
    faulted        INTEGER NOT NULL,
    last_execution INTEGER,
    next_number    INTEGER NOT NULL,
    next_at        INTEGER,
    -- `next_at`, but only while the collection is enabled too: what a claim looks for. A disabled collection with
    -- overdue jobs costs a claim nothing.
    due_at         INTEGER,
    paused_at      INTEGER,
    last_faulted   INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    revision       INTEGER NOT NULL,
    -- How many history entries were ever written: tells when it is worth looking for too many.
    history_total  INTEGER NOT NULL DEFAULT 0,
    -- When it came to its final state.
    ended_at       INTEGER,
    -- Deleted jobs stay, without definition, as long as the ledger speaks of them.
    deleted_at     INTEGER,
    -- Whether it is deleted and its history is not yet.
    sweep          INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX jobs_by_name ON jobs (collection_id, name_key) WHERE deleted_at IS NULL;
CREATE INDEX jobs_by_state ON jobs (collection_id, state, name_key) WHERE deleted_at IS NULL;
CREATE INDEX jobs_ever ON jobs (collection_id, name_key) WHERE deleted_at IS NOT NULL;
CREATE INDEX jobs_due ON jobs (ahead, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX jobs_to_sweep ON jobs (id) WHERE sweep = 1;

CREATE TABLE definitions (
    job_id     INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    -- JSON.
    definition TEXT    NOT NULL
) STRICT;

-- Occurrences being carried out, or waiting for their next attempt.
CREATE TABLE executions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INTEGER NOT NULL REFERENCES jobs (id),
    generation INTEGER NOT NULL,
    tag        BLOB    NOT NULL,
    number     INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    cause      INTEGER NOT NULL,
    -- Whether it was claimed before it was due: then it can be taken back until it is begun.
    ahead      INTEGER NOT NULL,
    depth      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    -- NULL while it waits for an earlier execution of the job.
    wake_at    INTEGER,
    started_at INTEGER,
    -- Whether this process has handed it out. Claims die with the process: opening the store sets it to 0.
    claimed    INTEGER NOT NULL,
    -- NULL means the job's own; an execution that is under way while its job is changed gets a copy.
    definition TEXT
) STRICT;

CREATE INDEX executions_waiting ON executions (wake_at) WHERE claimed = 0 AND wake_at IS NOT NULL;
CREATE INDEX executions_queued ON executions (job_id, number) WHERE wake_at IS NULL;
CREATE INDEX executions_by_job ON executions (job_id, number);

-- Rows are written in the order of time, so whatever is too old is found at the low end of the serials.
CREATE TABLE history (
    serial       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL REFERENCES jobs (id),
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    expected_at  INTEGER NOT NULL,
    depth        INTEGER NOT NULL,
    status       INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    repeat_count INTEGER NOT NULL,
    message      TEXT    NOT NULL
) STRICT;

-- The serial is part of every index: newest first is a walk backwards.
CREATE INDEX history_by_job ON history (job_id, started_at);

CREATE TABLE ledger (
    serial        INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id        INTEGER NOT NULL REFERENCES jobs (id),
    collection_id INTEGER NOT NULL REFERENCES collections (id),
    due_at        INTEGER NOT NULL,
    due_until     INTEGER NOT NULL,
    occurrences   INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    cause         INTEGER NOT NULL,
    fate          INTEGER NOT NULL,
    reason        INTEGER,
    started_at    INTEGER,
    ended_at      INTEGER NOT NULL,
    tag           BLOB
) STRICT;

CREATE INDEX ledger_by_due ON ledger (due_at);
CREATE INDEX ledger_by_collection ON ledger (collection_id, due_at);
CREATE INDEX ledger_by_job ON ledger (job_id, due_at);
-- "What did not run, and why" is the question that is asked most; 0 is the fate of what simply ran. These are small.
CREATE INDEX ledger_trouble_by_due ON ledger (due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_collection ON ledger (collection_id, due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_job ON ledger (job_id, due_at) WHERE fate > 0;
