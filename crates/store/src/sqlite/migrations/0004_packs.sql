-- Events of a session that are written together share a row: the row is the last of them, the ones before are packed
-- into this column, see `pack`. `ord` and `seq` are those of the last, the others count down from there.
ALTER TABLE events ADD COLUMN earlier BLOB;

-- The identities of events that their session itself has forgotten, many in a row, 8 bytes each and the high one first.
-- A table that finds each of them by itself cost more pages than the log.
CREATE TABLE filed (
    id         INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL,
    identities BLOB    NOT NULL
) STRICT;
INSERT INTO filed (session, identities)
    SELECT session, unhex(group_concat(format('%016x', identity), '')) FROM identities GROUP BY session;
DROP TABLE identities;
CREATE INDEX filed_session ON filed (session);
