-- Times are milliseconds since 1970. Digests are 64 bits, stored as signed integers.

CREATE TABLE sessions (
    id               INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: caches are keyed by it
    agent            TEXT    NOT NULL,
    native_id        TEXT    NOT NULL,
    parent           INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    version          INTEGER NOT NULL DEFAULT 0,        -- seq of the last event
    snapshot         INTEGER NOT NULL DEFAULT 0,        -- seq of the newest snapshot
    chain            INTEGER NOT NULL DEFAULT 0,        -- digest of the last event
    state            TEXT    NOT NULL DEFAULT 'active', -- the name alone, for filters
    held             INTEGER NOT NULL DEFAULT 0,        -- paused or killed, archived or not
    state_json       TEXT    NOT NULL DEFAULT '{"state":"active"}', -- authoritative
    project          TEXT,
    last_at          INTEGER NOT NULL DEFAULT 0,        -- for sorting; up to a second stale
    calls            INTEGER NOT NULL DEFAULT 0,
    tokens           INTEGER NOT NULL DEFAULT 0,
    cost_micros      INTEGER NOT NULL DEFAULT 0,
    descendants_json TEXT,                              -- spend of sub-agents
    details_json     TEXT    NOT NULL DEFAULT '{}',     -- SessionDetails
    UNIQUE (agent, native_id)
) STRICT;
-- Newest first. State and agent are included so that filters need no lookup in the table.
CREATE INDEX sessions_newest ON sessions (last_at, id, state, agent);
CREATE INDEX sessions_native ON sessions (native_id, agent);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_held ON sessions (last_at, id) WHERE held = 1;

-- The log of all sessions, in order of arrival. Events of a deleted session remain until the session is removed from
-- `deleted_sessions`.
CREATE TABLE events (
    id       INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    seq      INTEGER NOT NULL, -- position in the session, from 1
    identity INTEGER NOT NULL, -- the same fact is recorded once per session
    at       INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    rules    INTEGER NOT NULL,
    json     TEXT    NOT NULL,
    digest   INTEGER NOT NULL, -- of this event and of the digest before it
    UNIQUE (session, seq),
    UNIQUE (session, identity)
) STRICT;

-- Sessions whose events are still to be deleted.
CREATE TABLE deleted_sessions (
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

-- The rules each event was applied under, so that replaying a log gives the same decisions.
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
    author        TEXT,
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

-- The outbox: what happened, once per key.
CREATE TABLE messages (
    id         INTEGER PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    topic      TEXT    NOT NULL,
    payload    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    routed     INTEGER NOT NULL DEFAULT 0 -- its deliveries exist
) STRICT;
CREATE INDEX messages_unrouted ON messages (id) WHERE routed = 0;
CREATE INDEX messages_created ON messages (created_at);

-- The delivery of a message to a channel.
CREATE TABLE deliveries (
    message    INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    channel    TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'pending', -- pending, sent, failed, skipped
    attempts   INTEGER NOT NULL DEFAULT 0,
    since      INTEGER NOT NULL, -- when next_at was set; later than now if the clock was set back
    next_at    INTEGER NOT NULL, -- when it is due; while claimed, when the lease ends
    last_error TEXT,
    PRIMARY KEY (message, channel)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_pending ON deliveries (channel, next_at, message) WHERE state = 'pending';

CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Spend of projects and accounts, by day.
CREATE TABLE ledger (
    day         INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    tokens      INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (day, name)
) STRICT, WITHOUT ROWID;
