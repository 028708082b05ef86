-- Attempts that were started in a group; see group_rows.py. A row may outlive its attempt's end for a while.
CREATE TABLE group_runs (
    group_name TEXT NOT NULL,
    scheduled_for INTEGER NOT NULL,
    job_no INTEGER NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (group_name, scheduled_for, job_no, request, number)
) WITHOUT ROWID;

-- How many attempts of each group may run, as a node knows it: a small JSON document.
ALTER TABLE node_notes ADD COLUMN limits TEXT;

-- Times in which no node told the store that it lived; see outages.py.
CREATE TABLE outages (first_at INTEGER PRIMARY KEY, last_at INTEGER NOT NULL);
