-- How a database tends tables of which rows come and go all the time.
--
-- Whoever looks for what is due next passes all that is gone and not yet cleaned up. By default a fifth of a table has to
-- be gone first: with millions of jobs that is a long way to pass.
ALTER TABLE due SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE executions SET (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 1000);
