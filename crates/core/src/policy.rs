//! Turns claims into interventions: selects the level, writes the message, queues nudges, opens incidents.

mod build_finding;
mod finding_history;
mod second_look;

use finding_history::LadderLimits;
pub(crate) use finding_history::NOTE_PREFIX;
pub use finding_history::{FindingHistory, FindingTracker, PendingNudge};

use std::borrow::Cow;

use crate::detect::patterns::PATTERNS;
use crate::detect::{CallContext, Claim, NudgeTarget, Pattern, Trigger, custom_patterns, denied_sentence};
use crate::digest::Digest;
use crate::effect::{Effect, Finding, Incident, Intervention, InterventionLevel};
use crate::rules::Rules;
use crate::session::{ResumeCondition, Session, SessionState};
use crate::time::Timestamp;

/// Why patterns are evaluated now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluation {
    pub trigger: Trigger,
    /// Index of the call in question.
    pub focus: usize,
    /// The call has been requested but has no result yet.
    pub pending: bool,
    pub at: Timestamp,
}

/// A claim and the level it calls for.
struct DueStep {
    level: InterventionLevel,
    claim: Claim,
    by: PatternRef,
    /// The call is judged before it has run, and its result may still differ: it is not denied.
    early: bool,
}

#[derive(Clone, Copy)]
enum PatternRef {
    Pattern(&'static Pattern),
    /// Index into the custom patterns.
    Custom(usize),
}

impl PatternRef {
    fn name(self, rules: &Rules) -> Cow<'static, str> {
        match self {
            Self::Pattern(pattern) => pattern.name.into(),
            Self::Custom(at) => rules.custom.get(at).map_or_else(String::new, |custom| custom.name.clone()).into(),
        }
    }

    fn outlives_edits(self) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.outlives_edits,
            Self::Custom(_) => true,
        }
    }

    fn needs_second_look(self) -> bool {
        matches!(self, Self::Pattern(pattern) if pattern.second_look)
    }
}

/// What the ladder says about a claim.
#[derive(Clone, Copy)]
struct StepLimits {
    /// The level for this many occurrences.
    level: InterventionLevel,
    /// Whether evidence of this strength leads to nudges at all.
    nudges: bool,
}

impl Session {
    /// Evaluates every pattern with this trigger and takes the highest step that is due.
    pub(crate) fn evaluate(&mut self, evaluation: Evaluation, rules: &Rules, effects: &mut Vec<Effect>) {
        let context = CallContext::new(self, evaluation.focus, evaluation.pending);
        let mut best: Option<DueStep> = None;
        let mut continuing = Vec::new();
        let mut consider = |step: DueStep| {
            if best.as_ref().is_none_or(|so_far| step.level > so_far.level) {
                best = Some(step);
            }
        };
        for pattern in PATTERNS.iter().filter(|pattern| pattern.trigger == evaluation.trigger) {
            let rule = (pattern.rule)(&rules.patterns);
            if !rule.enabled || evaluation.pending && !pattern.before_result {
                continue;
            }
            let Some(claim) = (pattern.detect)(&context, rule) else { continue };
            let ladder = rules.ladder.for_pattern(rule);
            let Some(level) = ladder.level(claim.count, claim.strength) else { continue };
            let early =
                evaluation.pending && evaluation.trigger == Trigger::CallUpdated && claim.count < ladder.nudge_weak_at;
            // A call that has not run yet may end differently, so fewer rounds than those of a nudge prove nothing.
            if early && level < InterventionLevel::Nudge {
                continue;
            }
            continuing.extend(self.findings().key(pattern.name, &claim));
            let by = PatternRef::Pattern(pattern);
            let nudges = ladder.nudge(claim.strength) != 0;
            if let Some(level) = self.due(by, &claim, StepLimits { level, nudges }, &context, rules) {
                consider(DueStep { level, claim, by, early });
            }
        }
        if evaluation.trigger == Trigger::CallUpdated {
            for (at, pattern) in rules.custom.iter().enumerate() {
                let Some(claim) = custom_patterns::evaluate(&context, at, pattern, &rules.matches()[at]) else {
                    continue;
                };
                let by = PatternRef::Custom(at);
                let limits = StepLimits { level: pattern.intervention, nudges: true };
                if let Some(level) = self.due(by, &claim, limits, &context, rules) {
                    consider(DueStep { level, claim, by, early: false });
                }
            }
        }
        if !continuing.is_empty() {
            let call = self.window().get(evaluation.focus).map_or(0, |call| call.ordinal);
            self.findings_mut().mark_continuing(&continuing, call);
        }
        if let Some(step) = best {
            self.intervene(step, evaluation, rules, effects);
        }
    }

    /// The step that is due, given earlier steps.
    fn due(
        &self,
        by: PatternRef,
        claim: &Claim,
        StepLimits { level, nudges }: StepLimits,
        context: &CallContext<'_>,
        rules: &Rules,
    ) -> Option<InterventionLevel> {
        if self.is_allowed(claim.action, claim.outcome, rules) {
            return None;
        }
        // A claim about the session as a whole rests on no particular call.
        let focus = context.call().filter(|_| !claim.calls.is_empty()).map(|call| {
            // A call without a result is judged by the one that it is expected to have.
            let expected = || context.repeats().map_or(claim.outcome, |repeats| repeats.latest.outcome());
            (call.key, if call.result.is_some() { call.outcome() } else { expected() })
        });
        let limits = LadderLimits {
            max_nudges: rules.max_nudges,
            // A person's own pattern states its step, and has no count for a pause.
            escalates: matches!(by, PatternRef::Custom(_)),
            delivered_by_request: self.is_nudged_by_requests(),
            second_look: by.needs_second_look(),
            nudges,
        };
        self.findings().next_step(limits, &by.name(rules), claim, level, focus)
    }

    /// Whether an operator or a rule allows this pair.
    pub(crate) fn is_allowed(&self, action: Digest, outcome: Digest, rules: &Rules) -> bool {
        self.findings().allows(action, outcome) || rules.allow.allows_pair(action, outcome)
    }

    fn intervene(&mut self, step: DueStep, evaluation: Evaluation, rules: &Rules, effects: &mut Vec<Effect>) {
        let DueStep { level, mut claim, by, early } = step;
        let enforced = !rules.dry_run;
        // The call in question is answered with a nudge or a hold instead of a result.
        let denies =
            evaluation.pending && !early && enforced && level >= InterventionLevel::Nudge && !claim.calls.is_empty();
        claim.denied += u32::from(denies);
        let context = CallContext::new(self, evaluation.focus, evaluation.pending);
        let name = by.name(rules);
        let wording = match by {
            PatternRef::Pattern(pattern) => {
                let mut wording = (pattern.describe)(&context, &claim);
                wording.sentence.push_str(&denied_sentence(claim.denied));
                wording
            }
            // It counts attempts, whether or not they ran.
            PatternRef::Custom(at) => custom_patterns::wording(&context, &claim, &rules.custom[at]),
        };
        let outlives_edits = by.outlives_edits();
        let finding = build_finding::build(&context, &name, &claim, &wording, evaluation);
        let message = match level {
            InterventionLevel::Nudge => wording.nudge_text(),
            _ => wording.pause_text(),
        };
        match level {
            InterventionLevel::Nudge if enforced => self.counters.nudges += 1,
            InterventionLevel::Pause if enforced => self.counters.pauses += 1,
            _ => {}
        }
        let is_new = self.findings_mut().record_step(&name, &claim, level, &finding);
        self.counters.findings += u64::from(is_new);
        if level == InterventionLevel::Nudge && enforced {
            let mut nudge = PendingNudge::new(&finding, &message, claim.nudge_target, outlives_edits);
            nudge.expected = early.then_some(claim.outcome);
            self.findings_mut().queue_nudge(nudge);
        }
        self.strip.record_finding(finding.evidence.iter().map(|evidence| evidence.call));
        let alert = level >= InterventionLevel::Pause;
        effects.push(Effect::Intervened(Intervention {
            level,
            finding: finding.clone(),
            message,
            alert,
            dry_run: rules.dry_run,
        }));
        if level == InterventionLevel::Pause && enforced && matches!(self.state, SessionState::Active) {
            let incident = Incident {
                id: finding.id.replacen("fnd-", "inc-", 1),
                session: self.key.clone(),
                level,
                sentence: finding.sentence.clone(),
                finding: Some(finding),
                opened_at: evaluation.at,
                acknowledged_at: None,
                closed_at: None,
            };
            self.state = SessionState::Paused {
                incident: incident.id.clone(),
                since: evaluation.at,
                until: None,
                gate: ResumeCondition::Operator,
            };
            self.open_incident(incident, effects);
        }
    }
}

impl PendingNudge {
    fn new(finding: &Finding, message: &str, nudge_target: NudgeTarget, outlives_edits: bool) -> Self {
        Self {
            finding: finding.id.clone(),
            message: message.to_owned(),
            nudge_target,
            outlives_edits,
            call: finding.call,
            expected: None,
        }
    }
}
