//! What sensors tell of the work itself: file contents, checks, commits, tasks. Some of it belongs to a
//! call; what does not (a file watcher's, a test reporter's) stands in the window on its own.

use super::Session;
use super::call::{Answer, Call, Mark, Traits, few_words};
use super::evidence::{mix, occasion};
use crate::action::ToolKind;
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::Effect;
use crate::event::{CheckRan, Event, FileChanged, Source};
use crate::outcome::Status;
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
        let target = call.and_then(|at| self.window.get(at)).map_or(Mark::from(path), |call| call.target);
        if let Some(before) = change.before {
            self.contents.see(target, Mark::from(before), ordinal);
        }
        let known = change.after.is_some();
        let new = known
            && self.contents.see(target, Mark::from(content), ordinal)
            && self.seen.insert(mix(9, path.0, content.0));
        self.asks.changed(Mark::from(path));
        match call {
            // The content tells more than the request that led to it.
            Some(at) if known => {
                if let Some(call) = self.window.get_mut(at) {
                    call.traits.set(Traits::NEW_CHANGE, new);
                }
            }
            Some(_) => {}
            None => {
                let (batch_at, what) = (event.at, few_words(&change.path));
                let key = Digest(mix(10, path.0, content.0).0);
                self.window.observe(|batch| Call {
                    traits: Traits::MUTATES.and(Traits::OBSERVED).and(if new {
                        Traits::NEW_CHANGE
                    } else {
                        Traits::default()
                    }),
                    answer: Some(Answer::bare(Status::Ok)),
                    target,
                    ..Call::observed(latest, batch, ToolKind::Edit, key, batch_at, what)
                });
            }
        }
        if new {
            self.tracks.changed();
            self.talk.changed();
            self.progressed();
        }
        // A watcher also sees checkouts and stashes, which come back by design.
        if event.source != Source::Watcher {
            self.examine(occasion(Trigger::Changed, call.unwrap_or_else(|| self.newest()), event), rules, effects);
        }
    }

    pub(super) fn check_ran(&mut self, event: &Event, check: &CheckRan, rules: &Rules, effects: &mut Vec<Effect>) {
        let Some(ok) = check.ok else { return };
        let mut names = check.failing.iter().map(|name| Digest::of(name).0);
        let failing = (!check.failing.is_empty()).then(|| Digest(names.by_ref().fold(1, |sum, name| sum ^ name)));
        let failure = check.failure.or(failing);
        if let Some(failure) = failure.filter(|_| !ok) {
            self.asks.failed(Mark::from(failure));
        }
        if ok {
            self.progressed();
        }
        let known = check.call.as_deref().and_then(|id| self.window.position(id));
        if let Some(call) = known.and_then(|at| self.window.get_mut(at)) {
            call.traits.set(Traits::CHECK, true);
            call.traits.set(Traits::PASSED, ok);
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
        let what = if command.is_empty() { few_words("a check") } else { few_words(command) };
        let brief = match (ok, check.failing.first()) {
            (true, _) => few_words("passed"),
            (false, Some(first)) => few_words(&format!("{} failed, among them {first}", check.failed.unwrap_or(1))),
            (false, None) => few_words("failed"),
        };
        let at = event.at;
        self.window.observe(|batch| Call {
            traits: Traits::CHECK.and(Traits::OBSERVED).and(if ok { Traits::PASSED } else { Traits::default() }),
            answer: Some(Answer {
                digest: outcome,
                failing: failing.into(),
                failure: failure.into(),
                family: failure.into(),
                brief,
                ..Answer::bare(if ok { Status::Ok } else { Status::Error })
            }),
            ..Call::observed(latest, batch, ToolKind::Shell, key, at, what)
        });
        let newest = self.newest();
        self.settle(newest, rules);
        self.examine(occasion(Trigger::Answered, newest, event), rules, effects);
    }
}
