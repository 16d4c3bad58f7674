-- A job that ends changes its place in one index of states, and no longer in the one of names too. Who looks for jobs in
-- one state looks through `jobs_in_state`.
DROP INDEX jobs_named;
CREATE INDEX jobs_named ON jobs (name_key, collection_id, deleted_at) WHERE deleted_at IS NULL;
