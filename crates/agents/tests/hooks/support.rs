//! Recorded payloads and all verdicts.

use std::path::Path;

use belay_agents::hook::{HookInput, HookProtocol, ParsedHook, protocol};
use belay_core::{Timestamp, Verdict};

/// One recorded payload.
pub(crate) struct Recorded {
    pub(crate) agent: String,
    /// The event it was recorded at, as the file is named.
    pub(crate) event: String,
    /// The file's name without `.json`.
    pub(crate) name: String,
    pub(crate) payload: Vec<u8>,
}

impl Recorded {
    pub(crate) fn protocol(&self) -> &'static dyn HookProtocol {
        protocol(&self.agent, &self.payload).expect("a protocol")
    }

    pub(crate) fn parsed(&self) -> ParsedHook {
        parse_or_default(self.protocol(), &self.event, &self.payload)
    }
}

pub(crate) fn parse_or_default(protocol: &dyn HookProtocol, event: &str, payload: &[u8]) -> ParsedHook {
    let at = Timestamp::parse("2026-11-15T18:00:00Z").expect("a time");
    protocol.parse_or_default(&HookInput { id: "h1", event: Some(event), payload, at, exit_code: None })
}

/// All of them, in the order of their names.
pub(crate) fn recorded() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks/fixtures");
    let mut all = Vec::new();
    for dir in std::fs::read_dir(root).expect("fixtures") {
        let dir = dir.expect("a directory").path();
        let agent = dir.file_name().expect("a name").to_string_lossy().into_owned();
        for file in std::fs::read_dir(dir).expect("files") {
            let path = file.expect("a file").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let event = name.split('-').next().expect("an event").to_owned();
            all.push(Recorded { agent: agent.clone(), event, name, payload: std::fs::read(path).expect("a payload") });
        }
    }
    all.sort_by(|a, b| (&a.agent, &a.name).cmp(&(&b.agent, &b.name)));
    all
}

/// All verdicts by name.
pub(crate) fn verdicts() -> [(&'static str, Verdict); 4] {
    [
        ("go", Verdict::Go),
        ("nudge", Verdict::Nudge { finding: "f-1".into(), message: "NUDGE: it's the same again.".into() }),
        (
            "hold",
            Verdict::Hold {
                incident: "inc-1".into(),
                reason: "HOLD: run `belay resume x`.".into(),
                until: None,
                plan_required: false,
            },
        ),
        ("stop", Verdict::Stop { incident: "inc-1".into(), reason: "STOP: a person killed it.".into() }),
    ]
}
