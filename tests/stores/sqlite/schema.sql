CREATE TRIGGER outputs_gone AFTER DELETE ON outputs BEGIN
    DELETE FROM output_parts WHERE run_key = old.run_key AND number = old.number;
END;

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

CREATE TABLE attempts (
    scheduled_for INTEGER NOT NULL,
    job_no INTEGER NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    previous_at INTEGER,
    claim_no INTEGER,
    trigger INTEGER NOT NULL,
    state INTEGER NOT NULL,
    covers_from INTEGER,
    wake_at INTEGER,
    node_no INTEGER,
    token INTEGER NOT NULL,
    claimed_at INTEGER,
    deadline_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    outcome INTEGER,
    error TEXT,
    reason TEXT NOT NULL,
    retries INTEGER NOT NULL,
    losses INTEGER NOT NULL, exit_code INTEGER, seq INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0, payload TEXT,
    PRIMARY KEY (scheduled_for, job_no, request, number)
) WITHOUT ROWID;

CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    object TEXT NOT NULL,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE claims (
    claim_no INTEGER PRIMARY KEY AUTOINCREMENT,
    claim_id TEXT NOT NULL UNIQUE,
    node_no INTEGER NOT NULL,
    kept_until INTEGER NOT NULL
);

CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

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

CREATE TABLE group_runs (
    group_name TEXT NOT NULL,
    scheduled_for INTEGER NOT NULL,
    job_no INTEGER NOT NULL,
    request TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (group_name, scheduled_for, job_no, request, number)
) WITHOUT ROWID;

CREATE TABLE jobs (
    job_no INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    frame TEXT NOT NULL,
    data TEXT NOT NULL,
    policy_no INTEGER NOT NULL
);

CREATE TABLE lanes (
    lane_no INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    UNIQUE (queue, kind)
);

CREATE TABLE login_codes (
    hash TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE node_names (node_no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);

CREATE TABLE node_notes (
    node_no INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    process INTEGER,
    skew INTEGER NOT NULL,
    is_draining INTEGER NOT NULL
, limits TEXT, slots TEXT);

CREATE TABLE nodes (
    node_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    queues TEXT NOT NULL,
    kinds TEXT,
    version TEXT NOT NULL,
    machine TEXT NOT NULL,
    boot TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    is_buried INTEGER NOT NULL
);

CREATE TABLE outages (first_at INTEGER PRIMARY KEY, last_at INTEGER NOT NULL);

CREATE TABLE output_parts (
    run_key TEXT NOT NULL,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_key, number, start)
) WITHOUT ROWID;

CREATE TABLE outputs (
    run_key TEXT NOT NULL,
    number INTEGER NOT NULL,
    job TEXT NOT NULL,
    text TEXT NOT NULL,
    dropped INTEGER NOT NULL,
    PRIMARY KEY (run_key, number)
) WITHOUT ROWID;

CREATE TABLE pipeline_names (
    namespace TEXT NOT NULL,
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (namespace, layer, name)
) WITHOUT ROWID;

CREATE TABLE pipelines (
    id TEXT NOT NULL PRIMARY KEY,
    namespace TEXT NOT NULL,
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    is_removed INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_run TEXT,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE policies (policy_no INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE remains (job_no INTEGER PRIMARY KEY, key TEXT NOT NULL, newest_at INTEGER);

CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE skips (
    job_no INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (job_no, first_at, last_at)
) WITHOUT ROWID;

CREATE TABLE source_notes (
    source TEXT PRIMARY KEY,
    revision TEXT,
    reconciled_at INTEGER,
    status TEXT
) WITHOUT ROWID;

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

CREATE TABLE sources (source TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE states (
    job_no INTEGER PRIMARY KEY,
    lane_no INTEGER NOT NULL,
    newest_at INTEGER,
    damage TEXT,
    token INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    wake_at INTEGER,
    served_until INTEGER,
    next_at INTEGER,
    paused_at INTEGER,
    removed_at INTEGER,
    fired_count INTEGER NOT NULL,
    failures_in_row INTEGER NOT NULL,
    last_attempt_at INTEGER,
    last_failure_at INTEGER,
    last_run TEXT
, opened INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, trim_at INTEGER NOT NULL DEFAULT 200, look_at INTEGER DEFAULT 0, cut_at INTEGER, version INTEGER NOT NULL DEFAULT 1, defined_at INTEGER, paused_reason TEXT, last_problem TEXT, watch TEXT, paused_until INTEGER);

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX alerts_by_time ON alerts (at, id, channel);

CREATE INDEX alerts_waiting ON alerts (channel, at, id) WHERE state = 0;

CREATE INDEX attempts_cancelling ON attempts (node_no) WHERE state = 2;

CREATE INDEX attempts_held ON attempts (node_no) WHERE state IN (1, 2);

CREATE INDEX attempts_open ON attempts (job_no) WHERE state < 3;

CREATE INDEX attempts_problem ON attempts (outcome, scheduled_for) WHERE outcome > 1;

CREATE INDEX attempts_request ON attempts (job_no, request, number) WHERE request > '';

CREATE INDEX attempts_rise ON attempts (job_no, previous_at) WHERE previous_at > scheduled_for;

CREATE INDEX attempts_trouble ON attempts (job_no, scheduled_for) WHERE outcome > 1;

CREATE INDEX audit_by_actor ON audit (actor, at, id);

CREATE INDEX audit_by_object ON audit (object, at, id);

CREATE INDEX audit_by_time ON audit (at, id);

CREATE INDEX login_codes_by_time ON login_codes (created_at);

CREATE INDEX login_codes_by_token ON login_codes (token_id);

CREATE INDEX pipelines_by_name ON pipelines (namespace, layer, name, id);

CREATE INDEX pipelines_removed ON pipelines (updated_at) WHERE is_removed = 1;

CREATE INDEX sessions_by_end ON sessions (ends_at);

CREATE INDEX sessions_by_token ON sessions (token_id);

CREATE INDEX skips_by_end ON skips (last_at, job_no, first_at);

CREATE INDEX states_damaged ON states (job_no) WHERE damage IS NOT NULL;

CREATE INDEX states_due ON states (lane_no, wake_at, job_no) WHERE wake_at IS NOT NULL AND damage IS NULL;

CREATE INDEX states_failing ON states (job_no) WHERE failures_in_row > 0;

CREATE INDEX states_old ON states (look_at) WHERE look_at IS NOT NULL;

CREATE INDEX states_paused ON states (job_no) WHERE paused_at IS NOT NULL;

CREATE INDEX states_ripe ON states (job_no) WHERE trim_at <= opened + skipped;

CREATE INDEX tokens_by_time ON tokens (created_at, id);
