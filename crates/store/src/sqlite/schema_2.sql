-- What the dashboard shows, computed when events arrive.

-- The tool calls of each session. Like events, calls of a deleted session are deleted in slices.
CREATE TABLE calls (
    session               INTEGER NOT NULL,
    call                  INTEGER NOT NULL, -- ordinal in the session, from 0
    seq                   INTEGER NOT NULL, -- of its event
    at                    INTEGER NOT NULL,
    batch                 INTEGER NOT NULL, -- calls made in parallel share a batch
    action                INTEGER NOT NULL, -- fingerprint
    outcome               INTEGER NOT NULL, -- digest
    first                 INTEGER NOT NULL, -- the pair of action and outcome was new
    progress              INTEGER NOT NULL,
    mark                  TEXT    NOT NULL,
    what                  TEXT    NOT NULL,
    result                TEXT    NOT NULL,
    file                  TEXT,
    reads                 INTEGER NOT NULL,
    checks                INTEGER NOT NULL,
    distinct_pairs        INTEGER NOT NULL DEFAULT 0,
    cost_micros           INTEGER NOT NULL DEFAULT 0,
    since_progress_micros INTEGER NOT NULL DEFAULT 0,
    fresh_tokens          INTEGER NOT NULL DEFAULT 0,
    cached_tokens         INTEGER NOT NULL DEFAULT 0,
    context_percent       INTEGER,
    PRIMARY KEY (session, call)
) STRICT, WITHOUT ROWID;

-- Spend by hour, agent, project and model.
CREATE TABLE spend (
    hour            INTEGER NOT NULL, -- since 1970
    agent           TEXT    NOT NULL,
    project         TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    tokens          INTEGER NOT NULL,
    cost_micros     INTEGER NOT NULL,
    unpriced_micros INTEGER NOT NULL,
    PRIMARY KEY (hour, agent, project, model)
) STRICT, WITHOUT ROWID;
