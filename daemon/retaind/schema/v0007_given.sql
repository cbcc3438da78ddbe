-- What agents were given at their prompts, so that no session is given the same memory twice.

CREATE TABLE given (
    id              INTEGER PRIMARY KEY,      -- the oldest go first when there are too many
    session_id      TEXT    NOT NULL,
    message         INTEGER NOT NULL,         -- 63 bits of SHA-256 over the message's words
    UNIQUE (session_id, message)
);
