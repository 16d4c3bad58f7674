-- What was seen of the time, so that retention does not follow a clock that leaps, not even over a start. One row, or none.
CREATE TABLE clock_marks (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    -- The time that retention goes by.
    believed INTEGER NOT NULL,
    -- For how long the clock has shown another time, in running time.
    doubted  INTEGER NOT NULL,
    -- The latest time that was seen.
    latest   INTEGER NOT NULL
) STRICT;

-- Retention leaves a mark in the chain for what it removes. It did not before: up to this entry there is none.
ALTER TABLE audit_chains ADD COLUMN unmarked_serial INTEGER NOT NULL DEFAULT 0;
UPDATE audit_chains SET unmarked_serial = before_serial;
