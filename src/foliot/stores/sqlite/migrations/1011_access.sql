-- Who may use the API; see foliot.model.access. Of a secret only its SHA-256 is kept.
CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX tokens_by_time ON tokens (created_at, id);

CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX sessions_by_token ON sessions (token_id);

CREATE INDEX sessions_by_end ON sessions (ends_at);

CREATE TABLE login_codes (
    hash TEXT NOT NULL PRIMARY KEY,
    token_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX login_codes_by_token ON login_codes (token_id);

CREATE INDEX login_codes_by_time ON login_codes (created_at);

-- What was asked for, by whom; see foliot.model.audit.
CREATE TABLE audit (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    object TEXT NOT NULL,
    text TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX audit_by_time ON audit (at, id);

CREATE INDEX audit_by_actor ON audit (actor, at, id);

CREATE INDEX audit_by_object ON audit (object, at, id);

-- What schedules of the API run; see foliot.model.pipeline.
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

CREATE INDEX pipelines_by_name ON pipelines (namespace, layer, name, id);

CREATE INDEX pipelines_removed ON pipelines (updated_at) WHERE is_removed = 1;

-- The names of those that are active.
CREATE TABLE pipeline_names (
    namespace TEXT NOT NULL,
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (namespace, layer, name)
) WITHOUT ROWID;
