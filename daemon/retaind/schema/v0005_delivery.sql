-- Deliveries: documents on their way to a memory that completes them later.

-- A session's rows are delivered one after the other, in the order of generation_id and start.
CREATE TABLE delivery (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: newer rows have larger ones
    memory          TEXT    NOT NULL,
    stream_id       INTEGER NOT NULL,
    generation_id   INTEGER NOT NULL,
    start           INTEGER NOT NULL,         -- the bytes of the generation that the document was made from
    end             INTEGER NOT NULL,
    document_id     TEXT    NOT NULL,
    url             TEXT    NOT NULL,
    bank            TEXT    NOT NULL,
    state           TEXT    NOT NULL,         -- planned, accepted, completed, set_aside
    attempt         INTEGER NOT NULL,
    operation_id    TEXT    NOT NULL,         -- follows from url, bank, document_id, payload_hash, attempt
    payload_hash    TEXT    NOT NULL,         -- SHA-256 of the document's text
    payload         BLOB,                     -- the item as it is sent, one zstd frame; NULL once completed
    spans           BLOB,                     -- JSON: where in the text each message stands; NULL once completed
    records         INTEGER NOT NULL,         -- of the cursor's count, those that this document retains
    tokens          INTEGER NOT NULL,
    error           TEXT,                     -- why it was set aside
    created         REAL    NOT NULL,         -- seconds since 1970
    settled         REAL                      -- when it was completed or set aside
);
CREATE INDEX delivery_open ON delivery (memory, stream_id, generation_id, start)
    WHERE state IN ('planned', 'accepted');
CREATE INDEX delivery_state ON delivery (memory, state);
CREATE INDEX delivery_stream ON delivery (stream_id);
CREATE INDEX delivery_document ON delivery (document_id);

-- What a memory with banks knows of a session, once for all.
CREATE TABLE session_pin (
    memory          TEXT    NOT NULL,
    stream_id       INTEGER NOT NULL,
    bank            TEXT,                     -- NULL until the first record tells
    confirmed       INTEGER NOT NULL,         -- 1 once the bank has accepted a document
    backfill        INTEGER NOT NULL,         -- 1: the user asked for what came before the memory was set up
    PRIMARY KEY (memory, stream_id)
) WITHOUT ROWID;

CREATE TABLE bank_mission (
    url             TEXT    NOT NULL,
    bank            TEXT    NOT NULL,
    hash            TEXT    NOT NULL,         -- of the mission's texts as the bank has them
    PRIMARY KEY (url, bank)
) WITHOUT ROWID;

-- Since when each memory is configured, in seconds since 1970.
CREATE TABLE memory_since (
    memory          TEXT    PRIMARY KEY,
    since           REAL    NOT NULL
) WITHOUT ROWID;
