-- Where a node runs, how far its host's clock is off, in microseconds, and whether it drains. A table of its own:
-- programs of earlier steps write whole rows of `nodes`, and forget them alone.
CREATE TABLE node_notes (
    node_no INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    process INTEGER,
    skew INTEGER NOT NULL,
    is_draining INTEGER NOT NULL
);
