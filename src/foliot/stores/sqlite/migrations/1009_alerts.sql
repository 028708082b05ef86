-- What is remembered of a job for the sake of alerts; see foliot.model.watch. Older programs leave it as it is.
ALTER TABLE states ADD COLUMN watch TEXT;

-- The outbox; see foliot.model.outbox. An alert whose state is 0 waits to be sent.
CREATE TABLE alerts (
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    at INTEGER NOT NULL,
    job TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    settled_at INTEGER,
    answer TEXT,
    PRIMARY KEY (id, channel)
) WITHOUT ROWID;

CREATE INDEX alerts_waiting ON alerts (channel, at, id) WHERE state = 0;

CREATE INDEX alerts_by_time ON alerts (at, id, channel);
