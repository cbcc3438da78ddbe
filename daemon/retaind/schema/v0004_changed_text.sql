-- What is counted besides the fate of records.

ALTER TABLE cursor ADD COLUMN lossy INTEGER NOT NULL DEFAULT 0;  -- records with U+FFFD for what is not UTF-8
ALTER TABLE block ADD COLUMN lines INTEGER;  -- newlines in a run of which only length and hash are kept
