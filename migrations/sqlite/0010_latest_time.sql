-- The latest time by which anything was judged, ms: what was over by then stays over.

ALTER TABLE database ADD COLUMN latest_time INTEGER NOT NULL DEFAULT 0;
