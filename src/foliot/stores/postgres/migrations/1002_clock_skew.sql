-- How far the clock of a node's host is ahead of the server's, in microseconds, as the node last said.
ALTER TABLE nodes ADD COLUMN skew bigint NOT NULL DEFAULT 0;
