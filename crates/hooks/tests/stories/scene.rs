//! A temporary store, an agent's hook calls, and their replies.

use std::cell::RefCell;
use std::path::Path;

use belay_core::event::OperatorDecision;
use belay_core::{SessionKey, Timestamp};
use belay_engine::{Engine, EngineOptions};
use belay_hooks::{HookHost, HookState, handle_hook};
use belay_ipc::{HookRequest, HookResponse};
use belay_store::{Access, StoreUrl};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

pub(crate) struct Scene {
    dir: tempfile::TempDir,
    pub(crate) engine: RefCell<Engine>,
    desk: HookState,
    told: u64,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("project/.git")).unwrap();
        let engine = open(dir.path());
        Self { dir, engine, desk: HookState::default(), told: 0 }
    }

    /// Simulates a restart of all processes.
    pub(crate) fn restart(&mut self) {
        self.engine = open(self.dir.path());
        self.desk = HookState::default();
    }

    pub(crate) fn path(&self, below: &str) -> String {
        self.dir.path().join("project").join(below).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, below: &str, text: &str) -> String {
        let path = self.path(below);
        std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The next hook call of an agent.
    pub(crate) fn ask(&mut self, agent: &str, event: &str, mut payload: Value) -> HookRequest {
        self.told += 1;
        let cwd = self.dir.path().join("project").to_str().unwrap().to_owned();
        payload["cwd"] = cwd.into();
        HookRequest {
            id: format!("hook-{}", self.told),
            agent: agent.to_owned(),
            event: Some(event.to_owned()),
            payload: to_raw_value(&payload).unwrap(),
            at: Timestamp::parse("2026-11-15T18:00:00Z").unwrap() + std::time::Duration::from_secs(self.told),
            ..HookRequest::default()
        }
    }

    pub(crate) fn tell(&mut self, agent: &str, event: &str, payload: Value) -> Value {
        let ask = self.ask(agent, event, payload);
        said(&self.give(&ask))
    }

    pub(crate) fn give(&mut self, ask: &HookRequest) -> HookResponse {
        self.give_to(ask, &())
    }

    pub(crate) fn give_to(&mut self, ask: &HookRequest, host: &dyn HookHost) -> HookResponse {
        handle_hook(&self.desk, &self.engine, ask, host)
    }

    /// What the resident process does every second.
    pub(crate) fn poll(&self) {
        self.desk.poll_session_files(&self.engine);
    }

    /// A hook call of Claude Code.
    pub(crate) fn claude(&mut self, event: &str, mut payload: Value) -> Value {
        payload["hook_event_name"] = event.into();
        if payload["session_id"].is_null() {
            payload["session_id"] = "s1".into();
        }
        self.tell("claude-code", event, payload)
    }

    /// A command that always fails the same way; returns the reply before it ran.
    pub(crate) fn failing_command(&mut self, call: u32) -> Value {
        let id = format!("toolu_{call}");
        let input = json!({ "command": "npm test" });
        let answer = self.claude("PreToolUse", json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": id }));
        if answer.is_null() {
            let error = "Exit code 1\nError: Cannot find module 'x'";
            self.claude(
                "PostToolUseFailure",
                json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": id, "error": error }),
            );
        }
        answer
    }

    pub(crate) fn decide(&mut self, session: &SessionKey, decision: OperatorDecision) {
        self.engine.get_mut().decide(session, decision, "", None).unwrap();
    }

    /// Why a decision is refused.
    pub(crate) fn refusal(&mut self, session: &SessionKey, decision: OperatorDecision) -> String {
        self.engine.get_mut().decide(session, decision, "", None).unwrap_err().to_string()
    }

    pub(crate) fn events(&self, session: &SessionKey) -> u64 {
        self.engine.borrow().store().unwrap().session(session).unwrap().map_or(0, |row| row.version)
    }
}

fn open(dir: &Path) -> RefCell<Engine> {
    let store = belay_store::open(&StoreUrl::local(dir.join("belay.db")), Access::Write).unwrap();
    RefCell::new(Engine::new(store, EngineOptions::default()))
}

/// The JSON of a reply; null if it is empty.
pub(crate) fn said(answer: &HookResponse) -> Value {
    if answer.stdout.is_empty() { Value::Null } else { serde_json::from_str(&answer.stdout).unwrap() }
}

pub(crate) fn key(agent: &str, id: &str) -> SessionKey {
    SessionKey::new(agent, id)
}

pub(crate) fn resume() -> OperatorDecision {
    OperatorDecision::RESUME
}
