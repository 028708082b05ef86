-- Attempts that were started in a group; see group_rows.py. A row may outlive its attempt's end for a while.
CREATE TABLE group_runs (
    group_name text COLLATE "C" NOT NULL,
    scheduled_for bigint NOT NULL,
    job_no bigint NOT NULL,
    request text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (group_name, scheduled_for, job_no, request, number)
);

-- How many attempts of each group may run, as a node knows it: a small JSON document.
ALTER TABLE nodes ADD COLUMN limits text;

-- Times in which no node told the store that it lived; see outages.py.
CREATE TABLE outages (first_at bigint PRIMARY KEY, last_at bigint NOT NULL);
