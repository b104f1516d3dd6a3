use super::*;
use crate::detect::patterns::PATTERNS;

fn custom(toml: &str) -> CustomPattern {
    toml::from_str(toml).unwrap()
}

fn with(custom: CustomPattern) -> Result<(), String> {
    Rules { custom: vec![custom], ..Rules::default() }.check().map_err(|e| e.to_string())
}

#[test]
fn the_built_in_rules_are_valid_and_name_every_pattern() {
    let rules = Rules::default();
    rules.check().unwrap();
    let sections: Vec<_> = rules.patterns.iter().map(|(name, _)| name).collect();
    for pattern in PATTERNS {
        assert!(sections.contains(&pattern.name), "{} has no section", pattern.name);
        assert!(std::ptr::eq(
            (pattern.rule)(&rules.patterns),
            rules.patterns.iter().find(|(name, _)| *name == pattern.name).unwrap().1
        ));
    }
}

#[test]
fn an_unknown_pattern_or_key_is_an_error() {
    let typo = DEFAULT_RULES.replace("[patterns.exact_repeat]", "[patterns.exact_repeats]");
    assert!(toml::from_str::<Rules>(&typo).unwrap_err().to_string().contains("exact_repeats"));
    let typo = DEFAULT_RULES.replace("pause_at = 6 ", "pauseat = 6 ");
    assert!(toml::from_str::<Rules>(&typo).unwrap_err().to_string().contains("pauseat"));
}

#[test]
fn invalid_custom_patterns_report_key_and_reason() {
    let good = r#"
        name = "no_force_push"
        message = "Do not force-push."
        command = "git push .*--force"
    "#;
    with(custom(good)).unwrap();
    insta::assert_snapshot!(with(custom(&good.replace("git push .*", "git push (.*"))).unwrap_err(), @r"
    custom.no_force_push.command: is not a regular expression: regex parse error:
        git push (.*--force
                 ^
    error: unclosed group
    ");
    insta::assert_snapshot!(with(custom(&good.replace("no_force_push", "no force push"))).unwrap_err(), @"custom.name: `no force push` must be letters, digits, `_` and `-`");
    insta::assert_snapshot!(with(CustomPattern { threshold: 0, ..custom(good) }).unwrap_err(), @"custom.no_force_push.threshold: must be at least 1");
    insta::assert_snapshot!(with(CustomPattern { window: 1000, ..custom(good) }).unwrap_err(), @"custom.no_force_push.window: must be 1 to 64");
    insta::assert_snapshot!(with(CustomPattern { intervention: crate::InterventionLevel::Kill, ..custom(good) }).unwrap_err(), @"custom.no_force_push.intervention: must be notice, nudge or pause; only a person kills a session");
    insta::assert_snapshot!(with(CustomPattern { command: None, ..custom(good) }).unwrap_err(), @"custom.no_force_push: matches every call; say which by kinds, tools, command, path, outcome or status");
    let twice = Rules { custom: vec![custom(good), custom(good)], ..Rules::default() };
    insta::assert_snapshot!(twice.check().unwrap_err(), @"custom.no_force_push: this name is given twice");
}

#[test]
fn an_allow_list_entry_must_name_a_tool_or_a_pair() {
    let allow = |actions: &[&str], pairs: &[&str]| {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Rules { allow: AllowList { actions: own(actions), pairs: own(pairs) }, ..Rules::default() }
            .check()
            .map_err(|e| e.to_string())
    };
    allow(&["Bash:npm test", "*:git status*"], &["00000000000000aa:00000000000000bb"]).unwrap();
    insta::assert_snapshot!(allow(&["npm test"], &[]).unwrap_err(), @"allow.actions: `npm test` names no tool; write `Bash:npm test` or `*:npm test`");
    insta::assert_snapshot!(allow(&[], &["aa"]).unwrap_err(), @"allow.pairs: `aa` is not a pair of two digests of 16 hex digits, `ACTION:OUTCOME`");
}

#[test]
fn the_ladder_gives_weaker_evidence_more_time() {
    use crate::InterventionLevel::{Notice, Nudge, Pause};
    use crate::detect::Strength::{Strong, VeryWeak, Weak};
    let levels = |strength| (1..=12).map(|count| Rules::default().ladder.level(count, strength)).collect::<Vec<_>>();
    let steps = |ones: &[(usize, crate::InterventionLevel)]| {
        (1..=12)
            .map(|count| ones.iter().rev().find(|(at, _)| count >= *at).map(|(_, level)| *level))
            .collect::<Vec<_>>()
    };
    assert_eq!(levels(Strong), steps(&[(2, Notice), (3, Nudge), (6, Pause)]));
    assert_eq!(levels(Weak), steps(&[(2, Notice), (4, Nudge), (7, Pause)]));
    assert_eq!(levels(VeryWeak), steps(&[(2, Notice), (8, Nudge), (11, Pause)]));
    let quiet = Ladder { nudge_faint_at: 0, ..Rules::default().ladder };
    assert_eq!(quiet.level(100, VeryWeak), Some(Notice), "what is never worth a nudge is never worth a pause");
}

#[test]
fn repetition_rules_are_validated() {
    assert_eq!(Rules::default().repetition, RepetitionRules::default(), "the file and the type say the same");
    let stricter = DEFAULT_RULES.replace("rounds = 4 ", "rounds = 3 ");
    assert_eq!(toml::from_str::<Rules>(&stricter).unwrap().repetition.rounds, 3);
    let with = |repetition| Rules { repetition, ..Rules::default() }.check().unwrap_err().to_string();
    let usual = RepetitionRules::default();
    insta::assert_snapshot!(with(RepetitionRules { rounds: 1, ..usual }), @"repetition.rounds: must be at least 2: what is said once is not a repetition");
    insta::assert_snapshot!(with(RepetitionRules { longest_round: 9000, ..usual }), @"repetition.longest_round: must be 1 to 3000 bytes");
    insta::assert_snapshot!(with(RepetitionRules { circle_percent: 101, ..usual }), @"repetition.circle_percent: must be at most 100");
}
