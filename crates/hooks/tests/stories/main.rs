//! Hook calls from payload to reply, on a real store.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod answers;
mod batches;
mod damage;
mod files;
mod holding;
mod nudging;
mod offering;
mod rollouts;
mod scene;
mod sub_agents;
mod tombstones;
