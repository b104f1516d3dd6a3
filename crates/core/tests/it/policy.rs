//! The ladder as agent and operator experience it: what is held back, why, and what ends it.

use belay_core::event::{Operator, OperatorDecision};
use belay_core::session::Budget;
use belay_core::{
    Body, Effect, Event, Excerpt, InterventionLevel, Rules, Session, SessionKey, SessionState, Source, Timestamp,
    Verdict,
};

use crate::script;

/// A session with its verdicts and effects.
struct Scenario {
    session: Session,
    rules: Rules,
    effects: Vec<Effect>,
    events: u32,
}

impl Scenario {
    fn new() -> Self {
        Self::with(Rules::default())
    }

    fn with(rules: Rules) -> Self {
        Self { session: Session::new(SessionKey::new("script", "main")), rules, effects: Vec::new(), events: 0 }
    }

    /// Runs a script and returns the verdicts on its tool calls.
    fn run(&mut self, text: &str) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for mut event in script::events(text) {
            // Scripts restart their ids, which must not count as duplicates.
            self.events += 1;
            event.id = format!("{}-{}", event.id, self.events);
            let round = self.session.counters.calls;
            match &mut event.body {
                Body::ToolCalled(call) => call.call = Some(format!("c{round}")),
                Body::ToolReturned(result) => result.call = Some(format!("c{}", round.saturating_sub(1))),
                _ => {}
            }
            self.effects.extend(self.session.apply(&event, &self.rules));
            if matches!(event.body, Body::ToolCalled(_)) {
                verdicts.push(self.session.verdict(&event));
            }
        }
        verdicts
    }

    fn decide(&mut self, decision: OperatorDecision) {
        self.events += 1;
        let body = Body::Operator(Operator { decision, note: Excerpt::default(), by: None, caller: None });
        let event = Event::new(
            format!("op{}", self.events),
            self.session.key.clone(),
            Source::Operator,
            Timestamp::UNKNOWN,
            body,
        );
        self.effects.extend(self.session.apply(&event, &self.rules));
    }

    fn levels(&self) -> Vec<InterventionLevel> {
        let step = |effect: &Effect| match effect {
            Effect::Intervened(step) => Some(step.level),
            _ => None,
        };
        self.effects.iter().filter_map(step).collect()
    }

    fn findings(&self, level: InterventionLevel) -> Vec<String> {
        let step = |effect: &Effect| match effect {
            Effect::Intervened(step) if step.level == level => Some(step.finding.id.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(step).collect()
    }
}

const FAILS: &str = "Bash: make deploy\n! make: *** No rule to make target 'deploy'. Stop.\nexit 2\n";

fn is_nudge(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Nudge { .. })
}

#[test]
fn the_next_call_that_matches_is_held_back_and_reads_why() {
    let mut scenario = Scenario::new();
    assert_eq!(scenario.run(&FAILS.repeat(3)), [Verdict::Go, Verdict::Go, Verdict::Go]);
    let verdicts = scenario.run(FAILS);
    let Verdict::Nudge { message, .. } = &verdicts[0] else { panic!("{verdicts:?}") };
    assert!(message.contains("make deploy") && message.contains("No rule to make target"), "{message}");
}

#[test]
fn the_third_round_is_judged_when_it_is_made_and_runs() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(2));
    assert_eq!(scenario.findings(InterventionLevel::Nudge), [""; 0]);
    assert_eq!(scenario.run("Bash: make deploy\nhangs"), [Verdict::Go], "it may end differently");
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 1, "although it never returns");
    scenario.run("turn ends");
    assert!(is_nudge(&scenario.run(FAILS)[0]), "the next one is held back");
}

#[test]
fn a_third_round_that_ends_differently_is_not_followed_by_a_nudge() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(2));
    scenario.run("Bash: make deploy\n| deployed version 12\nexit 0");
    assert_eq!(scenario.session.counters.nudges, 0, "it is withdrawn");
    assert_eq!(scenario.run("Bash: make deploy\n| deployed version 13\nexit 0"), [Verdict::Go]);
    // The repetition that starts now is judged by its own rounds.
    assert_eq!(scenario.run(&FAILS.repeat(3)), [Verdict::Go, Verdict::Go, Verdict::Go]);
    assert!(is_nudge(&scenario.run(FAILS)[0]));
}

#[test]
fn equal_calls_made_together_are_one_round() {
    let mut scenario = Scenario::new();
    let batch = "together\nBash: make deploy\n! no rule\nexit 2\nBash: make deploy\n! no rule\nexit 2\nend\n";
    let rounds =
        |scenario: &Scenario| scenario.levels().into_iter().filter(|level| *level > InterventionLevel::Notice).count();
    for event in script::events(&batch.repeat(2)) {
        scenario.effects.extend(scenario.session.apply(&event, &scenario.rules));
    }
    assert_eq!(rounds(&scenario), 0, "four calls, two rounds");
}

#[test]
fn other_calls_are_never_punished_for_it() {
    // heartbeat held back 18 of the next 25 unrelated calls after three equal ones.
    let mut scenario = Scenario::new();
    scenario.run(&"Bash: git status\n| clean\n".repeat(3));
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 1);
    for n in 0..25 {
        let verdicts = scenario.run(&format!("Read: {{\"file_path\": \"f{n}.rs\"}}\n| content {n}\n"));
        assert_eq!(verdicts, [Verdict::Go], "call {n}");
    }
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 1);
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(3));
    let event = script::events("Bash: make deploy\nhangs").remove(0);
    scenario.session.apply(&event, &scenario.rules);
    let first = scenario.session.verdict(&event);
    assert!(is_nudge(&first));
    assert_eq!(scenario.session.apply(&event, &scenario.rules), []);
    assert_eq!(scenario.session.verdict(&event), first);
}

#[test]
fn two_ignored_nudges_are_followed_by_a_pause_that_holds() {
    let mut scenario = Scenario::new();
    // Held-back calls have no result; the agent only retries.
    scenario.run(&FAILS.repeat(3));
    let verdicts = scenario.run("repeat 4\nBash: make deploy\nhangs\nend");
    assert!(is_nudge(&verdicts[0]) && is_nudge(&verdicts[1]), "{verdicts:?}");
    assert!(matches!(verdicts[2], Verdict::Hold { .. }), "{verdicts:?}");
    assert!(scenario.session.state.is_paused());
    assert!(scenario.effects.iter().any(|effect| matches!(effect, Effect::IncidentOpened(_))));
    assert!(matches!(scenario.run("Read: {\"file_path\": \"a\"}\n| b")[0], Verdict::Hold { .. }));
}

#[test]
fn an_agent_that_reports_what_was_held_back_climbs_the_ladder_as_fast() {
    // Claude Code reports a denied call as refused; other agents quote Belay in a failure.
    for told in ["! PreToolUse:Bash hook error: Belay: again\nrefused\n", "! error: Belay: again\nexit 1\n"] {
        let mut scenario = Scenario::new();
        scenario.run(&FAILS.repeat(3));
        let verdicts = scenario.run(&format!("Bash: make deploy\n{told}").repeat(3));
        assert!(is_nudge(&verdicts[0]) && is_nudge(&verdicts[1]), "{verdicts:?}");
        assert!(matches!(verdicts[2], Verdict::Hold { .. }), "{verdicts:?}");
        assert_eq!(scenario.session.counters.pauses, 1);
    }
}

#[test]
fn a_resume_is_not_paused_again_for_what_was_answered() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(8));
    assert!(scenario.session.state.is_paused());
    scenario.decide(OperatorDecision::RESUME);
    assert_eq!(scenario.session.state, SessionState::Active);
    // Loop Watchdog paused again at the next call.
    assert_eq!(scenario.run(&FAILS.repeat(2)), [Verdict::Go, Verdict::Go]);
    assert_eq!(scenario.session.state, SessionState::Active);
}

#[test]
fn a_change_to_the_project_makes_the_nudge_void() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(3));
    scenario
        .run("Edit: {\"file_path\": \"Makefile\", \"old_string\": \"a\", \"new_string\": \"deploy:\"}\n| updated\n");
    assert_eq!(scenario.run("Bash: make deploy\n| deployed\n"), [Verdict::Go]);
}

#[test]
fn a_persons_turn_wipes_the_slate() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(3));
    scenario.run("person: try once more, I fixed the server");
    assert_eq!(scenario.run(&FAILS.repeat(2)), [Verdict::Go, Verdict::Go]);
    assert_eq!(scenario.findings(InterventionLevel::Pause), Vec::<String>::new());
}

#[test]
fn allow_applies_to_the_pair_only() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(3));
    let finding = scenario.findings(InterventionLevel::Nudge).remove(0);
    scenario.decide(OperatorDecision::Allow { finding });
    assert!(scenario.run(&FAILS.repeat(10)).iter().all(|verdict| *verdict == Verdict::Go));
    assert_eq!(scenario.session.state, SessionState::Active);
    // Another failure of the same command is another pair.
    scenario.run(&"Bash: make deploy\n! ssh: Permission denied (publickey).\nexit 2\n".repeat(3));
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 2);
}

#[test]
fn an_allow_list_takes_commands_with_blanks_and_globs() {
    let allowed = |entry: &str| {
        let mut rules = Rules::default();
        rules.allow.actions = vec![entry.to_owned()];
        let mut scenario = Scenario::with(rules);
        scenario.run(&FAILS.repeat(10));
        scenario.levels().is_empty()
    };
    assert!(allowed("Bash:make deploy"));
    assert!(allowed("shell:make *"));
    assert!(allowed("*:make deploy"));
    assert!(!allowed("Bash:make"));
    assert!(!allowed("Read:*"));
}

#[test]
fn a_pair_in_the_rules_is_allowed_in_every_session() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(3));
    let pair = scenario.effects.iter().find_map(|effect| match effect {
        Effect::Intervened(step) => Some(format!("{}:{}", step.finding.action, step.finding.outcome)),
        _ => None,
    });
    let mut rules = Rules::default();
    rules.allow.pairs = pair.into_iter().collect();
    rules.check().unwrap();
    let mut scenario = Scenario::with(rules);
    scenario.run(&FAILS.repeat(10));
    assert_eq!(scenario.findings(InterventionLevel::Nudge), Vec::<String>::new());
}

/// Runs a script in which `./fine.sh` and `sed` are allowed. Returns what leads to a nudge.
fn nudges_around_allowed_calls(text: &str) -> Vec<String> {
    let mut rules = Rules::default();
    rules.dry_run = true;
    rules.allow.actions = vec!["Bash:./fine.sh".to_owned(), "Bash:sed -i*".to_owned()];
    let mut scenario = Scenario::with(rules);
    scenario.run(text);
    let nudge = |effect: &Effect| match effect {
        Effect::Intervened(step) if step.level == InterventionLevel::Nudge => Some(step.finding.pattern.clone()),
        _ => None,
    };
    scenario.effects.iter().filter_map(nudge).collect()
}

#[test]
fn an_allowed_change_is_still_a_change() {
    let look = |change: &str| {
        format!("repeat 6\nBash: cat out/address.txt\n| listening on the configured address\n{change}\nend")
    };
    assert_eq!(nudges_around_allowed_calls(&look("Bash: sed -i s/80/8{n}/ server.ini\n|")), [""; 0]);
    assert_eq!(
        nudges_around_allowed_calls(&look("Bash: ./fine.sh\n| all is well")).first().unwrap(),
        "interleaved_repeat"
    );
}

#[test]
fn what_happens_in_a_row_is_not_joined_over_an_allowed_call() {
    let fails = "Bash: ./step{n} --go\n! step{n}: segmentation fault (core dumped)\nexit 139\n";
    let placeholder = "Bash: true\n|\nBash: :\n|\n";
    let times_out = "Bash: ls\n! Command timed out after 120 seconds\nexit 124\n";
    for (call, pattern) in [(fails, "error_cascade"), (placeholder, "no_op_calls"), (times_out, "dead_shell")] {
        let alone = nudges_around_allowed_calls(&format!("repeat 12\n{call}end"));
        assert!(alone.iter().any(|found| found == pattern), "{pattern} in {alone:?}");
        let apart = nudges_around_allowed_calls(&format!("repeat 12\n{call}Bash: ./fine.sh\n| all is well\nend"));
        assert!(apart.iter().all(|found| found != pattern), "{pattern} in {apart:?}");
    }
}

#[test]
fn dry_run_tells_what_it_would_have_done() {
    let mut rules = Rules::default();
    rules.dry_run = true;
    let mut scenario = Scenario::with(rules);
    assert!(scenario.run(&FAILS.repeat(8)).iter().all(|verdict| *verdict == Verdict::Go));
    assert_eq!(
        scenario.levels(),
        [InterventionLevel::Notice, InterventionLevel::Nudge, InterventionLevel::Nudge, InterventionLevel::Pause]
    );
    assert_eq!(scenario.session.state, SessionState::Active);
}

#[test]
fn a_finding_keeps_its_id_while_it_grows() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(8));
    let ids: Vec<String> = [InterventionLevel::Notice, InterventionLevel::Nudge, InterventionLevel::Pause]
        .into_iter()
        .flat_map(|level| scenario.findings(level))
        .collect();
    assert!(ids.len() >= 4);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn thresholds_are_data() {
    let mut rules = Rules::default();
    rules.patterns.exact_repeat.nudge_at = Some(5);
    rules.patterns.exact_repeat.pause_at = Some(0);
    let mut scenario = Scenario::with(rules);
    scenario.run(&FAILS.repeat(4));
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 0);
    scenario.run(&FAILS.repeat(10));
    assert_eq!(scenario.findings(InterventionLevel::Nudge).len(), 2);
    assert_eq!(scenario.findings(InterventionLevel::Pause).len(), 0);
}

#[test]
fn what_is_forbidden_is_held_back_before_it_runs() {
    let mut rules = Rules::default();
    rules.custom = vec![
        toml::from_str("name = 'no_force_push'\ncommand = 'git push .*--force'\nthreshold = 1\nmessage = 'Ask first.'")
            .unwrap(),
    ];
    let mut scenario = Scenario::with(rules);
    let verdicts = scenario.run("Bash: git push --force\nhangs\nBash: git push\n| done");
    assert!(is_nudge(&verdicts[0]), "{verdicts:?}");
    assert_eq!(verdicts[1], Verdict::Go);
}

#[test]
fn a_budget_set_by_a_person_holds() {
    let mut scenario = Scenario::new();
    scenario.decide(OperatorDecision::Budget(Budget { tokens: Some(250_000), cost_micros: None }));
    scenario.run("person: go\nuses 100\nuses 100\n");
    assert_eq!(scenario.levels(), [InterventionLevel::Notice]);
    scenario.run("uses 100");
    assert!(scenario.session.state.is_paused());
}

#[test]
fn a_budget_counts_from_the_moment_it_is_set() {
    let mut scenario = Scenario::new();
    let budget = |tokens| OperatorDecision::Budget(Budget { tokens: Some(tokens), cost_micros: None });
    scenario.decide(budget(250_000));
    assert_eq!(scenario.session.remaining_budget().tokens, Some(250_000), "before anything is spent");
    scenario.run("person: go\nuses 100\nuses 100\nuses 100\n");
    assert_eq!(scenario.session.remaining_budget().tokens, Some(0));
    scenario.decide(budget(1_000_000));
    assert!(scenario.session.remaining_budget().tokens > Some(600_000), "{:?}", scenario.session.remaining_budget());
}

#[test]
fn a_hold_by_the_detector_survives_a_snapshot() {
    let mut scenario = Scenario::new();
    scenario.run(&FAILS.repeat(8));
    let json = serde_json::to_vec(&scenario.session).unwrap();
    scenario.session = serde_json::from_slice(&json).unwrap();
    assert!(matches!(scenario.run("Bash: ls\n| a")[0], Verdict::Hold { .. }));
}

#[test]
fn talk_without_deeds_is_answered_at_the_next_turn() {
    let mut session = Session::new(SessionKey::new("script", "main"));
    let rules = Rules::default();
    let mut nudged = false;
    let text = "repeat 6\nsays: I am still blocked on the missing credentials and cannot proceed.\nmachine: Continue with the goal.\nend";
    for event in script::events(text) {
        session.apply(&event, &rules);
        nudged |= is_nudge(&session.verdict(&event));
    }
    assert!(nudged);
}

#[test]
fn reported_rounds_count_only_the_same_files_with_the_same_failure_in_a_row() {
    let mut rules = Rules::default();
    rules.patterns.reported_rounds.pause_at = Some(2);
    let is_paused = |script: &str| {
        let mut session = Session::new(SessionKey::new("script", "main"));
        script::events(script).iter().for_each(|event| drop(session.apply(event, &rules)));
        session.state.is_paused()
    };
    let round = "reports edit a.py b.py\nreports failure boom";
    assert!(is_paused(&format!("{round}\n{round}")));
    assert!(is_paused(&format!("{round}\nreports failure boom\nreports edit b.py a.py\nreports failure boom")));
    assert!(!is_paused(&format!("{round}\nreports failure boom\nreports failure boom")), "reruns alone");
    assert!(!is_paused(&format!("{round}\nreports edit a.py\nreports failure boom")), "other files");
    assert!(!is_paused(&format!("{round}\nreports edit a.py b.py\nreports failure bang")), "another failure");
    assert!(!is_paused(&format!("{round}\nreports pass\n{round}")), "it worked in between");
    let observed = "file a.py = x\ncheck pytest failed test_pay";
    assert!(!is_paused(&format!("{observed}\n{observed}")), "reported by Belay's own sensors");
}
