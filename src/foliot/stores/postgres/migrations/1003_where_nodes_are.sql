-- Where a node runs, and whether it drains. Nodes of earlier versions do not say.
ALTER TABLE nodes ADD COLUMN host text NOT NULL DEFAULT '';

ALTER TABLE nodes ADD COLUMN process bigint;

ALTER TABLE nodes ADD COLUMN is_draining boolean NOT NULL DEFAULT false;
