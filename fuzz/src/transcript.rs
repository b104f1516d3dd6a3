//! Session files: whatever they contain, every event is bounded and so is the session that they make.

use std::cell::RefCell;
use std::path::PathBuf;

use belay_agents::transcript::TranscriptFormat;
use belay_core::session::MAX_SESSION_BYTES;
use belay_core::{Event, Rules, Session};

use crate::event::to_bounded_json;

/// Reads `data` as a session file of one agent, in each of its formats.
pub(crate) fn agent(name: &str, data: &[u8]) {
    let transcripts = belay_agents::find(name).and_then(|agent| agent.transcripts);
    for format in transcripts.expect("an agent with transcripts").formats {
        self::format(*format, data);
    }
}

/// Reads `data` as a session file of one format.
pub(crate) fn format(format: &dyn TranscriptFormat, data: &[u8]) {
    SCRATCH.with_borrow_mut(|scratch| {
        std::fs::write(&scratch.path, data).expect("a scratch file");
        let mut sessions: Vec<Session> = Vec::new();
        let _ = format.read(&scratch.path, &mut |event: Event| {
            to_bounded_json(&event);
            let at = sessions.iter().position(|session| session.key == event.session).unwrap_or_else(|| {
                sessions.push(Session::new(event.session.clone()));
                sessions.len() - 1
            });
            sessions[at].apply(&event, &scratch.rules);
        });
        for session in &sessions {
            let json = serde_json::to_vec(session).expect("a session serializes");
            assert!(json.len() <= MAX_SESSION_BYTES, "{} bytes", json.len());
        }
    });
}

struct Scratch {
    path: PathBuf,
    rules: Rules,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        path: std::env::temp_dir().join(format!("belay-fuzz-{}.jsonl", std::process::id())),
        rules: Rules::default(),
    });
}
