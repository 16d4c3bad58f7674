-- Moves of a store of another kind to this database, and nodes of two versions side by side.

-- The move that filled this database, or is filling it. No node starts before it is done.
CREATE TABLE moves (
    id       text     COLLATE "C" PRIMARY KEY,
    -- Which store it comes from, and where that was, for people.
    store    text     NOT NULL,
    source   text     NOT NULL,
    -- 0: under way, 1: done, 2: undone.
    state    smallint NOT NULL,
    began_at bigint   NOT NULL,
    ended_at bigint
);
-- How far a move has come with each kind of row: written in the transaction that writes the rows.
CREATE TABLE moves_progress (
    kind text   COLLATE "C" PRIMARY KEY,
    -- The key of the last row, as JSON.
    last text,
    rows bigint NOT NULL
);

-- The oldest schema that a program must know to use this database.
ALTER TABLE punctual_schema ADD COLUMN IF NOT EXISTS oldest bigint NOT NULL DEFAULT 1;
-- The newest schema that a node knows.
ALTER TABLE nodes ADD COLUMN schema bigint NOT NULL DEFAULT 1;
