//! The user's limits apply to every untrusted project file.

use belay_core::detect::Strength;
use belay_core::rules::{BudgetRules, PatternRule};
use belay_core::{InterventionLevel, Rules};
use proptest::prelude::*;

use crate::world::World;
use belay_config::Strictness;

const HOSTILE_USD: &[&str] = &[
    "-1.0",
    "-inf",
    "inf",
    "nan",
    "-nan",
    "1e-10",
    "4e-7",
    "-1e-10",
    "-0.0",
    "0.0",
    "0",
    "1e300",
    "1e9",
    "0.000001",
    "0.01",
    "4.999999999",
    "5.0",
    "5.0000001",
    "5.01",
    "1",
    "\"5\"",
    "true",
];

const HOSTILE_COUNTS: &[&str] = &[
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "8",
    "30",
    "100",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "\"1\"",
    "\"never\"",
    "false",
];

const HOSTILE_RATIOS: &[&str] = &["-1.0", "-inf", "inf", "nan", "0.0", "0.5", "0.7", "0.95", "1.0", "1.1", "\"0\""];

const BOOLEANS: &[&str] = &["true", "false", "0", "\"true\""];

const COUNTS: &[&str] =
    &["notice_at", "nudge_at", "nudge_weak_at", "nudge_faint_at", "pause_at", "calls", "tokens", "minutes", "window"];

/// Every key that a project file may tighten, with its hostile values.
fn tightenable() -> Vec<(String, &'static [&'static str])> {
    let mut keys = vec![("detect.dry_run".to_owned(), BOOLEANS), ("detect.max_nudges".to_owned(), HOSTILE_COUNTS)];
    for name in &COUNTS[..5] {
        keys.push((format!("detect.ladder.{name}"), HOSTILE_COUNTS));
    }
    for name in ["session", "day", "account_day"] {
        keys.push((format!("detect.budget.{name}_usd"), HOSTILE_USD));
        keys.push((format!("detect.budget.{name}_tokens"), HOSTILE_COUNTS));
    }
    keys.push(("detect.budget.usd_per_minute".to_owned(), HOSTILE_USD));
    keys.push(("detect.budget.tokens_per_minute".to_owned(), HOSTILE_COUNTS));
    for (pattern, _) in Rules::default().patterns.iter() {
        keys.push((format!("detect.patterns.{pattern}.enabled"), BOOLEANS));
        keys.push((format!("detect.patterns.{pattern}.similarity"), HOSTILE_RATIOS));
        keys.push((format!("detect.patterns.{pattern}.usd"), HOSTILE_USD));
        keys.extend(COUNTS.iter().map(|name| (format!("detect.patterns.{pattern}.{name}"), HOSTILE_COUNTS)));
    }
    keys
}

fn setting() -> impl Strategy<Value = (String, &'static str)> {
    proptest::sample::select(tightenable()).prop_flat_map(|(key, values)| (Just(key), proptest::sample::select(values)))
}

fn file(max_settings: usize) -> impl Strategy<Value = String> {
    proptest::collection::btree_map(any::<u8>(), setting(), 0..max_settings).prop_map(|settings| {
        let unique: std::collections::BTreeMap<_, _> = settings.into_values().collect();
        unique.into_iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
    })
}

/// Limits in millionths or tokens, as the budget detector reads them; "never" is the largest number.
fn limits(budget: &BudgetRules) -> Vec<u128> {
    let limit = |amount: u128| if amount == 0 { u128::MAX } else { amount };
    let usd = |usd: f64| {
        assert!(usd.is_finite() && usd >= 0.0, "{usd}");
        limit((usd * 1e6).round() as u128)
    };
    vec![
        limit(budget.session_tokens.into()),
        usd(budget.session_usd),
        limit(budget.day_tokens.into()),
        usd(budget.day_usd),
        limit(budget.account_day_tokens.into()),
        usd(budget.account_day_usd),
        limit(budget.tokens_per_minute.into()),
        usd(budget.usd_per_minute),
    ]
}

fn level(rules: &Rules, rule: &PatternRule, count: u32, strength: Strength) -> Option<InterventionLevel> {
    rules.ladder.for_pattern(rule).level(count, strength)
}

fn assert_no_looser(new: &Rules, old: &Rules, context: &str) {
    assert!(!new.dry_run || old.dry_run, "dry_run\n{context}");
    assert!(new.max_nudges <= old.max_nudges, "max_nudges\n{context}");
    for (at, (new, old)) in limits(&new.budget).into_iter().zip(limits(&old.budget)).enumerate() {
        assert!(new <= old, "budget {at}: {new} > {old}\n{context}");
    }
    for ((name, rule), (_, before)) in new.patterns.iter().zip(old.patterns.iter()) {
        let unchanged = rule == before && new.ladder == old.ladder;
        if !before.enabled || unchanged {
            continue;
        }
        assert!(rule.enabled, "{name}.enabled\n{context}");
        assert!(rule.similarity() <= before.similarity(), "{name}.similarity\n{context}");
        assert!(rule.window >= before.window, "{name}.window\n{context}");
        assert!(rule.calls.unwrap_or(0) <= before.calls.unwrap_or(0), "{name}.calls\n{context}");
        for count in (0..130).chain([u32::MAX - 1, u32::MAX]) {
            for strength in [Strength::Strong, Strength::Weak, Strength::VeryWeak] {
                let (now, then) = (level(new, rule, count, strength), level(old, before, count, strength));
                assert!(now >= then, "{name} at {count}, {strength:?}: {now:?} < {then:?}\n{context}");
            }
        }
    }
    let amounts = |rules: &Rules| {
        let pattern = &rules.patterns.spend_without_progress;
        let unlimited = |amount: u64| if amount == 0 { u64::MAX } else { amount };
        let usd = pattern.usd.map_or(0, |usd| (usd * 1e6).round() as u64);
        let amounts = [pattern.tokens.unwrap_or(0), usd, pattern.minutes.unwrap_or(0)];
        // A pattern that the user disabled limits nothing, whatever its amounts are.
        if pattern.enabled { amounts.map(unlimited) } else { [u64::MAX; 3] }
    };
    assert!(amounts(new).iter().zip(amounts(old)).all(|(new, old)| *new <= old), "spend_without_progress\n{context}");
    let timers = |rules: &Rules| {
        let patterns = &rules.patterns;
        [&patterns.stall, &patterns.hung_tool, &patterns.permission_prompt]
            .map(|rule| if rule.enabled { rule.minutes.unwrap_or(u64::MAX) } else { u64::MAX })
    };
    assert!(timers(new).iter().zip(timers(old)).all(|(new, old)| *new <= old), "minutes\n{context}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_untrusted_project_never_loosens_a_limit(user in file(12), project in file(12)) {
        let world = World::new();
        world.user_config(&user);
        let before = world.load_as(Strictness::Lenient, &[]).unwrap().config.detect;
        world.project_config(&project);
        let after = world.load_as(Strictness::Lenient, &[]).unwrap().config.detect;
        after.check().unwrap();
        assert_no_looser(&after, &before, &format!("user:\n{user}\nproject:\n{project}"));
    }
}

#[test]
fn every_tightenable_key_resists_each_hostile_value() {
    let world = World::new();
    world.user_config("[detect.budget]\nsession_usd = 5.0\nday_usd = 5.0\naccount_day_usd = 5.0\nusd_per_minute = 5.0\nsession_tokens = 5\n");
    let before = world.load().unwrap().config.detect;
    // A value at a key of every pattern is one file: patterns do not depend on each other, and each value of a file is
    // judged by itself.
    let mut files = std::collections::BTreeMap::<_, String>::new();
    for (key, values) in tightenable() {
        let (section, name) = key.rsplit_once('.').unwrap();
        let section = if section.starts_with("detect.patterns.") { "detect.patterns" } else { section };
        for value in values {
            *files.entry((section.to_owned(), name.to_owned(), value)).or_default() += &format!("{key} = {value}\n");
        }
    }
    for project in files.values() {
        world.project_config(project);
        let after = world.load_as(Strictness::Lenient, &[]).unwrap().config.detect;
        assert_no_looser(&after, &before, project);
    }
}

#[test]
fn amounts_of_money_are_refused_in_every_layer() {
    for amount in ["-1.0", "-inf", "inf", "nan", "1e-10", "9e-7", "-1e-10", "1e10"] {
        for key in
            ["budget.session_usd", "budget.day_usd", "budget.usd_per_minute", "patterns.spend_without_progress.usd"]
        {
            let world = World::new();
            let flag = [("--set", &*format!("detect.{key}"), amount)];
            let error = world.load_as(Strictness::Lenient, &flag).unwrap_err().to_string();
            assert!(
                error.contains(key) && error.contains("is not an amount; use 0, or 0.000001 to 1000000000"),
                "{error}"
            );
            world.user_config(&format!("detect.{key} = {amount}\n"));
            let error = world.load().unwrap_err().to_string();
            assert!(error.contains("config.toml:1:") && error.contains("is not an amount"), "{error}");
            let world = World::new();
            world.project_config(&format!("detect.{key} = {amount}\n"));
            let error = world.load().unwrap_err().to_string();
            assert!(error.contains(".belay.toml:1:") && error.contains("is not an amount"), "{error}");
        }
    }
    let world = World::new();
    world.user_config("[[detect.prices]]\nmatch = \"a\"\ninput = 1\noutput = 1\n[[detect.prices]]\nmatch = \"b\"\ninput = -1\noutput = 1\n");
    let error = world.plain(world.load().unwrap_err());
    assert!(error.contains("config.toml:7:1: `detect.prices[2].input`: -1 US dollars"), "{error}");
}

#[test]
fn the_pause_on_weak_evidence_is_not_deferred_by_an_earlier_nudge() {
    let world = World::new();
    // The pause on weak evidence comes as far after the nudge as the two nudges are apart.
    world.project_config("[detect.ladder]\nnudge_at = 1\n");
    let loaded = world.load().unwrap();
    assert_eq!(loaded.config.detect.ladder.nudge_at, 3);
    assert_eq!(loaded.notes.len(), 1);
    world.project_config("[detect.ladder]\nnudge_at = 1\npause_at = 4\n");
    let loaded = world.load().unwrap();
    assert_eq!((loaded.config.detect.ladder.nudge_at, loaded.notes.len()), (1, 0), "together they are tighter");
}
