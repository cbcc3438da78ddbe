-- The local memory: documents as text, cut in chunks, and the full-text index over their messages.

CREATE TABLE local_source (
    id              INTEGER PRIMARY KEY,
    stream          TEXT    NOT NULL UNIQUE,  -- the stream's opaque id
    host            TEXT    NOT NULL,
    session_id      TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    project         TEXT,
    cwd             TEXT
);
CREATE INDEX local_source_session ON local_source (session_id);

-- A session is a chain of documents, n = 0, 1, ..., of which only the last is open. A document that a
-- user named has no n. While a named document is replaced, its next body is built in a row of its own.
CREATE TABLE local_document (
    id              INTEGER PRIMARY KEY,
    source_id       INTEGER NOT NULL REFERENCES local_source (id),
    name            TEXT    NOT NULL,
    n               INTEGER,
    generation      INTEGER NOT NULL,
    state           TEXT    NOT NULL,         -- open; closed: never changes; building: replaces another
    context         TEXT    NOT NULL,
    tags            TEXT    NOT NULL,         -- JSON
    metadata        TEXT    NOT NULL,         -- JSON
    chars           INTEGER NOT NULL,         -- of the stored text
    tokens          INTEGER NOT NULL,
    chunks          INTEGER NOT NULL,
    body_hash       BLOB,                     -- of a named document's whole text, once it is complete
    pending_hash    BLOB,                     -- what is being written in several steps; NULL when complete
    pending_from    INTEGER NOT NULL,         -- where in the text it begins
    updated         REAL    NOT NULL          -- seconds since 1970
);
CREATE UNIQUE INDEX local_document_chain ON local_document (source_id, n);
CREATE INDEX local_document_name ON local_document (name);

-- The text of a document in pieces, in order and without a gap. Small ones are plain until they are merged.
CREATE TABLE local_frame (
    id              INTEGER PRIMARY KEY,
    document_id     INTEGER NOT NULL REFERENCES local_document (id),
    start           INTEGER NOT NULL,         -- in characters
    chars           INTEGER NOT NULL,
    packed          INTEGER NOT NULL,         -- 1: one zstd frame; 0: UTF-8 as it is
    data            BLOB    NOT NULL
);
CREATE UNIQUE INDEX local_frame_place ON local_frame (document_id, start);

-- A chunk ends where the next one starts.
CREATE TABLE local_chunk (
    document_id     INTEGER NOT NULL REFERENCES local_document (id),
    start           INTEGER NOT NULL,
    hash            BLOB    NOT NULL,         -- first 16 bytes of the SHA-256 of its text
    PRIMARY KEY (document_id, start)
) WITHOUT ROWID;

-- What the index holds, one row a message, or a piece of one that is larger than a chunk. Ids are never
-- used again: the index has no text of its own by which to notice.
CREATE TABLE local_passage (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id     INTEGER NOT NULL REFERENCES local_document (id),
    start           INTEGER NOT NULL,
    chars           INTEGER NOT NULL,
    role            TEXT,
    turn            INTEGER NOT NULL,
    time            INTEGER                   -- milliseconds since 1970
);
CREATE INDEX local_passage_place ON local_passage (document_id, start);

-- Byte ranges of a stream's generation that a document was made from, merged where they touch.
CREATE TABLE local_span (
    document_id     INTEGER NOT NULL REFERENCES local_document (id),
    start           INTEGER NOT NULL,
    end             INTEGER NOT NULL,
    PRIMARY KEY (document_id, start)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE local_index USING fts5 (
    text, extra, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);
-- Fewer, larger merges: they are most of what indexing costs.
INSERT INTO local_index (local_index, rank) VALUES ('automerge', 8);
INSERT INTO local_index (local_index, rank) VALUES ('crisismerge', 32);
INSERT INTO local_index (local_index, rank) VALUES ('hashsize', 4194304);
