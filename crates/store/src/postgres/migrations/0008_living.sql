-- The jobs of a collection that are not finished, enabled (0) or disabled (1): they are counted where a quota may be
-- reached, however many finished ones lie beside them.
CREATE INDEX jobs_living ON jobs (collection_id) WHERE deleted_at IS NULL AND state IN (0, 1);
