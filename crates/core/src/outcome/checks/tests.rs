//! Recorded shapes of reports, one dialect after the other.
