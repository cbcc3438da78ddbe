-- Sessions that a remote memory retains anew: what it had of them leaves once that has arrived.

CREATE TABLE renewal (
    memory          TEXT    NOT NULL,
    stream_id       INTEGER NOT NULL,
    after           INTEGER NOT NULL,         -- deliveries with a larger id are of the renewal
    upto            TEXT    NOT NULL,         -- JSON: generation_id → how far it had been planned
    PRIMARY KEY (memory, stream_id)
) WITHOUT ROWID;
