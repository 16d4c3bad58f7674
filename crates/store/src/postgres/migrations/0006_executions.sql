-- Executions come and go by the ten thousand within a second, so their statistics are always those of another moment, and
-- mostly of none at all. A plan made for none reads all of them wherever an index lets it, and is kept while they come.
-- This index serves only those who name jobs; the others have no index to read from end to end.
DROP INDEX executions_by_job;
CREATE INDEX executions_by_job ON executions (job_id, number) WHERE job_id IS NOT NULL;
