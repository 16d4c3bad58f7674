-- What people ask of all jobs at once: a list of them, how many there are in each state, whose certificate expires, and
-- how it went lately.

-- All living jobs by name. It has all that a search looks at, so that one that finds nothing costs a walk through this and
-- not through the jobs; `deleted_at` is there because it is looked at though the condition says it all. None of it changes
-- when a job runs.
CREATE INDEX jobs_named ON jobs (name_key, collection_id, state, deleted_at) WHERE deleted_at IS NULL;
CREATE INDEX jobs_in_state ON jobs (state, deleted_at) WHERE deleted_at IS NULL;

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

-- The client certificates of jobs and their error actions, so that nobody has to read all definitions to see which
-- expires next.
CREATE TABLE certificates (
    job_id     INTEGER NOT NULL REFERENCES definitions (job_id) ON DELETE CASCADE,
    -- 0 for the action, 1 for its error action, and so on.
    depth      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    subject    TEXT    NOT NULL,
    thumbprint TEXT    NOT NULL,
    PRIMARY KEY (job_id, depth)
) STRICT, WITHOUT ROWID;
CREATE INDEX certificates_by_end ON certificates (expires_at);

WITH RECURSIVE actions (job_id, depth, action) AS (
    -- A definition that nobody can read must not keep the rest of the store from opening.
    SELECT job_id, 0, definition -> '$.action' FROM definitions WHERE json_valid(definition)
    UNION ALL
    SELECT job_id, depth + 1, action -> '$.on_error' FROM actions WHERE action -> '$.on_error' IS NOT NULL
), found AS (
    SELECT job_id, depth, action -> '$.call.Http.request.authentication.ClientCertificate' AS certificate FROM actions
)
INSERT INTO certificates (job_id, depth, expires_at, subject, thumbprint)
SELECT job_id,
       depth,
       -- Certificates end on a whole second.
       CAST(strftime('%s', certificate ->> '$.expiration') AS INTEGER) * 10000000,
       certificate ->> '$.subject',
       certificate ->> '$.thumbprint'
FROM found
WHERE certificate IS NOT NULL;
