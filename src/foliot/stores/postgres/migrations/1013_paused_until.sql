-- When a pause ends by itself. Earlier programs leave it alone, and leave the job paused.
ALTER TABLE states ADD COLUMN paused_until bigint;
