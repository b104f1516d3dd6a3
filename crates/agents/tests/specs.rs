//! Completeness of the specs: every agent has every part, or a reason why not.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_agents::hook::{HookEncoder, HookInput, HookPoint, HookReply, ParsedHook};
use belay_agents::install::{BelayCommand, FileChange, InstallContext, Scope};
use belay_agents::launch::{LaunchContext, launch};
use belay_agents::spec::Part;
use belay_agents::wire::{RequestHead, recognise};
use belay_agents::{AGENTS, AgentSpec, UserDirs, detect_format};
use belay_core::Timestamp;
use belay_core::event::Body;
use serde_json::{Value, json};

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn workspace_root() -> PathBuf {
    crate_root().join("../..")
}

/// The agent's name in directories and targets: `claude_code`.
fn module_name(agent: &AgentSpec) -> String {
    agent.id.replace('-', "_")
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn ids_and_aliases_are_unique_ignoring_case() {
    let mut seen = BTreeSet::new();
    for agent in AGENTS {
        for name in agent.aliases.iter().chain([&agent.id]) {
            assert!(seen.insert(name.to_ascii_lowercase()), "{name} names two agents");
        }
    }
}

#[test]
fn exactly_the_absent_parts_have_a_reason() {
    for agent in AGENTS {
        for part in Part::ALL {
            let reasons: Vec<&str> =
                agent.absent.iter().filter(|(absent, _)| absent == part).map(|(_, reason)| *reason).collect();
            let expected = usize::from(!agent.has(*part));
            assert_eq!(reasons.len(), expected, "{} {part:?}: {reasons:?}", agent.id);
            assert!(reasons.iter().all(|reason| !reason.is_empty()), "{} {part:?}", agent.id);
        }
    }
}

#[test]
fn installers_and_wire_clients_name_their_agent() {
    for agent in AGENTS {
        if let Some(hooks) = agent.hooks {
            assert_eq!(hooks.installer.agent(), agent.id);
        }
        if let Some(wire) = agent.wire {
            assert_eq!(wire.agent(), agent.id);
        }
        for format in agent.transcript_formats() {
            assert_eq!(format.agent(), agent.id);
        }
    }
}

/// Registered events without a recorded payload. A constructed payload stands in for it.
const UNRECORDED: &[(&str, &[&str])] = &[
    ("codex", &["PermissionRequest", "PreCompact", "SubagentStop"]),
    ("copilot", &["preCompact", "notification"]),
    ("gemini", &["BeforeModel", "Notification"]),
    ("qwen", &["SessionEnd", "PermissionRequest", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact"]),
];

/// A payload with every field that a protocol may require.
fn constructed_payload(event: &str) -> Vec<u8> {
    let payload = json!({
        "hook_event_name": event,
        "session_id": "s-1",
        "agent_id": "a-1",
        "tool_name": "Bash",
        "tool_input": { "command": "ls" },
        "tool_use_id": "t-1",
    });
    payload.to_string().into_bytes()
}

#[test]
fn every_registered_event_parses_to_its_declared_hook_point() {
    for agent in AGENTS {
        let Some(hooks) = agent.hooks else { continue };
        let unrecorded = UNRECORDED.iter().find(|(id, _)| *id == agent.id).map_or(&[][..], |(_, events)| events);
        let dir = crate_root().join("tests/hooks/fixtures").join(agent.id);
        for event in hooks.events {
            let fixture = dir.join(format!("{}.json", event.name));
            let payload = match std::fs::read(&fixture) {
                Ok(payload) => {
                    assert!(!unrecorded.contains(&event.name), "{} {} has a fixture now", agent.id, event.name);
                    payload
                }
                Err(_) => {
                    assert!(unrecorded.contains(&event.name), "{} is missing", fixture.display());
                    constructed_payload(event.name)
                }
            };
            let at = Timestamp::parse("2026-11-15T18:00:00Z").expect("a time");
            let input = HookInput { id: "h1", event: Some(event.name), payload: &payload, at, exit_code: None };
            let parsed = hooks.protocol.parse_or_default(&input);
            assert!(parsed.session.is_some(), "{} ignores {}", agent.id, event.name);
            assert_eq!(parsed.point, event.point, "{} {}", agent.id, event.name);
        }
    }
}

/// A recorded answer reaches the agent only if the agent still waits for the hook.
#[test]
fn an_agent_that_continues_waits_for_the_hook_at_the_end_of_its_turn() {
    for agent in AGENTS {
        let Some(hooks) = agent.hooks else { continue };
        let mut ends = hooks.events.iter().filter(|event| event.point == HookPoint::TurnEnd);
        let (Some(end), None) = (ends.next(), ends.next()) else { panic!("{} has one end of a turn", agent.id) };
        let parsed = ParsedHook { point: end.point, event: end.name, ..ParsedHook::default() };
        let reply = HookReply { continuation: Some("go on"), ..HookReply::ALLOW };
        let said = HookEncoder::new(hooks.protocol, &parsed).reply(&reply);
        assert_eq!(hooks.continuation.is_some(), said.contains("go on"), "{}: {said}", agent.id);
        if let Some(continuation) = hooks.continuation {
            assert!(end.timeout >= continuation.hold + Duration::from_secs(30), "{}", agent.id);
        }
    }
}

/// Files in memory.
#[derive(Default)]
struct Files(RefCell<BTreeMap<PathBuf, String>>);

impl Files {
    fn apply(&self, changes: Vec<FileChange>) {
        for change in changes {
            match change.after {
                Some(text) => drop(self.0.borrow_mut().insert(change.path, text)),
                None => drop(self.0.borrow_mut().remove(&change.path)),
            }
        }
    }
}

#[test]
fn removal_after_installation_restores_the_bytes() {
    let dirs = UserDirs::with_home("/home/user");
    for agent in AGENTS {
        let Some(hooks) = agent.hooks else { continue };
        for scope in [Scope::User, Scope::Project] {
            let files = Files::default();
            let read = |path: &Path| -> io::Result<Option<String>> { Ok(files.0.borrow().get(path).cloned()) };
            let context = InstallContext {
                dirs: &dirs,
                scope,
                project: Path::new("/work/project"),
                belay: &BelayCommand::new("/usr/bin/belay"),
                read: &read,
            };
            // Settings of the user's own in every JSON file that the installer writes; the other files are Belay's.
            for change in hooks.installer.install(&context).expect("a plan") {
                if change.path.extension().is_some_and(|extension| extension == "json") {
                    files.0.borrow_mut().insert(change.path, "{\n  // Mine.\n  \"theme\": \"dark\"\n}\n".to_owned());
                }
            }
            let before = files.0.borrow().clone();
            files.apply(hooks.installer.install(&context).expect("a plan"));
            assert_ne!(*files.0.borrow(), before, "{} {scope:?}", agent.id);
            assert_eq!(hooks.installer.install(&context).expect("a plan"), [], "{} {scope:?} again", agent.id);
            files.apply(hooks.installer.remove(&context).expect("a plan"));
            let left = files.0.borrow().clone();
            for (path, text) in &before {
                let left = left.get(path).map(String::as_str).unwrap_or_default();
                let without_version = left.replace(",\n  \"version\": 1", "");
                assert_eq!(without_version, *text, "{} {scope:?} {}", agent.id, path.display());
            }
            assert!(left.values().all(|text| !text.contains("belay")), "{} {scope:?}: {left:?}", agent.id);
        }
    }
}

#[test]
fn launchers_register_the_declared_events() {
    for agent in AGENTS {
        let (Some(hooks), Some(_)) = (agent.hooks, agent.launch) else { continue };
        let home = tempfile::tempdir().expect("a directory");
        let user = UserDirs::with_home(home.path());
        let context = LaunchContext {
            proxy: None,
            agent: agent.id,
            run: "0190-run",
            belay: Some(&BelayCommand::new("/usr/bin/belay")),
            user: &user,
            args: &[] as &[OsString],
            dir: home.path(),
            scratch: Path::new("/state/runs/0190-run"),
        };
        let command = launch(&context);
        let args = command.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let text: String = args.chain(command.files.iter().map(|(_, text)| text.clone())).collect();
        for event in hooks.events {
            // Copilot's plugin uses Claude Code's names, two of which are not Copilot's with a capital letter.
            let claude_name = match event.name {
                "userPromptSubmitted" => "UserPromptSubmit".to_owned(),
                "agentStop" => "Stop".to_owned(),
                name => name[..1].to_ascii_uppercase() + &name[1..],
            };
            let spellings =
                [format!("\"{}\"", event.name), format!("\"{claude_name}\""), format!("hooks.{}=", event.name)];
            assert!(spellings.iter().any(|name| text.contains(name)), "{} lacks {}: {text}", agent.id, event.name);
        }
        // A plugin in code registers its events itself; settings have one command per event.
        let commands = text.matches(&format!("belay hook {}", agent.id)).count();
        assert!(commands == 0 || commands == hooks.events.len(), "{}: {commands} hooks", agent.id);
    }
}

/// A fixture as the agent stores it: a dump of a database becomes that database.
fn materialise(fixture: &Path, dir: &Path) -> PathBuf {
    if fixture.extension().is_none_or(|extension| extension != "sql") {
        return fixture.to_owned();
    }
    let path = dir.join(fixture.with_extension("db").file_name().expect("a name"));
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(&std::fs::read_to_string(fixture).expect("readable")).expect("valid SQL");
    path
}

fn fixtures(agent: &AgentSpec) -> Vec<PathBuf> {
    files_below(&crate_root().join("tests/fixtures").join(module_name(agent)))
}

#[test]
fn every_transcript_format_has_fixtures_goldens_and_a_fuzz_target() {
    let goldens = files_below(&crate_root().join("tests/readers/snapshots"));
    let fuzz: String = files_below(&workspace_root().join("fuzz/src"))
        .iter()
        .map(|path| format!("{}\n{}", path.display(), std::fs::read_to_string(path).unwrap_or_default()))
        .collect();
    for agent in AGENTS.iter().filter(|agent| agent.transcripts.is_some()) {
        let name = module_name(agent);
        assert!(!fixtures(agent).is_empty(), "{name} has no fixtures");
        let golden = format!("readers__goldens__{name}__");
        let is_golden = |path: &PathBuf| path.to_string_lossy().contains(&golden);
        assert!(goldens.iter().any(is_golden), "{name} has no golden");
        assert!(fuzz.contains(&format!("transcript_{name}")), "{name} has no fuzz target");
    }
}

#[test]
fn exactly_one_format_recognises_each_fixture() {
    for agent in AGENTS {
        for fixture in fixtures(agent) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = materialise(&fixture, dir.path());
            let bytes = std::fs::read(&path).expect("readable");
            let head = &bytes[..bytes.len().min(belay_agents::transcript::HEAD_BYTES)];
            let formats = belay_agents::transcript::all_formats().filter(|format| format.recognises(&path, head));
            let agents: Vec<&str> = formats.map(|format| format.agent()).collect();
            assert_eq!(agents, [agent.id], "{}", fixture.display());
        }
    }
}

/// Tools in fixtures that belong to MCP servers and carry no prefix.
const MCP_TOOLS: &[(&str, &str)] = &[("codex", "ask_question")];

#[test]
fn every_tool_in_a_fixture_is_in_its_agents_table() {
    let mut missing = Vec::new();
    for agent in AGENTS {
        for fixture in fixtures(agent) {
            let dir = tempfile::tempdir().expect("a directory");
            let path = materialise(&fixture, dir.path());
            let format = detect_format(&path).expect("readable").expect("a known format");
            let mut names = BTreeSet::new();
            let mut collect = |event: belay_core::Event| {
                if let Body::ToolCalled(call) = event.body {
                    names.insert(call.tool.name.to_string());
                }
            };
            format.read(&path, &mut collect).expect("readable");
            let is_missing = |name: &String| {
                agent.tools.kind_of(name, &Value::Null).is_none() && !MCP_TOOLS.contains(&(agent.id, name))
            };
            missing.extend(names.into_iter().filter(is_missing).map(|name| format!("{} {name}", agent.id)));
        }
    }
    assert!(missing.is_empty(), "not in the tables: {missing:?}");
}

struct Head(&'static [(&'static str, &'static str)]);

impl RequestHead for Head {
    fn header(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn path(&self) -> &str {
        "/v1/messages"
    }
}

/// Headers of recorded requests. An agent with a client but without an entry sends nothing that identifies it.
const RECORDED_HEADS: &[(&str, Head)] = &[
    (
        "claude-code",
        Head(&[("user-agent", "claude-cli/2.1.325 (external, sdk-cli)"), ("x-claude-code-session-id", "a2b1")]),
    ),
    ("codex", Head(&[("user-agent", "codex_exec/0.166.0 (Debian 12.0.0; x86_64)"), ("thread-id", "01a1")])),
    ("copilot", Head(&[("user-agent", "OpenAI/JS 5.20.1"), ("x-initiator", "user")])),
    ("gemini", Head(&[("user-agent", "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)")])),
    ("opencode", Head(&[("user-agent", "opencode/1.18.33 ai-sdk/x"), ("x-session-id", "ses_e1fa")])),
    ("qwen", Head(&[("user-agent", "QwenCode/0.24.4 (linux; x64)")])),
];

#[test]
fn a_recorded_head_is_identified_by_its_client_only() {
    for (id, head) in RECORDED_HEADS {
        for agent in AGENTS {
            let identified = agent.wire.is_some_and(|wire| wire.identify(head).is_some());
            assert_eq!(identified, agent.id == *id, "a head of {id} for {}", agent.id);
        }
        assert_eq!(recognise(head).0.agent(), *id);
    }
}

#[test]
fn the_documentation_has_a_row_for_every_agent() {
    let read = |path: &str| std::fs::read_to_string(workspace_root().join(path)).expect("a document");
    let documents =
        [("README.md", None), ("docs/guides/hooks.md", Some(Part::Hooks)), ("docs/guides/run.md", Some(Part::Launch))];
    for (path, part) in documents {
        let text = read(path);
        for agent in AGENTS.iter().filter(|agent| part.is_none_or(|part| agent.has(part))) {
            let row = format!("| {} |", agent.display_name);
            assert!(text.lines().any(|line| line.starts_with(&row)), "{path} has no row for {}", agent.display_name);
        }
    }
}

/// Literals that equal an agent's name and mean something else.
const OTHER_MEANINGS: &[(&str, &[&str], &str)] = &[
    ("proxy", &["gemini", "codex"], "upstreams and their routes"),
    ("compat", &["claude-code", "codex"], "the two agents that loop alternates"),
];

/// Crates that only serve tests.
const TEST_CRATES: &[&str] = &["agent-tests", "scripted-model"];

#[test]
fn no_other_crate_contains_an_agents_name() {
    let names: Vec<&str> = AGENTS.iter().flat_map(|agent| agent.aliases.iter().copied().chain([agent.id])).collect();
    let mut found = Vec::new();
    for path in files_below(&workspace_root().join("crates")) {
        let relative = path.strip_prefix(workspace_root().join("crates")).expect("below crates").to_owned();
        let mut components = relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let (Some(name), Some(source)) = (components.next(), components.next()) else { continue };
        let is_test = |part: String| ["tests", "tests.rs", "conformance", "conformance.rs"].contains(&part.as_str());
        if source != "src"
            || name == "agents"
            || TEST_CRATES.contains(&name.as_str())
            || relative.extension().is_none_or(|extension| extension != "rs")
            || components.any(is_test)
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for literal in names.iter().filter(|literal| line.contains(&format!("\"{literal}\""))) {
                let other = |(owner, literals, _): &(&str, &[&str], &str)| *owner == name && literals.contains(literal);
                if !OTHER_MEANINGS.iter().any(other) {
                    found.push(format!("{}: {}", relative.display(), line.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "use the agent's spec instead:\n{}", found.join("\n"));
}
