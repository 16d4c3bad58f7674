-- What a store knows about being moved to another database.

-- One row.
CREATE TABLE moves (
    -- Which store this is. A copy of the file is the same store.
    store    TEXT NOT NULL,
    -- The move that copied from here last, with no server beside it. While this stands, everything is as it was then: a
    -- server that starts takes it away.
    still    TEXT,
    -- The move that took everything away, where to (without a password), and when. Then no server starts here.
    moved_by TEXT,
    moved_to TEXT,
    moved_at INTEGER
) STRICT;
INSERT INTO moves (store) VALUES (lower(hex(randomblob(16))));
