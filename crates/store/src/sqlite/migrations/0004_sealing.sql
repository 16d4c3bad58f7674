-- Secrets are sealed.

-- The keys that secrets are sealed with, or were lately. A key is known again by its proof: a value that only it opens.
CREATE TABLE keys (
    id    TEXT PRIMARY KEY,
    proof TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which key sealed a definition's secrets; NULL where it has none. 'plain' is what was written before this schema and is
-- still to be sealed: `unsealed.rs` does that before the store is used.
ALTER TABLE definitions ADD COLUMN sealed_by TEXT DEFAULT 'plain';
ALTER TABLE executions ADD COLUMN sealed_by TEXT;
UPDATE executions SET sealed_by = 'plain' WHERE definition IS NOT NULL;

-- What another key has sealed is found without looking at everything.
CREATE INDEX definitions_sealed ON definitions (sealed_by) WHERE sealed_by IS NOT NULL;
CREATE INDEX executions_sealed ON executions (sealed_by) WHERE sealed_by IS NOT NULL;

-- One row: whether plain secrets may linger where SQLite has deleted something. They may where there ever was a job.
CREATE TABLE traces (linger INTEGER NOT NULL) STRICT;
INSERT INTO traces (linger) SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'jobs');
