-- What is left of a session that is gone is found by its chain. Those that are half cleared have none any more.
DELETE FROM events WHERE session IN (SELECT session FROM graves);
DELETE FROM graves;
ALTER TABLE graves ADD COLUMN tip INTEGER;

-- The identities of events that their session itself has forgotten. They were an index of the log, which costs a page
-- with every event; now they are filed many at a time, see `append`.
DROP INDEX events_identity;
CREATE TABLE identities (
    session  INTEGER NOT NULL,
    identity INTEGER NOT NULL,
    PRIMARY KEY (session, identity)
) STRICT, WITHOUT ROWID;
INSERT INTO identities SELECT session, identity FROM events ORDER BY session, identity;
