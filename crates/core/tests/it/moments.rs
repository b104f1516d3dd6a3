//! Derives the status at every labelled moment of sessions that were recorded from real CLIs. `cargo xtask record
//! moments` records them; the labels are what the scenario did, see `crates/agent-tests/src/moments.rs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use belay_core::status::{self, Observation, ProcessState, Status, StatusInput, StatusValue, WaitingFor};
use belay_core::{Event, Rules, Session, Timestamp};
use serde::Deserialize;

/// One line of a recording.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Head(Head),
    Event { event: Box<Event> },
    Moment(Moment),
}

#[derive(Deserialize)]
struct Head {
    agent: String,
    scenario: String,
}

#[derive(Deserialize)]
struct Moment {
    moment: String,
    /// Milliseconds since the first event.
    at_ms: i64,
    process: String,
    /// Starts of the agent's child processes, hooks excepted.
    #[serde(default)]
    children_ms: Vec<i64>,
    expect: StatusValue,
    waiting_for: Option<WaitingFor>,
}

/// A moment with the derived status.
struct Scored {
    agent: String,
    scenario: String,
    kind: String,
    expected: String,
    derived: String,
    is_right: bool,
    /// Shown as working although a person has to act. Every moment has lasted for more than two seconds.
    is_hidden: bool,
}

fn score(dir: &Path) -> Vec<Scored> {
    let mut files: Vec<_> =
        std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files.iter().flat_map(|file| score_session(file)).collect()
}

#[expect(clippy::disallowed_methods, reason = "the recordings are files; core itself does no IO")]
fn score_session(file: &Path) -> Vec<Scored> {
    let text = std::fs::read_to_string(file).expect("a recording");
    let rules = Rules::default();
    let (mut head, mut first) = (None, Timestamp::UNKNOWN);
    // The recorded session first, then its sub-agents.
    let mut sessions: Vec<Session> = Vec::new();
    let mut scored = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), number + 1));
        match line {
            Line::Head(found) => head = Some(found),
            Line::Event { event } => {
                if sessions.is_empty() {
                    first = event.at;
                }
                let known = sessions.iter().position(|session| session.key == event.session);
                let at = known.unwrap_or_else(|| {
                    sessions.push(Session::new(event.session.clone()));
                    sessions.len() - 1
                });
                sessions[at].apply(&event, &rules);
            }
            Line::Moment(moment) => {
                let head: &Head = head.as_ref().expect("a recording starts with its head");
                scored.push(score_moment(head, &sessions, first, moment));
            }
        }
    }
    scored
}

fn score_moment(head: &Head, sessions: &[Session], first: Timestamp, moment: Moment) -> Scored {
    let (session, sub_agents) = sessions.split_first().expect("a session");
    let waiting = sub_agents.iter().map(|child| status_at(child, first, &moment, None)).filter(Status::blocks_parent);
    let waiting = waiting.min_by_key(|status| status.since);
    let status = status_at(session, first, &moment, waiting.as_ref());
    let name = |value: StatusValue, waiting_for: Option<WaitingFor>| match waiting_for {
        Some(what) => format!("{value:?} for {what:?}").to_lowercase(),
        None => format!("{value:?}").to_lowercase(),
    };
    Scored {
        agent: head.agent.clone(),
        scenario: head.scenario.clone(),
        kind: moment.moment,
        expected: name(moment.expect, moment.waiting_for),
        derived: name(status.value, status.waiting_for),
        is_right: (status.value, status.waiting_for) == (moment.expect, moment.waiting_for),
        is_hidden: status.value == StatusValue::Working
            && matches!(moment.expect, StatusValue::Waiting | StatusValue::Limited | StatusValue::Failed),
    }
}

fn status_at(session: &Session, first: Timestamp, moment: &Moment, sub_agent: Option<&Status>) -> Status {
    let at = |millis: i64| Timestamp::from_millis(first.millis() + millis);
    let input = StatusInput {
        state: &session.state,
        incident: session.incident.as_ref().map(|incident| incident.sentence.as_str()),
        phase: &session.phase,
        waiting: session.waiting.as_ref(),
        last_at: session.facts.last_at,
        ended_at: session.facts.ended_at,
    };
    let process = match moment.process.as_str() {
        "alive" => ProcessState::Alive,
        "gone" => ProcessState::Gone,
        _ => ProcessState::Unknown,
    };
    let children = moment.children_ms.iter().map(|start| at(*start));
    let child_since = children.filter(|start| *start > session.phase.since).min();
    status::derive(&input, &Observation { now: at(moment.at_ms), process, child_since, seen_at: None, sub_agent })
}

/// Right moments of all, by kind and agent, and what is wrong.
fn table(scored: &[Scored]) -> String {
    let agents: Vec<&str> = {
        let names: std::collections::BTreeSet<&str> = scored.iter().map(|one| one.agent.as_str()).collect();
        names.into_iter().collect()
    };
    let mut counts: BTreeMap<&str, BTreeMap<&str, (usize, usize)>> = BTreeMap::new();
    for one in scored {
        for kind in [one.kind.as_str(), "~all"] {
            let count = counts.entry(kind).or_default().entry(&one.agent).or_default();
            count.0 += usize::from(one.is_right);
            count.1 += 1;
        }
    }
    let mut table = format!("{:<48}", "moment");
    agents.iter().for_each(|agent| write!(table, "{agent:>13}").expect("text"));
    for (kind, by_agent) in &counts {
        write!(table, "\n{:<48}", kind.trim_start_matches('~')).expect("text");
        for agent in &agents {
            let cell = by_agent.get(agent).map(|(right, all)| format!("{right}/{all}")).unwrap_or_default();
            write!(table, "{cell:>13}").expect("text");
        }
    }
    let right = scored.iter().filter(|one| one.is_right).count();
    write!(table, "\n\n{right} of {} moments are right\n", scored.len()).expect("text");
    for one in scored.iter().filter(|one| !one.is_right) {
        let Scored { agent, scenario, kind, expected, derived, .. } = one;
        writeln!(table, "wrong: {agent} {scenario}, {kind}: {derived} instead of {expected}").expect("text");
    }
    table
}

#[test]
fn the_status_is_right_at_recorded_moments() {
    let scored = score(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/moments"));
    let table = table(&scored);
    // Shown by `cargo xtask score --status`.
    println!("{table}");
    assert!(scored.len() >= 120, "{} moments", scored.len());
    let right = scored.iter().filter(|one| one.is_right).count();
    assert!(right * 100 >= scored.len() * 98, "{table}");
    let hidden: Vec<&str> = scored.iter().filter(|one| one.is_hidden).map(|one| one.kind.as_str()).collect();
    assert!(hidden.is_empty(), "shown as working, although a person has to act: {hidden:?}\n{table}");
}
