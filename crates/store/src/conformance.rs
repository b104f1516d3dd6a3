//! What every backend must do, written against the traits.
//!
//! A backend's test file makes a [`Fixture`] and says `belay_store::conformance!(fresh, open)`: each case becomes a
//! test of its own. Cases that need several processes start the test binary again; see [`processes`].
#![expect(clippy::unwrap_used, reason = "a suite of tests")]

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

/// A fresh, empty store that can be opened any number of times.
pub trait Fixture {
    /// Opens it once more.
    fn open(&self) -> Box<dyn Store>;
    /// Tells another process how to open it; see [`processes::child`].
    fn address(&self) -> String;
    /// The name of the test `child` in its binary, with its modules.
    fn child_test(&self) -> &'static str;
}

/// Makes a test of every case. `$new` makes a [`Fixture`], `$open` opens an address in another process.
#[macro_export]
macro_rules! conformance {
    ($new:ident, $open:ident) => {
        $crate::conformance_cases!($new;
            sessions: a_row_comes_back_as_it_was_written, newest_come_first_page_by_page, filters_narrow_the_list,
                archived_sessions_are_out_of_sight, costs_add_up_to_the_root, nobody_is_their_own_ancestor,
                time_never_goes_back, what_did_not_change_stays;
            log: events_are_numbered_and_stored_as_written, an_identity_counts_once_per_session,
                both_ends_of_a_log_can_be_read, interleaved_sessions_keep_their_order,
                duplicates_are_detected_at_any_age, the_log_of_all_sessions_can_be_followed,
                a_change_token_changes_with_every_commit;
            transactions: a_dropped_transaction_leaves_no_trace, nobody_overwrites_what_they_have_not_seen,
                readers_see_the_last_commit, a_load_is_snapshot_and_tail, snapshots_of_another_format_are_ignored,
                rules_are_kept_once;
            names: any_unique_prefix_is_enough, an_exact_name_wins, several_candidates_are_listed,
                nothing_in_a_name_is_a_wildcard, short_names_are_unique_and_shortest;
            records: incidents_open_and_close, findings_are_found_by_id, notes_are_kept_with_their_decision,
                tombstones_expire, settings_are_set_and_removed, totals_add_up,
                what_is_booked_adds_up_by_name_and_day;
            outbox: a_message_is_taken_once, a_claim_is_a_lease, a_failure_is_tried_again_or_given_up;
            retention: old_sessions_go, held_sessions_stay, the_oldest_go_when_there_is_too_much,
                a_slice_is_bounded, nothing_old_nothing_done;
            processes: writers_lose_no_update, senders_share_no_message, many_open_a_fresh_store;
        );

        /// Not a test by itself: what the other processes do.
        #[test]
        fn child() {
            $crate::conformance::processes::child($open);
        }
    };
}

/// One test per case.
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

/// Details of a session whose last event was at that time.
fn details(last_at: i64) -> SessionDetails {
    SessionDetails {
        facts: SessionFacts { started_at: at(1), last_at: at(last_at), ..SessionFacts::default() },
        ..SessionDetails::default()
    }
}

/// A change of everything there is.
fn change<'a>(from: u64, to: u64, state: &'a SessionState, details: &'a SessionDetails) -> SessionUpdate<'a> {
    SessionUpdate { from, to, state: Some(state), listed: Some(details.facts.last_at), details }
}

/// Does something under the write lock and commits.
fn write<T>(store: &mut dyn Store, work: impl FnOnce(&mut dyn Transaction) -> T) -> T {
    let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
    let done = work(&mut *transaction);
    transaction.commit().unwrap();
    done
}

/// A session with one event at that time.
fn seed(store: &mut dyn Store, key: &SessionKey, state: &SessionState, last_at: i64) -> SessionId {
    write(store, |transaction| {
        let head = transaction.create(key, at(last_at)).unwrap();
        append(transaction, &head, 1, &format!("{key}-1"));
        transaction.save(head.id, &change(0, 1, state, &details(last_at))).unwrap();
        head.id
    })
}

/// Appends an event with that identity; `false` for a duplicate.
fn append(transaction: &mut dyn Transaction, head: &SessionHead, seq: u64, identity: &str) -> bool {
    let json = format!("{{\"id\":\"{identity}\"}}");
    let event = NewEvent {
        seq,
        identity: Digest::of(identity),
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
