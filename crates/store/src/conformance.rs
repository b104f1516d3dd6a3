//! Conformance suite: the behaviour that every backend must have, tested through the traits.
//!
//! A backend's test file implements [`Fixture`] and calls `belay_store::conformance!(fresh, open)`, which expands to one
//! test per case. Cases that need several processes start the test binary again; see [`processes`].
#![expect(clippy::unwrap_used, reason = "test code")]

pub mod log;
pub mod names;
pub mod outbox;
pub mod processes;
pub mod records;
pub mod retention;
pub mod sessions;
pub mod transactions;

use belay_core::session::SessionFacts;
use belay_core::{Digest, SessionKey, SessionState, Timestamp};

use crate::session::{SessionDetails, SessionUpdate};
use crate::{Durability, NewEvent, SessionHead, SessionId, Store, Transaction};

/// A new, empty store that can be opened any number of times.
pub trait Fixture {
    /// Opens another connection.
    fn open(&self) -> Box<dyn Store>;
    /// The address by which another process opens the store; see [`processes::child`].
    fn address(&self) -> String;
    /// The full path of the `child` test in its test binary.
    fn child_test(&self) -> &'static str;
}

/// Generates one test per case. `$new` creates a [`Fixture`]; `$open` opens an address in a child process.
#[macro_export]
macro_rules! conformance {
    ($new:ident, $open:ident) => {
        $crate::conformance_cases!($new;
            sessions: rows_round_trip, pages_are_sorted_newest_first, filters_narrow_the_list,
                archived_sessions_are_hidden_by_default, spend_is_added_to_all_ancestors, parent_cycles_are_rejected,
                sort_time_never_decreases, unset_fields_are_unchanged;
            log: events_are_numbered_and_stored_as_written, an_identity_counts_once_per_session,
                limits_keep_the_first_or_the_last_events, interleaved_sessions_keep_their_order,
                duplicates_are_detected_at_any_age, the_log_of_all_sessions_can_be_followed,
                a_change_token_changes_with_every_commit;
            transactions: a_dropped_transaction_is_rolled_back, a_stale_update_is_a_conflict,
                readers_see_the_last_commit, a_load_returns_snapshot_and_tail, snapshots_of_another_format_are_ignored,
                rules_are_stored_once;
            names: a_unique_prefix_resolves, an_exact_match_wins, several_candidates_are_listed,
                names_contain_no_wildcards, short_names_are_unique_and_shortest;
            records: incidents_open_and_close, findings_are_looked_up_by_id, notes_are_stored_with_their_decision,
                tombstones_expire, settings_are_set_and_removed, totals_add_up, the_trial_counts_in_no_total,
                ledger_entries_add_up_by_name_and_day, sums_saturate;
            outbox: a_message_is_enqueued_once, each_channel_has_its_own_state, a_claim_is_a_lease,
                a_failure_is_retried_or_final, a_late_result_does_not_end_a_newer_claim,
                a_clock_set_back_does_not_extend_a_delay, channels_without_configuration_are_skipped,
                retention_removes_finished_messages;
            retention: old_sessions_are_deleted, held_sessions_are_retained, the_largest_session_that_stays_is_known,
                the_oldest_are_deleted_above_the_size_limit,
                a_slice_is_bounded, a_slice_deletes_several_sessions, the_size_includes_pending_writes,
                recent_sessions_are_retained, sessions_are_deleted_by_name, event_ids_are_never_reused;
            processes: concurrent_writers_lose_no_update, a_message_is_claimed_by_one_process,
                processes_create_a_store_concurrently;
        );

        /// Entry point of the child processes; does nothing in an ordinary test run.
        #[test]
        fn child() {
            $crate::conformance::processes::child($open);
        }
    };
}

/// Expands to the tests of [`conformance!`].
#[macro_export]
macro_rules! conformance_cases {
    ($new:ident; $($module:ident: $($case:ident),+;)+) => {
        $(mod $module { $(
            #[test]
            fn $case() {
                $crate::conformance::$module::$case(&super::$new());
            }
        )+ })+
    };
}

fn key(id: &str) -> SessionKey {
    SessionKey::new("codex", id)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Details of a session whose last event was at `last_at`.
fn details(last_at: i64) -> SessionDetails {
    SessionDetails {
        facts: SessionFacts { started_at: at(1), last_at: at(last_at), ..SessionFacts::default() },
        ..SessionDetails::default()
    }
}

/// An update that sets every field.
fn change<'a>(from: u64, to: u64, state: &'a SessionState, details: &'a SessionDetails) -> SessionUpdate<'a> {
    SessionUpdate { from, to, state: Some(state), listed: Some(details.facts.last_at), details }
}

/// Runs `work` in a transaction and commits it.
fn write<T>(store: &mut dyn Store, work: impl FnOnce(&mut dyn Transaction) -> T) -> T {
    let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
    let result = work(&mut *transaction);
    transaction.commit().unwrap();
    result
}

/// Creates a session with one event at `last_at`.
fn seed(store: &mut dyn Store, key: &SessionKey, state: &SessionState, last_at: i64) -> SessionId {
    write(store, |transaction| {
        let head = transaction.create(key, at(last_at)).unwrap();
        append(transaction, &head, 1, &format!("{key}-1"));
        transaction.save(head.id, &change(0, 1, state, &details(last_at))).unwrap();
        head.id
    })
}

/// Appends an event with the given identity; returns `false` for a duplicate.
fn append(transaction: &mut dyn Transaction, head: &SessionHead, seq: u64, identity: &str) -> bool {
    let json = format!("{{\"id\":\"{identity}\"}}");
    let event = NewEvent {
        seq,
        identity: Digest::from_bytes(identity),
        at: at(1000 + i64::try_from(seq).unwrap()),
        kind: if seq.is_multiple_of(2) { "note" } else { "tick" },
        rules: Digest(7),
        json: &json,
    };
    transaction.append(head.id, &event).unwrap()
}

fn paused() -> SessionState {
    SessionState::Paused {
        incident: "inc-1".to_owned(),
        since: at(5),
        until: None,
        gate: belay_core::session::ResumeCondition::Operator,
    }
}
