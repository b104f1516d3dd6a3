//! What becomes of real outputs.
