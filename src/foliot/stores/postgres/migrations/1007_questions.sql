-- Small sets that people ask for, and skips by time. Neither is written by a run that goes well.
CREATE INDEX states_paused ON states (job_no) WHERE paused_at IS NOT NULL;

CREATE INDEX states_failing ON states (job_no) WHERE failures_in_row > 0;

CREATE INDEX skips_by_end ON skips (last_at, job_no, first_at);

-- What attempts that run have written so far; see foliot.stores.sql.outputs.
CREATE TABLE output_parts (
    run_key text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    start bigint NOT NULL,
    text bytea NOT NULL,
    PRIMARY KEY (run_key, number, start),
    FOREIGN KEY (run_key, number) REFERENCES outputs ON DELETE CASCADE
);
