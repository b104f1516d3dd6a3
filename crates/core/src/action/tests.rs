//! Behaviour of fingerprints a detector relies on.
