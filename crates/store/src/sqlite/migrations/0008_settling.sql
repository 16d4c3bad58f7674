-- What a settlement writes gets less: fewer lists, fewer indexes.

-- Entries of history and ledger are no longer listed twice, first unfiled and then filed. What is not filed yet are the
-- rows with the highest serials; see `filing.rs`.
INSERT INTO history_filed SELECT job_id, at, serial FROM history_unfiled ORDER BY 1, 2, 3;
INSERT INTO ledger_filed SELECT job_id, at, serial FROM ledger_unfiled ORDER BY 1, 2, 3;
DROP TABLE history_unfiled;
DROP TABLE ledger_unfiled;

-- One row: the serials up to which entries are filed. What the lists have beyond that does not count yet.
CREATE TABLE filed (
    history INTEGER NOT NULL,
    ledger  INTEGER NOT NULL
) STRICT;
INSERT INTO filed (history, ledger) VALUES (
    (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'history'),
    (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'ledger')
);

-- One index where there were two with the state in front of the name: a job that ends moves in it once.
DROP INDEX jobs_by_state;
DROP INDEX jobs_in_state;
CREATE INDEX jobs_in_state ON jobs (state, collection_id, name_key, deleted_at) WHERE deleted_at IS NULL;
