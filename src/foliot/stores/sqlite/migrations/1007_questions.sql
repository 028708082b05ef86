-- Small sets that people ask for, and skips by time. Neither is written by a run that goes well.
CREATE INDEX states_paused ON states (job_no) WHERE paused_at IS NOT NULL;

CREATE INDEX states_failing ON states (job_no) WHERE failures_in_row > 0;

CREATE INDEX skips_by_end ON skips (last_at, job_no, first_at);

-- What attempts that run have written so far; see foliot.stores.sql.outputs. Older programs forget it, too.
CREATE TABLE output_parts (
    run_key TEXT NOT NULL,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_key, number, start)
) WITHOUT ROWID;

CREATE TRIGGER outputs_gone AFTER DELETE ON outputs BEGIN
    DELETE FROM output_parts WHERE run_key = old.run_key AND number = old.number;
END;
