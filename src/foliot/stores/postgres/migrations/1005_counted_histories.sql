-- When a history is worth a look (see foliot.stores.sql.prune). Programs of earlier steps do not count: their
-- attempts have no number; there time decides. `look_at`: what was there before is looked at once. `cut_at`:
-- see foliot.stores.sql.cut.
ALTER TABLE attempts ADD COLUMN seq bigint NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN opened bigint NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN skipped bigint NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN trim_at bigint NOT NULL DEFAULT 200;

ALTER TABLE states ADD COLUMN look_at bigint DEFAULT 0;

ALTER TABLE states ADD COLUMN cut_at bigint;

CREATE INDEX states_ripe ON states (job_no) WHERE trim_at <= opened + skipped;

CREATE INDEX states_old ON states (look_at) WHERE look_at IS NOT NULL;
