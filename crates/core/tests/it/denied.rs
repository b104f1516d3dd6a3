//! Calls that Belay denied are not evidence, and a nudge counts once it is delivered.

use belay_core::event::{Delivered, ModelAsked, ToolCalled, ToolReturned};
use belay_core::{
    Body, CallStatus, Effect, Event, InterventionLevel, Rules, Session, SessionKey, Source, Timestamp, Verdict,
};
use serde_json::json;

/// A session whose only sensor is the given one.
struct Watched {
    session: Session,
    rules: Rules,
    source: Source,
    events: i64,
    effects: Vec<Effect>,
}

impl Watched {
    fn new(source: Source) -> Self {
        let session = Session::new(SessionKey::new("script", "main"));
        Self { session, rules: Rules::default(), source, events: 0, effects: Vec::new() }
    }

    fn apply(&mut self, body: Body) -> Verdict {
        self.events += 1;
        let at = Timestamp::from_millis(1_767_225_600_000 + self.events * 1_000);
        let event = Event::new(format!("e{}", self.events), self.session.key.clone(), self.source, at, body);
        self.effects = self.session.apply(&event, &self.rules);
        self.session.verdict(&event)
    }

    fn call(&mut self, n: u32) -> Verdict {
        let input = json!({ "command": "npm test" });
        self.apply(Body::ToolCalled(ToolCalled::new(Some(format!("c{n}")), None, "Bash", &input)))
    }

    fn result(&mut self, n: u32) {
        let failed = Some(CallStatus::Error);
        let returned = ToolReturned::new(Some(format!("c{n}")), failed, Some(1), "1 failing: adds numbers");
        self.apply(Body::ToolReturned(returned));
    }

    fn ask(&mut self) -> Verdict {
        self.apply(Body::ModelAsked(ModelAsked::default()))
    }

    fn delivered(&mut self, verdict: &Verdict) {
        let Verdict::Nudge { finding, .. } = verdict else { panic!("{verdict:?}") };
        self.apply(Body::Delivered(Delivered { finding: finding.clone(), channel: Source::Proxy }));
    }
}

#[test]
fn a_denied_call_is_neither_counted_nor_shown_as_one_that_ran() {
    let mut watched = Watched::new(Source::Hook);
    for n in 0..3 {
        assert_eq!(watched.call(n), Verdict::Go);
        watched.result(n);
    }
    assert!(matches!(watched.call(3), Verdict::Nudge { .. }));
    let second = watched.call(4);
    let Verdict::Nudge { message, .. } = &second else { panic!("{second:?}") };
    assert!(message.contains("made 3 times") && message.contains("Belay denied 2 more attempts."), "{message}");
    watched.call(5);
    let finding = watched.session.incident.as_ref().and_then(|incident| incident.finding.clone()).unwrap();
    assert!(finding.sentence.contains("made 3 times"), "{}", finding.sentence);
    assert_eq!((finding.count, finding.denied), (6, 3));
    let outcomes: Vec<&str> = finding.evidence.iter().map(|call| call.outcome.as_str()).collect();
    let (ran, denied) = outcomes.split_at(3);
    assert!(ran.iter().all(|outcome| outcome.contains("1 failing")), "{outcomes:?}");
    assert_eq!(denied, ["denied by Belay"; 3]);
}

#[test]
fn requests_carry_every_nudge_that_counts() {
    let mut watched = Watched::new(Source::Proxy);
    watched.ask();
    for n in 0..2 {
        watched.call(n);
        watched.result(n);
        assert_eq!(watched.ask(), Verdict::Go);
    }
    for n in 2..4 {
        watched.call(n);
        watched.result(n);
        let verdict = watched.ask();
        watched.delivered(&verdict);
    }
    assert_eq!(watched.session.counters.nudges, 2);
    // A pause needs more evidence than the nudges.
    watched.call(4);
    watched.result(4);
    assert_eq!(watched.ask(), Verdict::Go);
    watched.call(5);
    watched.result(5);
    assert!(matches!(watched.ask(), Verdict::Hold { .. }));
}

#[test]
fn a_nudge_that_no_request_carried_is_offered_again_and_counts_once() {
    let mut watched = Watched::new(Source::Proxy);
    watched.ask();
    for n in 0..3 {
        watched.call(n);
        watched.result(n);
    }
    assert!(matches!(watched.ask(), Verdict::Nudge { .. }));
    // The request could not carry it.
    watched.call(3);
    watched.result(3);
    let nudged = |effect: &Effect| matches!(effect, Effect::Intervened(step) if step.level == InterventionLevel::Nudge);
    assert!(!watched.effects.iter().any(nudged), "{:?}", watched.effects);
    let verdict = watched.ask();
    watched.delivered(&verdict);
    assert_eq!(watched.session.counters.nudges, 1);
    assert_eq!(watched.ask(), Verdict::Go);
}

#[test]
fn a_pause_starts_with_what_happened_and_a_short_id() {
    let mut watched = Watched::new(Source::Hook);
    watched.session.key = SessionKey::new("claude-code", "f19b2c3d-0000-4000-8000-000000000000");
    for n in 0..3 {
        watched.call(n);
        watched.result(n);
    }
    let verdicts: Vec<Verdict> = (3..7).map(|n| watched.call(n)).collect();
    let Some(Verdict::Hold { reason, .. }) = verdicts.last() else { panic!("{verdicts:?}") };
    assert!(reason.starts_with("Belay paused this session (`belay resume f19b2c3d`): The same call"), "{reason}");
    assert_eq!(reason.matches("paused").count(), 1, "{reason}");
}

#[test]
fn excerpts_omit_what_an_agent_wraps_around_a_result() {
    for wrapped in [
        "Command: npm test\nDirectory: (root)\nOutput: 1 failing: adds numbers\nError: (none)\nExit Code: 1\nSignal: (none)",
        "<untrusted_context>\nOutput: 1 failing: adds numbers\nExit Code: 1\nProcess Group PGID: 12\n</untrusted_context>",
    ] {
        let mut watched = Watched::new(Source::Hook);
        for n in 0..3 {
            watched.call(n);
            let returned = ToolReturned::new(Some(format!("c{n}")), Some(CallStatus::Error), Some(1), wrapped);
            watched.apply(Body::ToolReturned(returned));
        }
        let verdict = watched.call(3);
        let Verdict::Nudge { message, .. } = &verdict else { panic!("{verdict:?}") };
        assert!(message.contains("Unchanged: 1 failing: adds numbers"), "{message}");
    }
}
