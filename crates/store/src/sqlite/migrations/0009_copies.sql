-- A copy of the store tells of when it is.

-- NULL in a store that is served. In a copy: everything that was committed before this instant is in it, and nothing else.
-- Whoever serves the copy takes it away, because from then on there is more.
ALTER TABLE moves ADD COLUMN copied_at INTEGER;
