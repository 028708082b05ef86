-- How the last run of a job ended, or why its last occurrence had none, if that was no success. Earlier programs leave it
-- alone: after a success of theirs it stays until the next run here.
ALTER TABLE states ADD COLUMN last_problem TEXT;
