-- When a history is worth a look (see foliot.stores.sql.prune). Programs of earlier steps do not count: their
-- attempts have no number; there time decides. `look_at`: what was there before is looked at once. `cut_at`:
-- see foliot.stores.sql.cut.
ALTER TABLE attempts ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;

ALTER TABLE states ADD COLUMN trim_at INTEGER NOT NULL DEFAULT 200;

ALTER TABLE states ADD COLUMN look_at INTEGER DEFAULT 0;

ALTER TABLE states ADD COLUMN cut_at INTEGER;

CREATE INDEX states_ripe ON states (job_no) WHERE trim_at <= opened + skipped;

CREATE INDEX states_old ON states (look_at) WHERE look_at IS NOT NULL;
