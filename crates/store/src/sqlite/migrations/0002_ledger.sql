-- What projects and accounts have spent, by day.
CREATE TABLE ledger (
    day INTEGER NOT NULL,
    name TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    PRIMARY KEY (day, name)
) WITHOUT ROWID;
