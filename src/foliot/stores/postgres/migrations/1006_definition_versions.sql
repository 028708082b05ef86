-- version: counts the definitions that a job has had; defined_at: since when it has the present one, none: since it
-- was created. Programs of earlier steps count none: what they change stays under the number that is there.
ALTER TABLE states ADD COLUMN version bigint NOT NULL DEFAULT 1;

ALTER TABLE states ADD COLUMN defined_at bigint;

-- Why a person paused the job. It counts only while the job is paused: earlier programs leave it behind.
ALTER TABLE states ADD COLUMN paused_reason text;

-- version: of the definition under which an attempt started; 0: it has not, or an earlier program started it.
ALTER TABLE attempts ADD COLUMN version bigint NOT NULL DEFAULT 0;

-- What was given with a request: a JSON object.
ALTER TABLE attempts ADD COLUMN payload text;

-- Definitions that jobs had before: the columns of `jobs`, from when to when they held, and the revision of the
-- source that replaced them; none: the job had removed itself.
CREATE TABLE definitions (
    job_no bigint NOT NULL,
    version bigint NOT NULL,
    frame text NOT NULL,
    data text NOT NULL,
    policy_no bigint NOT NULL,
    from_at bigint NOT NULL,
    until_at bigint NOT NULL,
    replaced_by text,
    PRIMARY KEY (job_no, version)
);

-- The revisions of each source, in their order, and to how many jobs each made a difference.
CREATE TABLE source_revisions (
    source text COLLATE "C" NOT NULL,
    ordinal bigint NOT NULL,
    revision text NOT NULL,
    at bigint NOT NULL,
    added bigint NOT NULL,
    changed bigint NOT NULL,
    removed bigint NOT NULL,
    PRIMARY KEY (source, ordinal)
);
