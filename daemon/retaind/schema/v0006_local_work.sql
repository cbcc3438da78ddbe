-- What an extractor finds, what is rebuilt, what was forgotten, and what was processed each day.

-- A fact stands for the chunk that it was found in, and is searched like a message.
ALTER TABLE local_passage ADD COLUMN fact TEXT;  -- NULL: a part of the document's own text
CREATE INDEX local_passage_fact ON local_passage (document_id, start) WHERE fact IS NOT NULL;
ALTER TABLE local_chunk ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;  -- 1: not yet extracted
CREATE INDEX local_chunk_pending ON local_chunk (document_id, start) WHERE pending = 1;

-- While a session is rebuilt: the last of the documents in its chain that are to leave.
ALTER TABLE local_source ADD COLUMN leaving_upto INTEGER;

-- NULL is the local memory, and whatever was owned before this column was there.
ALTER TABLE record_owner ADD COLUMN memory TEXT;

-- Forgotten for good. Hashes only; what each is of, runtime/tombstones.py says.
CREATE TABLE tombstone (
    kind            TEXT    NOT NULL,         -- session, head, record, folder
    hash            BLOB    NOT NULL,
    length          INTEGER NOT NULL,         -- of a head: how many bytes it covers; else 0
    PRIMARY KEY (kind, hash, length)
) WITHOUT ROWID;

-- Documents of forgotten sessions that a remote memory is still to erase; `operation_id` is that of a
-- delivery that was under way, which must end first.
CREATE TABLE remote_erasure (
    id              INTEGER PRIMARY KEY,
    memory          TEXT    NOT NULL,
    url             TEXT    NOT NULL,
    bank            TEXT    NOT NULL,
    document_id     TEXT    NOT NULL,
    operation_id    TEXT,
    created         REAL    NOT NULL          -- seconds since 1970
);

-- Sums over results, which are kept for a while only.
CREATE TABLE processed (
    day             TEXT    NOT NULL,         -- in UTC
    memory          TEXT    NOT NULL,
    executions      INTEGER NOT NULL,
    tokens          INTEGER NOT NULL,         -- processed_content_tokens, where it is a number
    unmetered       INTEGER NOT NULL,         -- executions in which it is none,
    unmetered_chars INTEGER NOT NULL,         -- and the characters that were submitted in them
    llm_input       INTEGER NOT NULL,
    llm_output      INTEGER NOT NULL,
    PRIMARY KEY (day, memory)
) WITHOUT ROWID;
CREATE TRIGGER result_processed AFTER INSERT ON result WHEN json_extract(new.body, '$.success') BEGIN
    INSERT INTO processed VALUES (
        date(new.created, 'unixepoch'), new.memory, 1,
        coalesce(json_extract(new.body, '$.processed_content_tokens'), 0),
        json_extract(new.body, '$.processed_content_tokens') IS NULL,
        iif(json_extract(new.body, '$.processed_content_tokens') IS NULL,
            coalesce(json_extract(new.body, '$.submitted_chars'), 0), 0),
        coalesce(json_extract(new.body, '$.llm_input_tokens'), 0),
        coalesce(json_extract(new.body, '$.llm_output_tokens'), 0)
    ) ON CONFLICT (day, memory) DO UPDATE SET
        executions = executions + 1,
        tokens = tokens + excluded.tokens,
        unmetered = unmetered + excluded.unmetered,
        unmetered_chars = unmetered_chars + excluded.unmetered_chars,
        llm_input = llm_input + excluded.llm_input,
        llm_output = llm_output + excluded.llm_output;
END;
