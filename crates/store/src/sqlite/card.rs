//! The card of a session as it stands in its row. It is written with every event, so it is packed: numbers without
//! names, and nothing where there is nothing to say. Numbers are only ever added at the end of their group.

use std::borrow::Cow;

use belay_core::Timestamp;
use belay_core::effect::Spend;
use belay_core::event::Usage;
use belay_core::session::{Budget, Counters, DeclaredWait, ProgressClock, SessionFacts};
use serde::{Deserialize, Serialize};

use crate::session::SessionDetails;

#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    counters: Cow<'a, [u64]>,
    spent: Cow<'a, [u64]>,
    /// Since it last moved.
    since: Cow<'a, [u64]>,
    /// When it began, when it was last heard of, when it last moved, when it ended.
    times: Cow<'a, [i64]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transcript: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_version: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    budget: Budget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    incident: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<Cow<'a, DeclaredWait>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn pack(card: &SessionDetails) -> rusqlite::Result<String> {
    // Taken apart by name, so that whoever adds a field finds this place.
    let SessionDetails { facts, counters, spent: cost, clock: ProgressClock { at, since }, budget, incident, waiting } =
        card;
    let SessionFacts {
        project,
        cwd,
        model,
        branch,
        task,
        transcript,
        agent_version,
        pid,
        started_at,
        last_at,
        ended_at,
    } = facts;
    let counted = pack_counters(counters);
    let (spent, since) = (pack_spent(cost), pack_spent(since));
    let times = [started_at.millis(), last_at.millis(), at.millis(), ended_at.map_or(0, Timestamp::millis)];
    super::sessions::to_json(&Packed {
        counters: Cow::Borrowed(&counted),
        spent: Cow::Borrowed(&spent),
        since: Cow::Borrowed(&since),
        times: Cow::Borrowed(&times),
        project: borrow(project),
        cwd: borrow(cwd),
        model: borrow(model),
        branch: borrow(branch),
        task: borrow(task),
        transcript: borrow(transcript),
        agent_version: borrow(agent_version),
        pid: *pid,
        budget: *budget,
        incident: borrow(incident),
        waiting: waiting.as_ref().map(Cow::Borrowed),
    })
}

fn borrow(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

/// How the numbers of a struct are packed and unpacked. Their order is said here once; the struct is taken apart and
/// put together by name, so that whoever adds a field finds this place.
macro_rules! numbers {
    ($pack:ident, $unpack:ident, $of:ident { $($field:ident),* $(; $part:ident: $inner:ident { $($within:ident),* })? }) => {
        fn $pack(numbers: &$of) -> [u64; [$(stringify!($field),)* $($(stringify!($within),)*)?].len()] {
            let $of { $($field,)* $($part: $inner { $($within),* })? } = *numbers;
            [$($field,)* $($($within,)*)?]
        }

        /// A number that an older Belay did not write is zero.
        fn $unpack(numbers: &[u64]) -> $of {
            let mut numbers = numbers.iter().copied();
            $(let $field = numbers.next().unwrap_or(0);)*
            $($(let $within = numbers.next().unwrap_or(0);)*)?
            $of { $($field,)* $($part: $inner { $($within),* })? }
        }
    };
}

numbers!(
    pack_counters,
    unpack_counters,
    Counters {
        events,
        calls,
        results,
        errors,
        human_turns,
        answers,
        edits,
        failed_checks,
        passed_checks,
        findings,
        nudges,
        pauses,
        sub_agents,
        compactions
    }
);

numbers!(pack_spent, unpack_spent, Spend {
    calls, cost_micros, millis; usage: Usage { input, output, cache_read, cache_write }
});

/// Reads what [`pack`] wrote; an empty object is the card of a session without events.
pub(super) fn unpack(json: &str) -> serde_json::Result<SessionDetails> {
    if json == "{}" {
        return Ok(SessionDetails::default());
    }
    let packed: Packed<'_> = serde_json::from_str(json)?;
    let time = |place: usize| Timestamp::from_millis(packed.times.get(place).copied().unwrap_or(0));
    let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
    Ok(SessionDetails {
        counters: unpack_counters(&packed.counters),
        spent: unpack_spent(&packed.spent),
        clock: ProgressClock { at: time(2), since: unpack_spent(&packed.since) },
        facts: SessionFacts {
            started_at: time(0),
            last_at: time(1),
            ended_at: Some(time(3)).filter(|ended| ended.is_known()),
            project: owned(packed.project),
            cwd: owned(packed.cwd),
            model: owned(packed.model),
            branch: owned(packed.branch),
            task: owned(packed.task),
            transcript: owned(packed.transcript),
            agent_version: owned(packed.agent_version),
            pid: packed.pid,
        },
        budget: packed.budget,
        incident: owned(packed.incident),
        waiting: packed.waiting.map(Cow::into_owned),
    })
}
