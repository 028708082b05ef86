-- What the process of an attempt ended with; negative: the signal that ended it.
ALTER TABLE attempts ADD COLUMN exit_code INTEGER;

-- What else is known of a source. A table of its own: programs of the first step write whole rows of `sources`,
-- and none of these; so `reconciled_at` counts only for the revision that stands beside it.
-- status: a small JSON document of whoever reads the source.
CREATE TABLE source_notes (
    source TEXT PRIMARY KEY,
    revision TEXT,
    reconciled_at INTEGER,
    status TEXT
) WITHOUT ROWID;

-- Whether somebody is to be cancelled is asked every second; there are hardly ever any.
CREATE INDEX attempts_cancelling ON attempts (node_no) WHERE state = 2;
