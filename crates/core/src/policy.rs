//! The ladder from finding to intervention.
