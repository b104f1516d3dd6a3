-- Times are milliseconds since 1970, digests are 64 bits read as a signed number.

CREATE TABLE sessions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: caches go by it
    agent        TEXT    NOT NULL,
    native_id    TEXT    NOT NULL,
    parent       INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    version      INTEGER NOT NULL DEFAULT 0,        -- number of the last event
    snapshot     INTEGER NOT NULL DEFAULT 0,        -- event number of the newest snapshot
    tip          INTEGER,                           -- the last event's place in the log
    state        TEXT    NOT NULL DEFAULT 'active', -- the word, for searching
    held         INTEGER NOT NULL DEFAULT 0,        -- paused or killed, archived or not
    state_json   TEXT    NOT NULL DEFAULT '{"state":"active"}', -- the authority
    project      TEXT,
    last_at      INTEGER NOT NULL DEFAULT 0,        -- for sorting; may be a second behind
    calls        INTEGER NOT NULL DEFAULT 0,
    tokens       INTEGER NOT NULL DEFAULT 0,
    cost_micros  INTEGER NOT NULL DEFAULT 0,
    beneath_json TEXT,                              -- what sub-agents have cost
    card_json    TEXT    NOT NULL DEFAULT '{}',    -- the rest, packed
    UNIQUE (agent, native_id)
) STRICT;
-- Newest first; state and agent ride along so that filtering needs no second look.
CREATE INDEX sessions_newest ON sessions (last_at, id, state, agent);
CREATE INDEX sessions_native ON sessions (native_id, agent);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_held ON sessions (last_at, id) WHERE held = 1;

-- The log of all sessions in the order of arrival. The events of one session are chained by `prev`, newest first:
-- a session is read from its end, and an index for that would cost a page more with every event. Events outlive
-- their session until they are cleaned up, see `graves`.
CREATE TABLE events (
    ord      INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    prev     INTEGER,
    identity INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    rules    INTEGER NOT NULL,
    json     TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_identity ON events (session, identity);

-- Sessions that are gone, and whose events have still to go.
CREATE TABLE graves (
    session INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE snapshots (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    format  INTEGER NOT NULL,
    rules   INTEGER NOT NULL,
    data    TEXT    NOT NULL,
    UNIQUE (session, seq)
) STRICT;

-- The rules each event was applied under, so that a log replays as it happened.
CREATE TABLE rules (
    digest INTEGER PRIMARY KEY,
    json   TEXT NOT NULL
) STRICT;

CREATE TABLE incidents (
    id        TEXT    PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    json      TEXT    NOT NULL
) STRICT;
CREATE INDEX incidents_session ON incidents (session, opened_at);
CREATE INDEX incidents_opened ON incidents (opened_at);
CREATE INDEX incidents_open ON incidents (session, opened_at) WHERE closed_at IS NULL;

CREATE TABLE findings (
    id      TEXT    PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at      INTEGER NOT NULL,
    json    TEXT    NOT NULL
) STRICT;
CREATE INDEX findings_session ON findings (session, at);

CREATE TABLE notes (
    id            INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at            INTEGER NOT NULL,
    decision_json TEXT    NOT NULL,
    by_whom       TEXT,
    text          TEXT    NOT NULL
) STRICT;
CREATE INDEX notes_session ON notes (session, at);

CREATE TABLE tombstones (
    id         INTEGER PRIMARY KEY,
    agent      TEXT    NOT NULL,
    native_id  TEXT    NOT NULL,
    project    TEXT    NOT NULL,
    task       TEXT,
    pattern    TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (agent, native_id, pattern)
) STRICT;
CREATE INDEX tombstones_project ON tombstones (project, expires_at);

CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    topic      TEXT    NOT NULL,
    payload    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    next_at    INTEGER NOT NULL, -- when it is due; while claimed, when the lease ends
    attempts   INTEGER NOT NULL DEFAULT 0,
    state      TEXT    NOT NULL DEFAULT 'pending',
    last_error TEXT
) STRICT;
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'pending';
CREATE INDEX outbox_state ON outbox (state, created_at);

CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
