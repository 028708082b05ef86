-- version: counts the definitions that a job has had; defined_at: since when it has the present one, none: since it
-- was created. Programs of earlier steps count none: what they change stays under the number that is there.
ALTER TABLE states ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

ALTER TABLE states ADD COLUMN defined_at INTEGER;

-- Why a person paused the job. It counts only while the job is paused: earlier programs leave it behind.
ALTER TABLE states ADD COLUMN paused_reason TEXT;

-- version: of the definition under which an attempt started; 0: it has not, or an earlier program started it.
ALTER TABLE attempts ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

-- What was given with a request: a JSON object.
ALTER TABLE attempts ADD COLUMN payload TEXT;

-- Definitions that jobs had before: the columns of `jobs`, from when to when they held, and the revision of the
-- source that replaced them; none: the job had removed itself.
CREATE TABLE definitions (
    job_no INTEGER NOT NULL,
    version INTEGER NOT NULL,
    frame TEXT NOT NULL,
    data TEXT NOT NULL,
    policy_no INTEGER NOT NULL,
    from_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,
    replaced_by TEXT,
    PRIMARY KEY (job_no, version)
) WITHOUT ROWID;

-- The revisions of each source, in their order, and to how many jobs each made a difference.
CREATE TABLE source_revisions (
    source TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    revision TEXT NOT NULL,
    at INTEGER NOT NULL,
    added INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    PRIMARY KEY (source, ordinal)
) WITHOUT ROWID;
