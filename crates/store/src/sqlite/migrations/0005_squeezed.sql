-- What stands in `earlier` says much the same over and over, so it is squeezed (an LZ4 block). How long it is when it is
-- read; NULL where it stands there as it is.
ALTER TABLE events ADD COLUMN squeezed INTEGER;
