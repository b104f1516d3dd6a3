//! From claims to interventions: which step is due, what it says, the nudges that wait for their
//! call, the incidents.

mod finding;
mod track;

use track::Limits;
pub use track::{Pending, Track, Tracks};

use std::borrow::Cow;

use crate::detect::patterns::PATTERNS;
use crate::detect::{Claim, Matcher, Pattern, Trigger, View, custom};
use crate::digest::Digest;
use crate::effect::{Effect, Finding, Incident, Intervention, Rung};
use crate::rules::Rules;
use crate::session::{Gate, Session, State};
use crate::time::Time;

/// Why patterns are asked now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion {
    pub trigger: Trigger,
    /// Where the call stands it is about.
    pub focus: usize,
    /// The call was just asked for and is not answered yet.
    pub asked: bool,
    pub at: Time,
}

/// What is to be done: a claim and who makes it.
struct Case {
    rung: Rung,
    claim: Claim,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    Pattern(&'static Pattern),
    /// Position among the custom patterns.
    Custom(usize),
}

impl By {
    fn name(self, rules: &Rules) -> Cow<'static, str> {
        match self {
            Self::Pattern(pattern) => pattern.name.into(),
            Self::Custom(at) => rules.custom.get(at).map_or_else(String::new, |custom| custom.name.clone()).into(),
        }
    }
}

impl Session {
    /// Asks every pattern that listens to this occasion, and takes the one step that is due.
    pub(crate) fn examine(&mut self, occasion: Occasion, rules: &Rules, effects: &mut Vec<Effect>) {
        let view = View::new(self, occasion.focus, occasion.asked);
        let mut best: Option<Case> = None;
        let mut going_on = Vec::new();
        let mut consider = |case: Case| {
            if best.as_ref().is_none_or(|so_far| case.rung > so_far.rung) {
                best = Some(case);
            }
        };
        for pattern in PATTERNS.iter().filter(|pattern| pattern.trigger == occasion.trigger) {
            let rule = (pattern.rule)(&rules.patterns);
            if !rule.enabled || occasion.asked && !pattern.ahead {
                continue;
            }
            let Some(claim) = (pattern.look)(&view, rule) else { continue };
            let ladder = rules.ladder.of(rule);
            // What is only asked for may still end differently: early on it proves nothing.
            let early = occasion.trigger == Trigger::Answered && claim.count < ladder.nudge_weak_at;
            if occasion.asked && early {
                continue;
            }
            let Some(rung) = ladder.rung(claim.count, claim.strength) else { continue };
            going_on.extend(self.tracks().mark(pattern.name, &claim));
            if let Some(rung) = self.due(pattern.name, &claim, rung, ladder.pause_at != 0, &view, rules) {
                consider(Case { rung, claim, by: By::Pattern(pattern) });
            }
        }
        if occasion.trigger == Trigger::Answered {
            for (at, pattern) in rules.custom.iter().enumerate() {
                let Some(claim) = custom::look(&view, at, pattern, &rules.matches()[at]) else { continue };
                if let Some(rung) = self.due(&pattern.name, &claim, pattern.intervention, true, &view, rules) {
                    consider(Case { rung, claim, by: By::Custom(at) });
                }
            }
        }
        if !going_on.is_empty() {
            let call = self.window().get(occasion.focus).map_or(0, |call| call.ordinal);
            self.tracks_mut().goes_on(&going_on, call);
        }
        if let Some(case) = best {
            self.intervene(case, occasion, rules, effects);
        }
    }

    /// The step that is due now, given what was done about this before.
    fn due(
        &self,
        name: &str,
        claim: &Claim,
        rung: Rung,
        may_pause: bool,
        view: &View<'_>,
        rules: &Rules,
    ) -> Option<Rung> {
        if self.is_fine(claim.action, claim.outcome, rules) {
            return None;
        }
        // What is claimed about the session as a whole rests on no call.
        let focus = view.call().filter(|_| !claim.calls.is_empty()).map(|call| (call.key, call.outcome()));
        let limits = Limits { max_nudges: rules.max_nudges, may_pause };
        self.tracks().step(limits, name, claim, rung, focus)
    }

    /// Whether a person or a rule said that this pair is fine.
    pub(crate) fn is_fine(&self, action: Digest, outcome: Digest, rules: &Rules) -> bool {
        self.tracks().allows(action, outcome) || rules.allow.pair(action, outcome)
    }

    fn intervene(&mut self, case: Case, occasion: Occasion, rules: &Rules, effects: &mut Vec<Effect>) {
        let Case { rung, claim, by } = case;
        let view = View::new(self, occasion.focus, occasion.asked);
        let name = by.name(rules);
        let words = match by {
            By::Pattern(pattern) => (pattern.say)(&view, &claim),
            By::Custom(at) => custom::say(&view, &claim, &rules.custom[at]),
        };
        let outlives_edits = match by {
            By::Pattern(pattern) => pattern.outlives_edits,
            By::Custom(_) => true,
        };
        let finding = finding::make(&view, &name, &claim, &words, occasion);
        let message = match rung {
            Rung::Nudge => words.nudge(),
            _ => words.pause(),
        };
        let done = !rules.dry_run;
        match rung {
            Rung::Nudge if done => self.counters.nudges += 1,
            Rung::Pause if done => self.counters.pauses += 1,
            _ => {}
        }
        let news = self.tracks_mut().took(&name, &claim, rung, &finding);
        self.counters.findings += u64::from(news);
        if rung == Rung::Nudge && done {
            self.tracks_mut().owe(Pending::new(&finding, &message, claim.matcher, outlives_edits));
        }
        let tell_person = rung >= Rung::Pause;
        effects.push(Effect::Intervened(Intervention {
            rung,
            finding: finding.clone(),
            message,
            tell_person,
            dry_run: rules.dry_run,
        }));
        if rung == Rung::Pause && done && matches!(self.state, State::Active) {
            let incident = Incident {
                id: finding.id.replacen("fnd-", "inc-", 1),
                session: self.key.clone(),
                rung,
                sentence: finding.sentence.clone(),
                finding: Some(finding),
                opened_at: occasion.at,
                acknowledged_at: None,
                closed_at: None,
            };
            self.state =
                State::Paused { incident: incident.id.clone(), since: occasion.at, until: None, gate: Gate::Person };
            self.open_incident(incident, effects);
        }
    }
}

impl Pending {
    fn new(finding: &Finding, message: &str, matcher: Matcher, outlives_edits: bool) -> Self {
        Self { finding: finding.id.clone(), message: message.to_owned(), matcher, outlives_edits, call: finding.call }
    }
}
