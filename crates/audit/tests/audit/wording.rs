//! Snapshots of the report for fixed sessions, which change only with its wording.

use std::collections::BTreeMap;
use std::path::PathBuf;

use belay_agents::ReadStats;
use belay_agents::transcript::LineError;
use belay_audit::replay::FileReport;
use belay_audit::report::{Differences, LabelStyle, compare, html, lines, text, total};
use belay_audit::session_report::DaySpend;
use belay_audit::{
    InterventionTime, Loop, ModelSpend, PlannedIntervention, RuleSet, SessionReport, Totals, VariantResult,
};
use belay_core::effect::{Evidence, Spend};
use belay_core::event::Usage;
use belay_core::session::Counters;
use belay_core::{Finding, InterventionLevel, Rules, SessionKey, Timestamp};
use jiff::civil::date;
use jiff::tz::TimeZone;

/// The price date is replaced, because it changes with every update of the table.
fn undated(text: &str) -> String {
    text.replace(belay_core::prices::Prices::built_in().as_of, "[date]")
}

const BEGIN: i64 = 1_772_352_000_000; // 2026-03-01T08:00:00Z

fn usage(scale: u64) -> Usage {
    Usage {
        input: 100 * scale,
        output: 2_000 * scale,
        cache_read: 500_000 * scale,
        cache_write: 10_000 * scale,
        ..Usage::default()
    }
}

fn spent(calls: u64, scale: u64) -> Spend {
    Spend { calls, usage: usage(scale), cost_micros: 363_000 * scale, unpriced_micros: 0, millis: 90_000 * scale }
}

fn session(agent: &str, id: &str, project: &str, model: &str, judged: VariantResult) -> SessionReport {
    let spend = DaySpend { calls: 40, tokens: usage(3).total(), cost_micros: 1_089_000 };
    SessionReport {
        under_reported: 0,
        key: SessionKey::new(agent, id),
        parent: None,
        files: vec![PathBuf::from(format!("/home/user/sessions/{id}.jsonl"))],
        own_file: true,
        project: Some(format!("/home/user/{project}")),
        started_at: Timestamp::from_millis(BEGIN),
        last_at: Timestamp::from_millis(BEGIN + 3_600_000),
        counters: Counters { calls: 40, answers: 38, errors: 4, human_turns: 3, ..Counters::default() },
        spent: spent(40, 3),
        models: vec![ModelSpend {
            model: model.to_owned(),
            usage: usage(3),
            cost_micros: 1_089_000,
            priced: model != "house-model",
        }],
        days: BTreeMap::from([(date(2026, 3, 1), spend)]),
        judged: vec![judged],
    }
}

fn stuck(pause: bool) -> VariantResult {
    let finding = Finding {
        id: "fnd-0000000001".into(),
        pattern: "exact_repeat".into(),
        count: 3,
        denied: 0,
        sentence: "The same call failed 3 times with the same error: `npm install`.".into(),
        unchanged: "npm error code ERESOLVE".into(),
        progress_would_be: "another error".into(),
        evidence: vec![Evidence {
            call: 12,
            id: Some("toolu_1".into()),
            what: "npm install".into(),
            outcome: "npm error code ERESOLVE <tree>".into(),
            at: Timestamp::from_millis(BEGIN + 60_000),
        }],
        from_call: 10,
        call: 12,
        action: Default::default(),
        outcome: Default::default(),
        spent: Spend::default(),
        at: Timestamp::from_millis(BEGIN + 60_000),
    };
    let step = |call| InterventionTime { call, spent: Spend::default() };
    VariantResult {
        loops: vec![Loop {
            pattern: finding.pattern.clone(),
            sentence: finding.sentence.clone(),
            from_call: 10,
            to_call: 31,
            repeated_after: 3,
            nudge: Some(step(12)),
            pause: pause.then(|| step(15)),
            after_nudge: spent(19, 1),
            after_pause: if pause { spent(16, 1) } else { Spend::default() },
            level: if pause { InterventionLevel::Pause } else { InterventionLevel::Nudge },
        }],
        alarms: vec![PlannedIntervention { level: InterventionLevel::Nudge, finding }],
        notices: Vec::new(),
        noticed: 2,
    }
}

fn sessions() -> Vec<SessionReport> {
    let healthy = VariantResult { noticed: 1, ..VariantResult::default() };
    let mut sub = session("claude-code", "parent/a1b2c3", "shop", "claude-opus-4-5-20251101", stuck(true));
    sub.parent = Some(SessionKey::new("claude-code", "00000003-0000-4000-8000-000000000000"));
    let mut late = session("codex", "t-2", "blog", "house-model", stuck(false));
    late.last_at = Timestamp::from_millis(BEGIN + 200_000_000);
    vec![session("codex", "t-1", "shop", "gpt-5.5", healthy), sub, late]
}

fn totals() -> Totals {
    let mut totals = Totals::default();
    sessions().iter().for_each(|report| totals.session(report, 0));
    totals.file(&FileReport {
        is_copy: false,
        path: "/home/user/sessions/torn.jsonl".into(),
        result: Ok(ReadStats {
            bytes: 1_234_567,
            lines: 900,
            broken: 5,
            too_long: 1,
            errors: vec![
                (3, LineError::Malformed),
                (40, LineError::TooLong),
                (41, LineError::Malformed),
                (99, LineError::Malformed),
            ],
            ..ReadStats::default()
        }),
    });
    totals.finish();
    totals
}

#[test]
fn the_report_for_people() {
    insta::assert_snapshot!(undated(&text(&totals(), &TimeZone::UTC)));
}

#[test]
fn the_report_when_nothing_went_round() {
    let mut totals = Totals::default();
    totals.session(&sessions()[0], 0);
    totals.finish();
    insta::assert_snapshot!(undated(&text(&totals, &TimeZone::UTC)));
}

#[test]
fn the_lines_for_programs() {
    let variants = [RuleSet::fixed("yours", Rules::default())];
    let mut all = lines(&sessions()[1], LabelStyle::Files, &variants);
    all.push(total(&totals(), &variants, 0));
    let shown: Vec<String> = all.iter().map(|line| serde_json::to_string_pretty(line).expect("JSON")).collect();
    insta::assert_snapshot!(undated(&shown.join("\n")));
}

#[test]
fn the_page() {
    let page = html(&totals(), &TimeZone::UTC);
    let (_, body) = page.split_once("</style>").expect("a style");
    insta::assert_snapshot!(undated(body));
}

#[test]
fn the_comparison() {
    let mut differences = Differences::default();
    let (mut a, mut b) = (Totals::default(), Totals::default());
    for mut report in sessions() {
        report.judged.push(VariantResult::default());
        a.session(&report, 0);
        b.session(&report, 1);
        differences.session(LabelStyle::Ids.label(&report), &report);
    }
    insta::assert_snapshot!(compare(["strict", "lax"], [&a, &b], &differences));
}
