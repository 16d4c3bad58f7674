-- How a database tends small tables that change all the time.
--
-- By default a table is counted anew when fifty rows and a tenth of it have changed, and cleaned up after fifty and a fifth.
-- Ten thousand jobs of which five hundred run a second are then counted as often as it looks, all of them: with a look every
-- second that was half of what the database did. What it knows from the last time does as well, and rows that a job leaves
-- behind are cleaned up by whoever comes to their page next. With millions of jobs the fractions decide, as before.
ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 10000, autovacuum_analyze_threshold = 20000);
ALTER TABLE definitions SET (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 20000);
ALTER TABLE due SET (autovacuum_analyze_threshold = 20000);
ALTER TABLE executions SET (autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 20000);
ALTER TABLE tallies SET (autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 5000);
ALTER TABLE tallies_lateness SET (autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 5000);
