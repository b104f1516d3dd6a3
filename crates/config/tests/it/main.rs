//! Tests of the configuration.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod editing;
mod layers;
mod paths;
mod projects;
mod reference;
mod rulesets;
mod tightening;
mod units;
mod world;
