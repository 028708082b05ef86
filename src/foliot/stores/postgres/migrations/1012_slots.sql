-- How many attempts of each queue a node runs at once: a small JSON document.
ALTER TABLE nodes ADD COLUMN slots text;
