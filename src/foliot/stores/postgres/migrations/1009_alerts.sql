-- What is remembered of a job for the sake of alerts; see foliot.model.watch. Older programs leave it as it is.
ALTER TABLE states ADD COLUMN watch text;

-- The outbox; see foliot.model.outbox. An alert whose state is 0 waits to be sent.
CREATE TABLE alerts (
    id text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    job text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    text text NOT NULL,
    state bigint NOT NULL DEFAULT 0,
    settled_at bigint,
    answer text,
    PRIMARY KEY (id, channel)
);

CREATE INDEX alerts_waiting ON alerts (channel, at, id) WHERE state = 0;

CREATE INDEX alerts_by_time ON alerts (at, id, channel);
