//! From claims to interventions: which step is due, what it says, the nudges that wait for their
//! call, the incidents.

mod build_finding;
mod finding_history;

use finding_history::LadderLimits;
pub use finding_history::{FindingHistory, FindingTracker, PendingNudge};

use std::borrow::Cow;

use crate::detect::patterns::PATTERNS;
use crate::detect::{CallContext, Claim, NudgeTarget, Pattern, Trigger, custom_patterns};
use crate::digest::Digest;
use crate::effect::{Effect, Finding, Incident, Intervention, InterventionLevel};
use crate::rules::Rules;
use crate::session::{ResumeCondition, Session, SessionState};
use crate::time::Timestamp;

/// Why patterns are asked now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvaluationTrigger {
    pub trigger: Trigger,
    /// Where the call stands it is about.
    pub focus: usize,
    /// The call was just asked for and is not answered yet.
    pub asked: bool,
    pub at: Timestamp,
}

/// What is to be done: a claim and who makes it.
struct DueStep {
    rung: InterventionLevel,
    claim: Claim,
    by: PatternRef,
}

#[derive(Clone, Copy)]
enum PatternRef {
    Pattern(&'static Pattern),
    /// Position among the custom patterns.
    Custom(usize),
}

impl PatternRef {
    fn name(self, rules: &Rules) -> Cow<'static, str> {
        match self {
            Self::Pattern(pattern) => pattern.name.into(),
            Self::Custom(at) => rules.custom.get(at).map_or_else(String::new, |custom| custom.name.clone()).into(),
        }
    }
}

impl Session {
    /// Asks every pattern that listens to this occasion, and takes the one step that is due.
    pub(crate) fn evaluate(&mut self, occasion: EvaluationTrigger, rules: &Rules, effects: &mut Vec<Effect>) {
        let view = CallContext::new(self, occasion.focus, occasion.asked);
        let mut best: Option<DueStep> = None;
        let mut going_on = Vec::new();
        let mut consider = |case: DueStep| {
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
            let ladder = rules.ladder.for_pattern(rule);
            // What is only asked for may still end differently: early on it proves nothing.
            let early = occasion.trigger == Trigger::Answered && claim.count < ladder.nudge_weak_at;
            if occasion.asked && early {
                continue;
            }
            let Some(rung) = ladder.rung(claim.count, claim.strength) else { continue };
            going_on.extend(self.findings().mark(pattern.name, &claim));
            if let Some(rung) = self.due(pattern.name, &claim, rung, ladder.pause_at != 0, &view, rules) {
                consider(DueStep { rung, claim, by: PatternRef::Pattern(pattern) });
            }
        }
        if occasion.trigger == Trigger::Answered {
            for (at, pattern) in rules.custom.iter().enumerate() {
                let Some(claim) = custom_patterns::evaluate(&view, at, pattern, &rules.matches()[at]) else { continue };
                if let Some(rung) = self.due(&pattern.name, &claim, pattern.intervention, true, &view, rules) {
                    consider(DueStep { rung, claim, by: PatternRef::Custom(at) });
                }
            }
        }
        if !going_on.is_empty() {
            let call = self.window().get(occasion.focus).map_or(0, |call| call.ordinal);
            self.findings_mut().mark_continuing(&going_on, call);
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
        rung: InterventionLevel,
        may_pause: bool,
        view: &CallContext<'_>,
        rules: &Rules,
    ) -> Option<InterventionLevel> {
        if self.is_allowed(claim.action, claim.outcome, rules) {
            return None;
        }
        // What is claimed about the session as a whole rests on no call.
        let focus = view.call().filter(|_| !claim.calls.is_empty()).map(|call| (call.key, call.outcome()));
        let limits = LadderLimits { max_nudges: rules.max_nudges, may_pause };
        self.findings().next_step(limits, name, claim, rung, focus)
    }

    /// Whether a person or a rule said that this pair is fine.
    pub(crate) fn is_allowed(&self, action: Digest, outcome: Digest, rules: &Rules) -> bool {
        self.findings().allows(action, outcome) || rules.allow.allows_pair(action, outcome)
    }

    fn intervene(&mut self, case: DueStep, occasion: EvaluationTrigger, rules: &Rules, effects: &mut Vec<Effect>) {
        let DueStep { rung, claim, by } = case;
        let view = CallContext::new(self, occasion.focus, occasion.asked);
        let name = by.name(rules);
        let words = match by {
            PatternRef::Pattern(pattern) => (pattern.say)(&view, &claim),
            PatternRef::Custom(at) => custom_patterns::wording(&view, &claim, &rules.custom[at]),
        };
        let outlives_edits = match by {
            PatternRef::Pattern(pattern) => pattern.outlives_edits,
            PatternRef::Custom(_) => true,
        };
        let finding = build_finding::build(&view, &name, &claim, &words, occasion);
        let message = match rung {
            InterventionLevel::Nudge => words.nudge_text(),
            _ => words.pause_text(),
        };
        let done = !rules.dry_run;
        match rung {
            InterventionLevel::Nudge if done => self.counters.nudges += 1,
            InterventionLevel::Pause if done => self.counters.pauses += 1,
            _ => {}
        }
        let news = self.findings_mut().record_step(&name, &claim, rung, &finding);
        self.counters.findings += u64::from(news);
        if rung == InterventionLevel::Nudge && done {
            self.findings_mut().queue_nudge(PendingNudge::new(&finding, &message, claim.matcher, outlives_edits));
        }
        let tell_person = rung >= InterventionLevel::Pause;
        effects.push(Effect::Intervened(Intervention {
            rung,
            finding: finding.clone(),
            message,
            tell_person,
            dry_run: rules.dry_run,
        }));
        if rung == InterventionLevel::Pause && done && matches!(self.state, SessionState::Active) {
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
            self.state = SessionState::Paused {
                incident: incident.id.clone(),
                since: occasion.at,
                until: None,
                gate: ResumeCondition::Operator,
            };
            self.open_incident(incident, effects);
        }
    }
}

impl PendingNudge {
    fn new(finding: &Finding, message: &str, matcher: NudgeTarget, outlives_edits: bool) -> Self {
        Self { finding: finding.id.clone(), message: message.to_owned(), matcher, outlives_edits, call: finding.call }
    }
}
