-- How far the store has come, and in whose hands it is: what `examine` compares with the log and with the witness beside
-- the file. All of it stands in the row that nearly every commit writes anyway.

-- Counts commits.
ALTER TABLE revisions ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
-- A name for each opening of the file by a server, and for each copy; and the one before it. A log bears the name of the
-- opening that it belongs to.
ALTER TABLE revisions ADD COLUMN opening TEXT NOT NULL DEFAULT '';
ALTER TABLE revisions ADD COLUMN opening_before TEXT NOT NULL DEFAULT '';
-- Whether the file is complete without a log: since a clean stop, and in a copy.
ALTER TABLE revisions ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
