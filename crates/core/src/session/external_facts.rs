//! What sensors tell of the work itself: file contents, checks, commits, tasks. Some of it belongs to a
//! call; what does not (a file watcher's, a test reporter's) stands in the window on its own.

use super::Session;
use super::call::{Call, CallFlags, CallResult, ShortDigest, shorten};
use super::evidence::{evaluation_trigger, seen_key};
use crate::action::ToolKind;
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::Effect;
use crate::event::{CheckRan, Event, FileChanged, Source};
use crate::outcome::CallStatus;
use crate::rules::Rules;

impl Session {
    pub(super) fn file_changed(
        &mut self,
        event: &Event,
        change: &FileChanged,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        let path = Digest::of(&change.path);
        let call = change.call.as_deref().and_then(|id| self.window.position(id));
        let content = change.after.unwrap_or(Digest(0));
        let latest = self.counters.calls.saturating_sub(1);
        let ordinal = call.and_then(|at| self.window.get(at)).map_or(latest, |call| call.ordinal);
        let target = call.and_then(|at| self.window.get(at)).map_or(ShortDigest::from(path), |call| call.target);
        if let Some(before) = change.before {
            self.contents.record(target, ShortDigest::from(before), ordinal);
        }
        let known = change.after.is_some();
        let new = known
            && self.contents.record(target, ShortDigest::from(content), ordinal)
            && self.seen.insert(seen_key(9, path.0, content.0));
        self.asks.on_file_changed(ShortDigest::from(path));
        match call {
            // The content tells more than the request that led to it.
            Some(at) if known => {
                if let Some(call) = self.window.get_mut(at) {
                    call.traits.set(CallFlags::NEW_CHANGE, new);
                }
            }
            Some(_) => {}
            None => {
                let (batch_at, what) = (event.at, shorten(&change.path));
                let key = Digest(seen_key(10, path.0, content.0).0);
                self.window.observe(|batch| Call {
                    traits: CallFlags::MUTATES.and(CallFlags::EXTERNAL).and(if new {
                        CallFlags::NEW_CHANGE
                    } else {
                        CallFlags::default()
                    }),
                    answer: Some(CallResult::is_bare(CallStatus::Ok)),
                    target,
                    ..Call::observed(latest, batch, ToolKind::Edit, key, batch_at, what)
                });
            }
        }
        if new {
            self.tracks.on_change();
            self.talk.on_change();
            self.mark_progress();
        }
        // A watcher also sees checkouts and stashes, which come back by design.
        if event.source != Source::Watcher {
            self.evaluate(
                evaluation_trigger(Trigger::Changed, call.unwrap_or_else(|| self.last_call_index()), event),
                rules,
                effects,
            );
        }
    }

    pub(super) fn check_ran(&mut self, event: &Event, check: &CheckRan, rules: &Rules, effects: &mut Vec<Effect>) {
        let Some(ok) = check.ok else { return };
        let mut names = check.failing.iter().map(|name| Digest::of(name).0);
        let failing = (!check.failing.is_empty()).then(|| Digest(names.by_ref().fold(1, |sum, name| sum ^ name)));
        let failure = check.failure.or(failing);
        if let Some(failure) = failure.filter(|_| !ok) {
            self.asks.on_failure(ShortDigest::from(failure));
        }
        if ok {
            self.mark_progress();
        }
        let known = check.call.as_deref().and_then(|id| self.window.position(id));
        if let Some(call) = known.and_then(|at| self.window.get_mut(at)) {
            call.traits.set(CallFlags::CHECK, true);
            call.traits.set(CallFlags::PASSED, ok);
            if let Some(answer) = &mut call.answer
                && let Some(failing) = failing
            {
                answer.failing = failing.into();
            }
            return;
        }
        let latest = self.counters.calls.saturating_sub(1);
        let command = check.command.as_str();
        let key = Digest::of_parts([b"check", command.as_bytes(), &[check.check as u8]]);
        let outcome = failure.unwrap_or_else(|| Digest::of([u8::from(ok)]));
        let what = if command.is_empty() { shorten("a check") } else { shorten(command) };
        let brief = match (ok, check.failing.first()) {
            (true, _) => shorten("passed"),
            (false, Some(first)) => shorten(&format!("{} failed, among them {first}", check.failed.unwrap_or(1))),
            (false, None) => shorten("failed"),
        };
        let at = event.at;
        self.window.observe(|batch| Call {
            traits: CallFlags::CHECK.and(CallFlags::EXTERNAL).and(if ok {
                CallFlags::PASSED
            } else {
                CallFlags::default()
            }),
            answer: Some(CallResult {
                digest: outcome,
                failing: failing.into(),
                failure: failure.into(),
                family: failure.into(),
                brief,
                ..CallResult::is_bare(if ok { CallStatus::Ok } else { CallStatus::Error })
            }),
            ..Call::observed(latest, batch, ToolKind::Shell, key, at, what)
        });
        let newest = self.last_call_index();
        self.resolve_call(newest, rules);
        self.evaluate(evaluation_trigger(Trigger::Answered, newest, event), rules, effects);
    }
}
