-- How many attempts of each queue a node runs at once: a small JSON document.
ALTER TABLE node_notes ADD COLUMN slots TEXT;
