//! Keeps names and ids short. Long texts are excerpts and outputs digests by construction; but a
//! file may hold anything, and an event stays small whatever stands in it.

use belay_core::event::{Body, Event};
use belay_core::key::MAX_ID_BYTES;
use belay_core::{Digest, SessionKey};

/// Longest folder or path.
const MAX_PATH_BYTES: usize = 2048;
/// Longest name or short word: a model, a version, a reason.
const MAX_NAME_BYTES: usize = 256;

/// Shortens what is too long. What is cut stays distinct: it ends in a digest of the whole.
pub(super) fn bound(event: &mut Event) {
    cut(&mut event.id, MAX_ID_BYTES);
    key(&mut event.session);
    if let Some(parent) = &mut event.parent {
        key(parent);
    }
    some(&mut event.batch, MAX_ID_BYTES);
    some(&mut event.cwd, MAX_PATH_BYTES);
    match &mut event.body {
        Body::SessionStarted(start) => {
            for path in [&mut start.project, &mut start.transcript, &mut start.task] {
                some(path, MAX_PATH_BYTES);
            }
            for name in [&mut start.model, &mut start.agent_version, &mut start.branch] {
                some(name, MAX_NAME_BYTES);
            }
        }
        Body::SessionEnded(end) => some(&mut end.reason, MAX_NAME_BYTES),
        Body::ToolCalled(call) => {
            some(&mut call.call, MAX_ID_BYTES);
            cut(&mut call.tool.name, MAX_NAME_BYTES);
        }
        Body::ToolReturned(result) => some(&mut result.call, MAX_ID_BYTES),
        Body::Learned(fact) => {
            some(&mut fact.call, MAX_ID_BYTES);
            some(&mut fact.response, MAX_ID_BYTES);
            some(&mut fact.model, MAX_NAME_BYTES);
        }
        Body::FileChanged(change) => {
            cut(&mut change.path, MAX_PATH_BYTES);
            some(&mut change.call, MAX_ID_BYTES);
        }
        Body::Committed(commit) => cut(&mut commit.sha, MAX_NAME_BYTES),
        Body::ModelAnswered(answer) => {
            some(&mut answer.response, MAX_ID_BYTES);
            some(&mut answer.request, MAX_ID_BYTES);
            some(&mut answer.model, MAX_NAME_BYTES);
            some(&mut answer.stop, MAX_NAME_BYTES);
        }
        Body::SubAgentStarted(sub) | Body::SubAgentEnded(sub) => {
            key(&mut sub.child);
            some(&mut sub.role, MAX_NAME_BYTES);
        }
        _ => {}
    }
}

fn key(key: &mut SessionKey) {
    for (name, limit) in [(&mut key.agent, MAX_NAME_BYTES), (&mut key.id, MAX_ID_BYTES)] {
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
    const ELLIPSIS: usize = 17;
    if text.len() > limit {
        let digest = Digest::of(text.as_bytes());
        text.truncate(text.floor_char_boundary(limit - ELLIPSIS));
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
