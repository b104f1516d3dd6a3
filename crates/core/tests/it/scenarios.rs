//! Scenarios from public reports and real work. Files under `scenarios/silent` must not cause a nudge or
//! pause; files under `scenarios/stuck` state which pattern intervenes first, at which call, and at which
//! level.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test reads its scenarios and may panic, core does not"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use belay_core::{Effect, Event, InterventionLevel, Rules, Session, SessionKey, Source};

use crate::script;

/// An intervention during a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    pattern: String,
    how: &'static str,
    call: Option<u64>,
    session: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pattern, self.how)?;
        if let Some(call) = self.call {
            write!(f, " at call {call}")?;
        }
        if self.session == "main" { Ok(()) } else { write!(f, " in {}", self.session) }
    }
}

fn play(text: &str) -> Vec<Step> {
    play_events(script::events(text), &Rules::default())
}

fn play_events(events: Vec<Event>, rules: &Rules) -> Vec<Step> {
    let mut sessions: BTreeMap<SessionKey, Session> = BTreeMap::new();
    let mut steps = Vec::new();
    for event in events {
        let session = sessions.entry(event.session.clone()).or_insert_with(|| Session::new(event.session.clone()));
        for effect in session.apply(&event, rules) {
            let session = event.session.id.to_string();
            match effect {
                Effect::Intervened(step) => {
                    let how = match step.level {
                        InterventionLevel::Notice => "notice",
                        InterventionLevel::Nudge => "nudge",
                        InterventionLevel::Pause => "pause",
                        InterventionLevel::Kill => "kill",
                    };
                    steps.push(Step { pattern: step.finding.pattern, how, call: Some(step.finding.call), session });
                }
                Effect::NotifyOperator { pattern, .. } => {
                    steps.push(Step { pattern, how: "tells a person", call: None, session })
                }
                _ => {}
            }
        }
    }
    steps
}

fn scenarios(dir: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios").join(dir);
    let mut files: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn productive_work_stays_silent() {
    let scenarios = scenarios("silent");
    assert!(scenarios.len() >= 40, "only {} productive scenarios", scenarios.len());
    let mut loud = Vec::new();
    for (path, text) in scenarios {
        let steps = play(&text);
        loud.extend(steps.iter().filter(|step| step.how != "notice").map(|step| format!("{}: {step}", name(&path))));
    }
    assert!(loud.is_empty(), "these should have been left alone:\n{}", loud.join("\n"));
}

#[test]
fn stuck_sessions_are_found_where_they_say() {
    let scenarios = scenarios("stuck");
    assert!(scenarios.len() >= 40, "only {} stuck scenarios", scenarios.len());
    let mut wrong = Vec::new();
    for (path, text) in scenarios {
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("expect ")).collect();
        assert!(!expected.is_empty(), "{} expects nothing", path.display());
        let steps: Vec<String> = play(&text).iter().map(Step::to_string).collect();
        let loud: Vec<&String> = steps.iter().filter(|step| !step.contains(" notice")).collect();
        for expected in &expected {
            if !steps.iter().any(|step| step == expected) {
                wrong.push(format!("{}: expected {expected}; got {loud:?}, in all {steps:?}", name(&path)));
            }
        }
        // The first intervention must be an expected one, and not earlier than expected.
        if let Some(first) = loud.first()
            && !expected.contains(&first.as_str())
        {
            wrong.push(format!("{}: {first} came first", name(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hooks_and_transcripts_judge_every_scenario_alike() {
    // As in an audit: nothing intervenes.
    let mut rules = Rules::default();
    rules.dry_run = true;
    for (path, text) in scenarios("silent").into_iter().chain(scenarios("stuck")) {
        let seen_by = |source: Source| {
            let mut events = script::events(&text);
            events.iter_mut().filter(|event| event.source == Source::Hook).for_each(|event| event.source = source);
            play_events(events, &rules)
        };
        assert_eq!(seen_by(Source::Hook), seen_by(Source::Transcript), "{}", name(&path));
    }
}
