-- Links that lead to a newer moment: where else the newest of a job's history are to be looked for (see chain.py).
CREATE INDEX attempts_rise ON attempts (job_no, previous_at) WHERE previous_at > scheduled_for;

-- The problems of one job, however many there are of others.
CREATE INDEX attempts_trouble ON attempts (job_no, scheduled_for) WHERE outcome > 1;

-- What jobs that were removed have left of their history, until it is forgotten (see remains.py).
CREATE TABLE remains (job_no INTEGER PRIMARY KEY, key TEXT NOT NULL, newest_at INTEGER);
