//! Messages to agents and people, pattern by pattern. Wording is part of the product: review every change.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test reads its scenarios and may panic")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use belay_core::rules::CustomPattern;
use belay_core::{Effect, Intervention, InterventionLevel, Rules, Session, SessionKey};

use crate::script;

/// The effects of a script.
fn play(text: &str, rules: &Rules) -> Vec<Effect> {
    let mut sessions: BTreeMap<SessionKey, Session> = BTreeMap::new();
    let mut effects = Vec::new();
    for event in script::events(text) {
        let session = sessions.entry(event.session.clone()).or_insert_with(|| Session::new(event.session.clone()));
        effects.extend(session.apply(&event, rules));
    }
    effects
}

fn steps(effects: &[Effect]) -> impl Iterator<Item = &Intervention> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Intervened(step) => Some(step),
        _ => None,
    })
}

fn show(out: &mut String, step: &Intervention) {
    let finding = &step.finding;
    writeln!(out, "## {} ({:?})", finding.pattern, step.level).unwrap();
    writeln!(out, "{}", step.message).unwrap();
    writeln!(out, "(unchanged: {}; progress would be {})\n", finding.unchanged, finding.progress_would_be).unwrap();
}

#[test]
fn every_pattern_has_its_words() {
    let rules = Rules::default();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/stuck");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let effects = play(&std::fs::read_to_string(file).unwrap(), &rules);
        // The first nudge of a pattern, or its notice if it never nudges.
        for level in [InterventionLevel::Nudge, InterventionLevel::Notice] {
            for step in steps(&effects).filter(|step| step.level == level) {
                if level == InterventionLevel::Nudge
                    || rules
                        .patterns
                        .iter()
                        .any(|(name, rule)| name == step.finding.pattern && rule.nudge_at == Some(0))
                {
                    let mut text = String::new();
                    show(&mut text, step);
                    seen.entry(step.finding.pattern.clone()).or_insert(text);
                }
            }
        }
        for effect in &effects {
            if let Effect::NotifyOperator { pattern, sentence } = effect {
                seen.entry(pattern.clone()).or_insert(format!("## {pattern} (told a person)\n{sentence}\n\n"));
            }
        }
    }
    insta::assert_snapshot!("every_pattern", seen.into_values().collect::<String>());
}

#[test]
fn a_pause_tells_the_person_what_happened_and_how_to_go_on() {
    let mut session = Session::new(SessionKey::new("script", "main"));
    let rules = Rules::default();
    let mut verdict = None;
    for event in
        script::events("repeat 8\nBash: make deploy\n! make: *** No rule to make target 'deploy'. Stop.\nexit 2\nend")
    {
        session.apply(&event, &rules);
        verdict = Some(session.verdict(&event)).filter(|verdict| *verdict != belay_core::Verdict::Go).or(verdict);
    }
    insta::assert_snapshot!("pause", serde_json::to_string_pretty(&verdict).unwrap());
    insta::assert_snapshot!("incident", serde_json::to_string_pretty(&session.incident).unwrap());
}

#[test]
fn budgets_and_burning_without_progress() {
    let mut rules = Rules::default();
    rules.budget.session_usd = 1.0;
    let mut out = String::new();
    let script = "person: go\nrepeat 30\nuses 100 claude-sonnet-4-5\nBash: ls\n| a\nend";
    for step in steps(&play(script, &rules)).filter(|step| step.finding.pattern == "budget") {
        show(&mut out, step);
    }
    let mut quiet = Rules::default();
    for (name, value) in
        [("exact_repeat", false), ("revisiting", false), ("interleaved_repeat", false), ("read_only_revisiting", false)]
    {
        let mut json = serde_json::to_value(&quiet).unwrap();
        json["patterns"][name]["enabled"] = value.into();
        quiet = serde_json::from_value(json).unwrap();
    }
    let script = "person: go\nBash: ls\n| a\nrepeat 60\nuses 100 claude-sonnet-4-5\nBash: ls\n| a\nend";
    for step in steps(&play(script, &quiet)).filter(|step| step.level == InterventionLevel::Nudge).take(1) {
        show(&mut out, step);
    }
    insta::assert_snapshot!("spending", out);
}

#[test]
fn custom_patterns_say_what_their_author_wrote() {
    let custom = |toml: &str| toml::from_str::<CustomPattern>(toml).unwrap();
    let mut rules = Rules::default();
    rules.custom = vec![
        custom(
            "name = 'no_force_push'\ncommand = 'git push .*(--force|-f)\\b'\nthreshold = 1\nmessage = 'Do not force-push: {target}. Ask first.'",
        ),
        custom(
            "name = 'flaky_network'\nkinds = ['shell']\noutcome = 'Could not resolve'\nthreshold = 2\nmessage = 'Seen {count} of {threshold}: use the mirror.'\nintervention = 'notice'",
        ),
    ];
    rules.check().unwrap();
    let mut out = String::new();
    let script = "Bash: git push --force origin main\nBash: curl a.example\n! curl: (6) Could not resolve host: a.example\nexit 6\nBash: curl b.example\n! curl: (6) Could not resolve host: b.example\nexit 6";
    for step in steps(&play(script, &rules)) {
        show(&mut out, step);
    }
    insta::assert_snapshot!("custom", out);
}
