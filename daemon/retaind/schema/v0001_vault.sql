-- The vault: exact bytes of every stream, and the evidence by which a file is known again.

CREATE TABLE stream (
    id              INTEGER PRIMARY KEY,
    public_id       TEXT    NOT NULL UNIQUE,  -- opaque; what users and other tables of facts call it
    host            TEXT    NOT NULL,         -- claude_code, manual, ...
    kind            TEXT    NOT NULL,         -- session, subagent, attachment, manual
    session_id      TEXT    NOT NULL,         -- from the file's name, never from its records
    owner_session   TEXT,                     -- of a sub-agent or attachment: the session it belongs to
    path            BLOB    NOT NULL,         -- bytes as the file system gave them
    cwd             TEXT,                     -- of the first record that has one; pinned
    project         TEXT,                     -- derived from cwd once; pinned
    mode            TEXT    NOT NULL,         -- full, metadata, off, listed (too large to read), held (undecided)
    parent_id       INTEGER REFERENCES stream (id),
    parent_offset   INTEGER,                  -- bytes shared with the parent when the copy was seen
    source_state    TEXT    NOT NULL,         -- present, gone, unobservable, replaced
    size_bytes      INTEGER NOT NULL,         -- at the last look
    first_seen      REAL    NOT NULL,         -- seconds since 1970
    last_activity   REAL    NOT NULL
);
CREATE INDEX stream_session ON stream (session_id);
CREATE INDEX stream_path ON stream (path);

CREATE TABLE generation (
    id              INTEGER PRIMARY KEY,
    stream_id       INTEGER NOT NULL REFERENCES stream (id),
    n               INTEGER NOT NULL,
    captured        INTEGER NOT NULL,         -- bytes in the vault, from 0 without a gap
    device          INTEGER NOT NULL,         -- two's complement of the unsigned number
    inode           INTEGER NOT NULL,
    inode_version   INTEGER,                  -- FS_IOC_GETVERSION where the system tells
    head_bytes      INTEGER NOT NULL,         -- the head covers this many bytes, at most 4096
    head_hash       BLOB    NOT NULL,
    prefix_hash     BLOB,                     -- over the first 1024 bytes, once there are as many
    frontier_hash   BLOB    NOT NULL,         -- last 4096 bytes or less before `captured`
    size            INTEGER NOT NULL,         -- of the file at the last look, with its times
    mtime_ns        INTEGER NOT NULL,
    ctime_ns        INTEGER NOT NULL,
    closed          TEXT,                     -- NULL while open, else why: rewritten, truncated, replaced, gone
    UNIQUE (stream_id, n)
);
CREATE INDEX generation_open ON generation (closed) WHERE closed IS NULL;

CREATE TABLE block (
    generation_id   INTEGER NOT NULL REFERENCES generation (id),
    start           INTEGER NOT NULL,         -- offset of the first raw byte
    length          INTEGER NOT NULL,         -- raw bytes
    sha256          BLOB,                     -- of the raw bytes; kept when the data is pruned
    data            BLOB,                     -- one zstd frame; NULL once pruned
    PRIMARY KEY (generation_id, start)
);
CREATE INDEX block_small ON block (generation_id, length) WHERE length < 1048576;
