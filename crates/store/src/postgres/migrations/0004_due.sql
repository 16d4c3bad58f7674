-- Due times in a table of their own, so that a job that runs is written without touching an index of `jobs`.
--
-- A node of an earlier version looks for due times in `jobs` and writes none here: it cannot live beside this.

-- What `jobs.due_at` says, in the order of time: one row for every job that has one. Whoever changes that column of a job
-- holds on to the job, and changes this in the same transaction (`due.rs`).
CREATE TABLE due (
    ahead  boolean  NOT NULL,
    due_at bigint   NOT NULL,
    job_id bigint   NOT NULL,
    shard  smallint NOT NULL
-- A job that runs changes its row here. With room on its page the new one stays there.
) WITH (fillfactor = 70);
INSERT INTO due (ahead, due_at, job_id, shard)
    SELECT ahead, due_at, id, shard FROM jobs WHERE due_at IS NOT NULL ORDER BY ahead, due_at, id;
-- No index by job: its entries would lie anywhere, and a job's own row says where it is found here.
ALTER TABLE due ADD PRIMARY KEY (ahead, due_at, job_id);

-- An index on what changes with every occurrence makes each of them write to all indexes.
DROP INDEX jobs_due;
