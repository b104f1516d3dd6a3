//! From claims to interventions: the ladder, the nudges that are due, the incidents.

mod track;

pub(crate) use track::deny;
pub use track::{Pending, Track, Tracks};

use crate::detect::patterns::PATTERNS;
use crate::detect::{Claim, Pattern, Trigger, View};
use crate::effect::{Effect, Evidence, Finding, Incident, Intervention, Rung, Spent};
use crate::rules::Rules;
use crate::session::{Gate, Session, State};
use crate::time::Time;

fn trigger_is_call(pattern: &Pattern) -> bool {
    pattern.trigger == Trigger::Answered
}

/// The step a claim is worth.
fn rung(rules: &Rules, pattern: &Pattern, claim: &Claim, asked: bool) -> Option<Rung> {
    let ladder = rules.ladder.of((pattern.rule)(&rules.patterns));
    // What is only asked for may still end differently: before the weaker mark it is no evidence.
    let early = asked && claim.count < ladder.nudge_weak_at;
    let due = |at: u32| at != 0 && claim.count >= at && !early;
    if due(ladder.pause(claim.strength)) {
        Some(Rung::Pause)
    } else if due(ladder.nudge(claim.strength)) {
        Some(Rung::Nudge)
    } else if due(ladder.notice_at) {
        Some(Rung::Notice)
    } else {
        None
    }
}

impl Session {
    /// Asks every pattern about the call at `focus` and takes the one step that is due.
    pub(crate) fn examine(
        &mut self,
        trigger: Trigger,
        focus: usize,
        asked: bool,
        at: Time,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let mut best: Option<(Rung, &'static Pattern, Claim)> = None;
        let view = View { session: self, focus, asked };
        for pattern in PATTERNS.iter().filter(|pattern| pattern.trigger == trigger) {
            let rule = (pattern.rule)(&rules.patterns);
            if !rule.enabled {
                continue;
            }
            let Some(claim) = (pattern.look)(&view, rule) else { continue };
            let Some(rung) = rung(rules, pattern, &claim, asked && trigger == Trigger::Answered)
                .and_then(|rung| self.tracks().step(rules, pattern, &claim, rung))
            else {
                continue;
            };
            if best.as_ref().is_none_or(|(so_far, ..)| rung > *so_far) {
                best = Some((rung, pattern, claim));
            }
        }
        if let Some((rung, pattern, claim)) = best {
            self.intervene(rung, pattern, &claim, focus, asked, at, rules, effects);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one place brings everything about a step together")]
    fn intervene(
        &mut self,
        rung: Rung,
        pattern: &'static Pattern,
        claim: &Claim,
        focus: usize,
        asked: bool,
        at: Time,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let view = View { session: self, focus, asked };
        let words = (pattern.say)(&view, claim);
        let call = if trigger_is_call(pattern) {
            view.call().map_or(0, |call| call.ordinal)
        } else {
            self.counters.calls.saturating_sub(1)
        };
        let id = Track::finding_id(&self.key, pattern.name, claim);
        let window = self.window();
        let evidence =
            claim.calls.iter().filter_map(|ordinal| window.calls().iter().find(|call| call.ordinal == *ordinal));
        let evidence: Vec<Evidence> = evidence
            .map(|call| Evidence {
                call: call.ordinal,
                id: call.id.as_deref().map(str::to_owned),
                what: call.what.to_string(),
                outcome: call.answer.as_ref().map_or_else(String::new, |answer| answer.brief.to_string()),
                at: call.at,
            })
            .collect();
        let began = evidence.first().map_or(at, |first| first.at);
        let spent = Spent {
            calls: call.saturating_sub(claim.first) + 1,
            millis: u64::try_from(at.since(began).as_millis()).unwrap_or(u64::MAX),
            ..Spent::default()
        };
        let finding = Finding {
            id: id.clone(),
            pattern: pattern.name.to_owned(),
            count: claim.count,
            sentence: words.sentence.clone(),
            unchanged: words.unchanged.clone(),
            progress_would_be: words.progress.to_owned(),
            evidence,
            from_call: claim.first,
            call,
            action: claim.action,
            outcome: claim.outcome,
            spent,
            at,
        };
        let message = match rung {
            Rung::Nudge => words.nudge(),
            _ => words.pause(),
        };
        self.counters.findings += u64::from(rung == Rung::Notice);
        if !rules.dry_run && rung == Rung::Nudge {
            self.counters.nudges += 1;
        }
        self.tracks_mut().took(
            pattern,
            claim,
            call,
            rung,
            &id,
            (rung == Rung::Nudge && !rules.dry_run).then(|| message.clone()),
        );
        let tell_person = rung >= Rung::Pause;
        effects.push(Effect::Intervened(Intervention {
            rung,
            finding: finding.clone(),
            message: message.clone(),
            tell_person,
            dry_run: rules.dry_run,
        }));
        if rung == Rung::Pause && !rules.dry_run && self.state == State::Active {
            self.counters.pauses += 1;
            let incident = Incident {
                id: format!("inc-{}", id.trim_start_matches("fnd-")),
                session: self.key.clone(),
                rung,
                sentence: finding.sentence.clone(),
                finding: Some(finding),
                opened_at: at,
                acknowledged_at: None,
                closed_at: None,
            };
            self.state = State::Paused { incident: incident.id.clone(), since: at, until: None, gate: Gate::Person };
            self.open_incident(incident, effects);
        }
    }
}
