-- Who may use the API; see foliot.model.access. Of a secret only its SHA-256 is kept.
CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    text text NOT NULL
);

CREATE INDEX tokens_by_time ON tokens (created_at, id);

CREATE TABLE sessions (
    hash text COLLATE "C" PRIMARY KEY,
    token_id text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    seen_at bigint NOT NULL,
    ends_at bigint NOT NULL
);

CREATE INDEX sessions_by_token ON sessions (token_id);

CREATE INDEX sessions_by_end ON sessions (ends_at);

CREATE TABLE login_codes (
    hash text COLLATE "C" PRIMARY KEY,
    token_id text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL
);

CREATE INDEX login_codes_by_token ON login_codes (token_id);

CREATE INDEX login_codes_by_time ON login_codes (created_at);

-- What was asked for, by whom; see foliot.model.audit.
CREATE TABLE audit (
    id text COLLATE "C" PRIMARY KEY,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    object text COLLATE "C" NOT NULL,
    text text NOT NULL
);

CREATE INDEX audit_by_time ON audit (at, id);

CREATE INDEX audit_by_actor ON audit (actor, at, id);

CREATE INDEX audit_by_object ON audit (object, at, id);

-- What schedules of the API run; see foliot.model.pipeline.
CREATE TABLE pipelines (
    id text COLLATE "C" PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    layer text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    is_removed bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_run text,
    text text NOT NULL
);

CREATE INDEX pipelines_by_name ON pipelines (namespace, layer, name, id);

CREATE INDEX pipelines_removed ON pipelines (updated_at) WHERE is_removed = 1;

-- The names of those that are active.
CREATE TABLE pipeline_names (
    namespace text COLLATE "C" NOT NULL,
    layer text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, layer, name)
);
