//! Facts about the work itself: file contents, checks, commits, tasks. Facts without a call (from a file watcher or
//! test reporter) become separate entries in the window.

use super::Session;
use super::by_products;
use super::call::{Call, CallFlags, CallResult, MAX_ID_BYTES, ShortDigest, shorten};
use super::evidence::{evaluation, seen_key};
use crate::action::ToolKind;
use crate::detect::Trigger;
use crate::digest::Digest;
use crate::effect::Effect;
use crate::event::{CheckRan, Event, FileChanged, Source};
use crate::outcome::CallStatus;
use crate::rules::Rules;

impl Session {
    /// A reported change may be of several files.
    pub(super) fn file_changed(
        &mut self,
        event: &Event,
        change: &FileChanged,
        rules: &Rules,
        effects: &mut Vec<Effect>,
    ) {
        self.one_file_changed(event, change, rules, effects);
        let files = event.report.iter().flat_map(|report| &report.files);
        for path in files.filter(|path| **path != change.path) {
            let other = FileChanged { path: path.clone(), ..change.clone() };
            self.one_file_changed(event, &other, rules, effects);
        }
    }

    fn one_file_changed(&mut self, event: &Event, change: &FileChanged, rules: &Rules, effects: &mut Vec<Effect>) {
        if change.call.is_none() && event.report.is_none() && by_products::is_by_product(&change.path) {
            return;
        }
        let path = Digest::from_bytes(&change.path);
        let call = change.call.as_deref().and_then(|id| self.window.position(id));
        let content = change.after.unwrap_or(Digest(0));
        let latest = self.counters.calls.saturating_sub(1);
        let ordinal = call.and_then(|at| self.window.get(at)).map_or(latest, |call| call.ordinal);
        let target = call.and_then(|at| self.window.get(at)).map_or(ShortDigest::from(path), |call| call.target);
        if let Some(before) = change.before {
            self.file_history.record_before(target, ShortDigest::from(before), ordinal);
        }
        let known = change.after.is_some();
        let new = known
            && self.file_history.record(target, ShortDigest::from(content), ordinal)
            && self.seen.insert(seen_key(9, path.0, content.0));
        let written_again = call.is_none() && event.report.is_none() && self.window.is_written_by_each_run(target);
        let new = new && !written_again;
        self.request_history.on_file_changed(ShortDigest::from(path));
        match call {
            // The content is better evidence than the input that led to it.
            Some(at) if known => {
                if let Some(call) = self.window.get_mut(at) {
                    call.flags.set(CallFlags::NEW_CHANGE, new);
                }
            }
            Some(_) => {}
            None => {
                let (batch_at, what) = (event.at, shorten(&change.path));
                let key = Digest(seen_key(10, path.0, content.0).0);
                self.window.observe(|batch| Call {
                    flags: CallFlags::MUTATES
                        .union(CallFlags::EXTERNAL)
                        .with(CallFlags::NEW_CHANGE, new)
                        .with(CallFlags::REPORTED, event.report.is_some()),
                    result: Some(CallResult::status_only(CallStatus::Ok)),
                    target,
                    id: reported_id(event),
                    ..Call::observed(latest, batch, ToolKind::Edit, key, batch_at, what)
                });
            }
        }
        if new {
            self.findings.on_change();
            self.dialogue.on_change();
            self.mark_progress();
        }
        // A watcher also sees checkouts and stashes, which restore contents by design.
        if event.source != Source::Watcher {
            self.evaluate(
                evaluation(Trigger::FileChanged, call.unwrap_or_else(|| self.last_call_index()), event),
                rules,
                effects,
            );
        }
    }

    pub(super) fn check_ran(&mut self, event: &Event, check: &CheckRan, rules: &Rules, effects: &mut Vec<Effect>) {
        let Some(ok) = check.ok else { return };
        let mut names = check.failing.iter().map(|name| Digest::from_bytes(name).0);
        let failing = (!check.failing.is_empty()).then(|| Digest(names.by_ref().fold(1, |sum, name| sum ^ name)));
        let failure = check.failure.or(failing);
        if let Some(failure) = failure.filter(|_| !ok) {
            self.request_history.on_failure(ShortDigest::from(failure));
        }
        if ok {
            self.mark_progress();
        }
        let known = check.call.as_deref().and_then(|id| self.window.position(id));
        if let Some(call) = known.and_then(|at| self.window.get_mut(at)) {
            call.flags.set(CallFlags::CHECK, true);
            call.flags.set(CallFlags::PASSED, ok);
            if let Some(result) = &mut call.result
                && let Some(failing) = failing
            {
                result.failing = failing.into();
            }
            return;
        }
        let latest = self.counters.calls.saturating_sub(1);
        let command = check.command.as_str();
        let key = Digest::of_parts([b"check", command.as_bytes(), &[check.check as u8]]);
        let outcome = failure.unwrap_or_else(|| Digest::from_bytes([u8::from(ok)]));
        let what = if command.is_empty() { shorten("a check") } else { shorten(command) };
        let summary = match (ok, check.failing.first()) {
            (true, _) => shorten("passed"),
            (false, Some(first)) => shorten(&format!("{} failed, among them {first}", check.failed.unwrap_or(1))),
            (false, None) => match event.report.as_ref().map_or("", |report| report.summary.as_str()) {
                "" => shorten("failed"),
                summary => shorten(summary),
            },
        };
        let at = event.at;
        self.window.observe(|batch| Call {
            flags: CallFlags::CHECK
                .union(CallFlags::EXTERNAL)
                .with(CallFlags::PASSED, ok)
                .with(CallFlags::REPORTED, event.report.is_some()),
            id: reported_id(event),
            result: Some(CallResult {
                digest: outcome,
                failing: failing.into(),
                failure: failure.into(),
                family: failure.into(),
                summary,
                ..CallResult::status_only(if ok { CallStatus::Ok } else { CallStatus::Error })
            }),
            ..Call::observed(latest, batch, ToolKind::Shell, key, at, what)
        });
        let newest = self.last_call_index();
        self.resolve_call(newest, rules);
        self.evaluate(evaluation(Trigger::CallUpdated, newest, event), rules, effects);
    }
}

/// The id of a posted event, for the evidence. It is not the id of a call, so nothing is matched by it.
pub(super) fn reported_id(event: &Event) -> Option<Box<str>> {
    event.report.is_some().then_some(event.id.as_str()).filter(|id| id.len() <= MAX_ID_BYTES).map(Box::from)
}
