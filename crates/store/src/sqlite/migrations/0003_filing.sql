-- The entries of each job in two levels.
--
-- An index by job has one place to write for every job. With a long history each place is a page of its own, so that
-- settling a thousand attempts wrote two thousand pages, and nine tenths of all writing were two indexes. Now new entries
-- are listed in a small tree first, where the jobs lie close together, and move to the large one many at a time, in its
-- order; see `filing.rs`.
--
-- The tables are made anew, without references to jobs: those would look for a deleted job through all rows.

CREATE TABLE history_filed (
    job_id INTEGER NOT NULL,
    -- When the entry started.
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;
CREATE TABLE history_unfiled (
    job_id INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_filed (
    job_id INTEGER NOT NULL,
    -- When the entry was due.
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger_unfiled (
    job_id INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    PRIMARY KEY (job_id, at, serial)
) STRICT, WITHOUT ROWID;

INSERT INTO history_filed SELECT job_id, started_at, serial FROM history ORDER BY 1, 2, 3;
INSERT INTO ledger_filed SELECT job_id, due_at, serial FROM ledger ORDER BY 1, 2, 3;

ALTER TABLE history RENAME TO history_before;
ALTER TABLE ledger RENAME TO ledger_before;

CREATE TABLE history (
    serial       INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id       INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    expected_at  INTEGER NOT NULL,
    depth        INTEGER NOT NULL,
    status       INTEGER NOT NULL,
    retry_count  INTEGER NOT NULL,
    repeat_count INTEGER NOT NULL,
    message      TEXT    NOT NULL
) STRICT;
CREATE TABLE ledger (
    serial        INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id        INTEGER NOT NULL,
    collection_id INTEGER NOT NULL,
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

INSERT INTO history SELECT * FROM history_before ORDER BY serial;
INSERT INTO ledger SELECT * FROM ledger_before ORDER BY serial;
-- Serials are never used twice, also when all rows are gone.
DELETE FROM sqlite_sequence WHERE name IN ('history', 'ledger');
INSERT INTO sqlite_sequence (name, seq)
    SELECT replace(name, '_before', ''), seq FROM sqlite_sequence WHERE name IN ('history_before', 'ledger_before');
-- Their indexes go with them.
DROP TABLE history_before;
DROP TABLE ledger_before;

CREATE INDEX ledger_by_due ON ledger (due_at);
CREATE INDEX ledger_by_collection ON ledger (collection_id, due_at);
CREATE INDEX ledger_trouble_by_due ON ledger (due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_collection ON ledger (collection_id, due_at) WHERE fate > 0;
CREATE INDEX ledger_trouble_by_job ON ledger (job_id, due_at) WHERE fate > 0;
