//! What the fuzz targets share.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

use belay_agents::transcript::Format;
use belay_core::{Event, Rules, Session};

/// Reads `data` as session files of one agent and takes every event into a session: whatever stands
/// in a file, nothing panics, every event is bounded and the session stays below its limit.
pub fn read(agent: &str, data: &[u8]) {
    let agent = belay_agents::agent(agent).expect("a known agent");
    for format in agent.formats {
        read_as(*format, data);
    }
}

/// As [`read`], for one format.
pub fn read_as(format: &dyn Format, data: &[u8]) {
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.write(data);
        let mut sessions: Vec<Session> = Vec::new();
        let _ = format.read(&scratch.path, &mut |event: Event| {
            let at = sessions.iter().position(|s| s.key == event.session);
            let at = at.unwrap_or_else(|| {
                sessions.push(Session::new(event.session.clone()));
                sessions.len() - 1
            });
            let json = serde_json::to_vec(&event).expect("an event serialises");
            assert!(json.len() < 32 * 1024, "an event is bounded, this one has {} bytes", json.len());
            sessions[at].apply(&event, &scratch.rules);
        });
        for session in &sessions {
            let json = serde_json::to_vec(session).expect("a session serialises");
            assert!(json.len() <= belay_core::session::MAX_SESSION_BYTES, "{} bytes", json.len());
        }
    });
}

struct Scratch {
    path: PathBuf,
    rules: Rules,
}

impl Scratch {
    fn write(&mut self, data: &[u8]) {
        let mut file = std::fs::File::create(&self.path).expect("a scratch file");
        file.write_all(data).expect("room for a scratch file");
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        path: std::env::temp_dir().join(format!("belay-fuzz-{}.jsonl", std::process::id())),
        rules: Rules::default(),
    });
}
