-- What people ask of all jobs at once: a list of them, how many there are in each state, whose certificate expires, and
-- how it went lately.

-- All living jobs by name. It has all that a search looks at, so that one that finds nothing costs a walk through this and
-- not through the jobs. None of it changes when a job runs.
CREATE INDEX jobs_named ON jobs (name_key, collection_id, state) WHERE deleted_at IS NULL;
CREATE INDEX jobs_in_state ON jobs (state) WHERE deleted_at IS NULL;

-- How every minute went: what became of occurrences, and how many attempts failed. A minute is counted from 1970.
CREATE TABLE tallies (
    minute          INTEGER PRIMARY KEY,
    ran             INTEGER NOT NULL,
    ran_late        INTEGER NOT NULL,
    faulted         INTEGER NOT NULL,
    skipped         INTEGER NOT NULL,
    missed          INTEGER NOT NULL,
    failed_attempts INTEGER NOT NULL,
    -- In milliseconds.
    lateness_max    INTEGER
) STRICT;
-- How many occurrences of a minute were how late, in steps of a histogram; `model::Lateness` says how wide they are.
CREATE TABLE tallies_lateness (
    minute INTEGER NOT NULL,
    step   INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (minute, step)
) STRICT, WITHOUT ROWID;
