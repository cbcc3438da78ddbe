-- What each memory has taken of each generation.

CREATE TABLE cursor (
    memory          TEXT    NOT NULL,
    generation_id   INTEGER NOT NULL REFERENCES generation (id),
    offset          INTEGER NOT NULL,         -- every byte before it is planned
    carry           BLOB    NOT NULL,         -- what survives a window's edge; core/plan.py
    records         INTEGER NOT NULL,         -- messages and markers; a message of several lines is one
    retained        INTEGER NOT NULL,
    pending         INTEGER NOT NULL,         -- planned, not yet completed by the memory
    set_aside       INTEGER NOT NULL,
    dropped         TEXT    NOT NULL,         -- JSON: reason -> count
    redacted        TEXT    NOT NULL,         -- JSON: kind of secret -> count
    messages        INTEGER NOT NULL,
    turns           INTEGER NOT NULL,
    policy_hash     TEXT    NOT NULL,
    parser_version  INTEGER NOT NULL,
    PRIMARY KEY (memory, generation_id)
) WITHOUT ROWID;

-- One row a record that a memory owns: a copy of the record elsewhere is its duplicate.
CREATE TABLE record_owner (
    key             INTEGER PRIMARY KEY,      -- 63 bits of SHA-256 over memory, uuid and normalised content
    generation_id   INTEGER NOT NULL
);

-- Results of executions, delivered at least once to hooks and events.
CREATE TABLE result (
    id              INTEGER PRIMARY KEY,
    memory          TEXT    NOT NULL,
    created         REAL    NOT NULL,         -- seconds since 1970
    body            TEXT    NOT NULL,         -- the RetainResult as JSON; ids, sizes and counts only
    hooked          INTEGER NOT NULL          -- 1 once the post-retain hook has taken it
);
CREATE INDEX result_unhooked ON result (id) WHERE hooked = 0;
