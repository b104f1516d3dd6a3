//! Integration tests of review loops.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod convergence;
