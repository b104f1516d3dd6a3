//! Keeps names and ids short. Long texts are excerpts and outputs digests by construction; but a
//! file may hold anything, and an event stays small whatever stands in it.

use belay_core::event::{Body, Event};
use belay_core::key::MAX_ID_BYTES;
use belay_core::{Digest, SessionKey};

/// Longest folder or path.
const PATH: usize = 2048;
/// Longest name or short word: a model, a version, a reason.
const NAME: usize = 256;

/// Shortens what is too long. What is cut stays distinct: it ends in a digest of the whole.
pub(super) fn bound(event: &mut Event) {
    cut(&mut event.id, MAX_ID_BYTES);
    key(&mut event.session);
    if let Some(parent) = &mut event.parent {
        key(parent);
    }
    some(&mut event.batch, MAX_ID_BYTES);
    some(&mut event.cwd, PATH);
    match &mut event.body {
        Body::SessionStarted(start) => {
            for path in [&mut start.project, &mut start.transcript, &mut start.task] {
                some(path, PATH);
            }
            for name in [&mut start.model, &mut start.agent_version, &mut start.branch] {
                some(name, NAME);
            }
        }
        Body::SessionEnded(end) => some(&mut end.reason, NAME),
        Body::ToolCalled(call) => {
            some(&mut call.call, MAX_ID_BYTES);
            cut(&mut call.tool.name, NAME);
        }
        Body::ToolReturned(result) => some(&mut result.call, MAX_ID_BYTES),
        Body::Learned(fact) => {
            some(&mut fact.call, MAX_ID_BYTES);
            some(&mut fact.response, MAX_ID_BYTES);
            some(&mut fact.model, NAME);
        }
        Body::FileChanged(change) => {
            cut(&mut change.path, PATH);
            some(&mut change.call, MAX_ID_BYTES);
        }
        Body::Committed(commit) => cut(&mut commit.sha, NAME),
        Body::ModelAnswered(answer) => {
            some(&mut answer.response, MAX_ID_BYTES);
            some(&mut answer.request, MAX_ID_BYTES);
            some(&mut answer.model, NAME);
            some(&mut answer.stop, NAME);
        }
        Body::SubAgentStarted(sub) | Body::SubAgentEnded(sub) => {
            key(&mut sub.child);
            some(&mut sub.role, NAME);
        }
        _ => {}
    }
}

fn key(key: &mut SessionKey) {
    for (name, limit) in [(&mut key.agent, NAME), (&mut key.id, MAX_ID_BYTES)] {
        if name.len() > limit {
            let mut text = name.to_string();
            cut(&mut text, limit);
            *name = text.into();
        }
    }
}

fn some(text: &mut Option<String>, limit: usize) {
    if let Some(text) = text {
        cut(text, limit);
    }
}

fn cut(text: &mut String, limit: usize) {
    const MARK: usize = 17;
    if text.len() > limit {
        let digest = Digest::of(text.as_bytes());
        text.truncate(text.floor_char_boundary(limit - MARK));
        text.push('#');
        text.push_str(&digest.to_string());
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_stay_distinct() {
        let of = |tail: &str| {
            let mut text = "é".repeat(400) + tail;
            cut(&mut text, 256);
            text
        };
        assert!(of("a").len() <= 256);
        assert_ne!(of("a"), of("b"));
        let mut short = "short".to_owned();
        cut(&mut short, 256);
        assert_eq!(short, "short");
    }
}
