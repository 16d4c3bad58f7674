-- A job that runs is written twice: when its occurrence is claimed and when that is settled. With room on its page both
-- stay there, and the second touches no index. Pages that are full already get their room when their rows are next moved.
ALTER TABLE jobs SET (fillfactor = 75);
