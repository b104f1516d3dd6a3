//! The card of a session as it stands in its row. It is written with every event, so it is packed: numbers without
//! names, and nothing where there is nothing to say. Numbers are only ever added at the end of their group.

use std::borrow::Cow;

use belay_core::Time;
use belay_core::effect::Spent;
use belay_core::event::Usage;
use belay_core::session::{Budget, Counters, Facts, ProgressClock, Wait};
use serde::{Deserialize, Serialize};

use crate::session::Card;

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
    waiting: Option<Cow<'a, Wait>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn pack(card: &Card) -> rusqlite::Result<String> {
    // Taken apart by name, so that whoever adds a field finds this place.
    let Card { facts, counters, spent: cost, clock: ProgressClock { at, since }, budget, incident, waiting } = card;
    let Facts { project, cwd, model, branch, task, transcript, agent_version, pid, started_at, last_at, ended_at } =
        facts;
    let counted = counters_out(counters);
    let (spent, since) = (spent_out(cost), spent_out(since));
    let times = [started_at.millis(), last_at.millis(), at.millis(), ended_at.map_or(0, Time::millis)];
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

fn counters_out(counters: &Counters) -> [u64; 14] {
    let Counters {
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
        compactions,
    } = *counters;
    [
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
        compactions,
    ]
}

fn spent_out(spent: &Spent) -> [u64; 7] {
    let Spent { calls, usage: Usage { input, output, cache_read, cache_write }, cost_micros, millis } = *spent;
    [calls, cost_micros, millis, input, output, cache_read, cache_write]
}

fn spent_in(numbers: &[u64]) -> Spent {
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    let usage = Usage { input: at(3), output: at(4), cache_read: at(5), cache_write: at(6) };
    Spent { calls: at(0), cost_micros: at(1), millis: at(2), usage }
}

/// Reads what [`pack`] wrote; an empty object is the card of a session without events.
pub(super) fn unpack(json: &str) -> serde_json::Result<Card> {
    if json == "{}" {
        return Ok(Card::default());
    }
    let packed: Packed<'_> = serde_json::from_str(json)?;
    let time = |place: usize| Time::from_millis(packed.times.get(place).copied().unwrap_or(0));
    let count = |place: usize| packed.counters.get(place).copied().unwrap_or(0);
    let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
    Ok(Card {
        counters: Counters {
            events: count(0),
            calls: count(1),
            results: count(2),
            errors: count(3),
            human_turns: count(4),
            answers: count(5),
            edits: count(6),
            failed_checks: count(7),
            passed_checks: count(8),
            findings: count(9),
            nudges: count(10),
            pauses: count(11),
            sub_agents: count(12),
            compactions: count(13),
        },
        spent: spent_in(&packed.spent),
        clock: ProgressClock { at: time(2), since: spent_in(&packed.since) },
        facts: Facts {
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
