-- What people ask of all jobs at once: a list of them, how many there are in each state, whose certificate expires, and
-- how it went lately.

-- All living jobs by name. It has all that a search looks at, so that one that finds nothing costs a walk through this and
-- not through the jobs. None of it changes when a job runs.
CREATE INDEX jobs_named ON jobs (name_key, collection_id, state) WHERE deleted_at IS NULL;
CREATE INDEX jobs_in_state ON jobs (state) WHERE deleted_at IS NULL;
