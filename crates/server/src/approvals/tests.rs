//! The offered text holds every character of what will run, or the prompt is not offered.

use belay_agents::hook::{HookEncoder, HookInput, condense, resolve_agent};
use belay_core::redact::redact;
use serde_json::{Value, json};

use super::*;

/// What must not stay unseen. Values with a `$` count less often as secrets.
const PAYLOAD: &str = "touch${IFS}pwn";
const BRACES: &str = "{touch,pwn}";

fn prompt_payload(agent: &str, tool: &str, input: &Value) -> Value {
    match agent {
        "opencode" => json!({ "sessionID": "s1", "callID": "c1", "permission": tool, "tool": tool, "args": input }),
        _ => json!({
            "hook_event_name": "PermissionRequest", "session_id": "s1", "cwd": "/w", "tool_name": tool, "tool_input": input,
        }),
    }
}

fn parse(agent: &str, payload: &Value) -> Option<HookOffer> {
    let hooks = resolve_agent(agent, b"{}").unwrap().hooks.unwrap();
    // As the hook process and the resident process read it.
    let payload = condense(payload.to_string().as_bytes()).unwrap();
    let event = (agent == "opencode").then_some("permission.asked");
    let at = belay_clock::now();
    let mut parsed = hooks.protocol.parse(&HookInput { id: "h1", event, payload: &payload, at, exit_code: None })?;
    assert!(!parsed.events.is_empty(), "the agent asks");
    let permission = Some(parsed.permission.take()?);
    let (session, cwd, point) = (parsed.session.clone().unwrap(), parsed.cwd.clone(), parsed.point);
    let event = hooks.event_of(&parsed).unwrap();
    let (hook, encoder) = ("h1".to_owned(), HookEncoder::new(hooks.protocol, &parsed));
    Some(HookOffer { session, hook, point, permission, cwd, at, event, ci: false, encoder })
}

fn approvals() -> (Arc<Tickets>, Approvals) {
    let tickets = Arc::<Tickets>::default();
    (Arc::clone(&tickets), Approvals::new(tickets))
}

const TIMEOUT: Duration = Duration::from_secs(600);

fn config(wait: &str) -> ApprovalsConfig {
    ApprovalsConfig { enabled: true, wait: wait.parse().unwrap() }
}

/// What a person is shown; `None` if the terminal asks.
fn shown(agent: &str, tool: &str, input: &Value) -> Option<String> {
    shown_of(agent, &prompt_payload(agent, tool, input))
}

fn shown_of(agent: &str, payload: &Value) -> Option<String> {
    let offer = parse(agent, payload)?;
    let (tickets, approvals) = approvals();
    let root = offer.session.clone();
    let ticket = approvals.offer(offer, root, TIMEOUT, &config("60s"))?;
    let _hook = tickets.take(&ticket.id).unwrap();
    let [view] = &approvals.pending()[..] else { panic!("one prompt") };
    Some(view.text.clone())
}

/// The shells of the agents whose prompts Belay offers.
const SHELLS: &[(&str, &str)] =
    &[("claude-code", "Bash"), ("codex", "Bash"), ("qwen", "run_shell_command"), ("opencode", "bash")];

/// Command lines of which redaction replaces a part, by the shape that does. Most of them hide the payload.
const HIDING: &[&str] = &[
    "API_KEY=hunter2abcdef0123;PAYLOAD",
    "API_KEY=hunter2abcdef0123&&PAYLOAD",
    "API_KEY=hunter2abcdef0123|PAYLOAD",
    "API_KEY=hunter2$(PAYLOAD)",
    "API_KEY=hunter2`PAYLOAD`",
    "API_KEY='hunter2'$(PAYLOAD)",
    "API_KEY=\"hunter2 $(PAYLOAD)\" make",
    "export DB_PASSWORD=hunter2$(PAYLOAD)",
    "export DB_PASSWORD=hunter2\nPAYLOAD",
    "env CLIENT_SECRET=hunter2x$(PAYLOAD) make",
    "AUTH_TOKEN=hunter2x$(PAYLOAD) make",
    "deploy --password=hunter2$(PAYLOAD)",
    "deploy --password hunter2$(PAYLOAD)",
    "deploy --api-key hunter2abc$(PAYLOAD)",
    "echo '{\"password\": \"hunter2$(PAYLOAD)\"}'",
    "echo \"password: hunter2$(PAYLOAD)\"",
    "curl -u admin:hunter2$(PAYLOAD) https://h",
    "curl --user admin:hunter2$(PAYLOAD) https://h",
    "curl --proxy-user admin:hunter2$(PAYLOAD) https://h",
    "sshpass -p hunter2$(PAYLOAD) ssh h",
    "sshpass -phunter2$(PAYLOAD) ssh h",
    "mysql -u root -phunter2$(PAYLOAD) shop",
    "mariadb -u root -phunter2$(PAYLOAD) shop",
    "mysqldump --password=hunter2$(PAYLOAD) shop",
    "redis-cli -a hunter2$(PAYLOAD) ping",
    "docker login -u me -p hunter2$(PAYLOAD) registry",
    "git clone https://u:hunter2;PAYLOAD;@h/r",
    "git clone https://u:hunter2$(PAYLOAD)@h/r",
    "git clone https://hunter2$(PAYLOAD)@h/r",
    "psql postgres://app:hunter2$(PAYLOAD)@db/main",
    "redis://:hunter2$(PAYLOAD)@cache:6379/0",
    "sqlcmd 'Server=db;User Id=sa;Password=hunter2'$(PAYLOAD)",
    "az 'AccountName=a;AccountKey=hunter2'$(PAYLOAD)",
    "az 'AccountKey=hunter2$(PAYLOAD)'",
    "curl 'https://h/?sv=2024&sig=hunter2EfAbCd0123456789AbCdEf0123456789AbCd'$(PAYLOAD)",
    "curl https://hooks.slack.com/services/hunter2hunter2$(PAYLOAD)",
    "curl https://discord.com/api/webhooks/hunter2hunter2$(PAYLOAD)",
    "curl -H \"Authorization: Basic hunter2hunter2$(PAYLOAD)\" h",
    "curl -H \"Authorization: Bearer hunter2hunter2$(PAYLOAD)\" h",
    "curl -H \"Authorization: hunter2 hunter2 $(PAYLOAD)\" h",
    "curl -H \"Cookie: sid=hunter2; x=$(PAYLOAD)\" h",
    "curl -H Cookie:hunter2 $(PAYLOAD) h",
    "curl -H \"x-api-key: hunter2abcdef0123$(PAYLOAD)\" h",
    "echo machine h login me password hunter2$(PAYLOAD) >> ~/.netrc",
    "echo default login me password hunter2$(PAYLOAD) >> ~/.netrc",
    "echo -----BEGIN PRIVATE KEY-----hunter2; PAYLOAD",
    "echo -----BEGIN RSA PRIVATE KEY-----\nPAYLOAD # hunter2",
    "echo -----BEGIN PGP PRIVATE KEY BLOCK-----;PAYLOAD;: -----END PGP PRIVATE KEY BLOCK----- hunter2",
    "echo -----BEGIN OPENSSH PRIVATE KEY-----;PAYLOAD;: -----END OPENSSH PRIVATE KEY-----",
    "echo hunter2\\\nrm/x\\\nAAAA-----END PRIVATE KEY-----;PAYLOAD",
    "echo Private-Lines: 1;PAYLOAD # hunter2",
    "echo Private-Lines: 1;PAYLOAD; echo Private-MAC: 0123abcd",
    "echo rm/hunter2\nPrivate-MAC: 0123abcd;PAYLOAD",
    "echo eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.AbCdEf0123456789-_AbCdEf;PAYLOAD",
    "curl -H 'x: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0'$(PAYLOAD)",
    "A=hunter2;PAYLOAD\nB=2\nC=$(PAYLOAD)\nD=4",
    "export A=hunter2\nexport B=$(PAYLOAD)\nexport C=3\nexport D=`PAYLOAD`",
];

/// Command lines of which nothing is a secret, and tricks about Belay's own marks.
const PLAIN: &[&str] = &[
    "cat > .env <<E\nX=$(PAYLOAD)\nE",
    "cp .env.example .env\nX=$(PAYLOAD)",
    "base64 -d <<'E' | sh\ndG91Y2ggcHdu\nE\nPAYLOAD",
    "echo [redacted:secret];PAYLOAD;echo [redacted:private-key]",
    "echo '[redacted:'; PAYLOAD; echo ']'",
    "echo \\u{202e}; PAYLOAD",
    "printf '\u{202e}%s' x;\u{a0}PAYLOAD\u{200b}",
    "echo a\rPAYLOAD\r\n\tb",
    " PAYLOAD ",
    "\nPAYLOAD\n",
];

#[test]
fn a_command_is_shown_as_it_runs() {
    let with = |commands: &[&str], payload: &str| -> Vec<String> {
        commands.iter().map(|command| command.replace("PAYLOAD", payload)).collect()
    };
    let mut commands = [with(HIDING, PAYLOAD), with(HIDING, BRACES)].concat();
    let count = |text: &str| text.matches("pwn").count();
    let hidden = commands.iter().filter(|command| count(&redact(command)) < count(command)).count();
    assert!(hidden >= 40, "redaction would hide the payload of {hidden} commands only");
    commands.extend(with(PLAIN, PAYLOAD));
    for command in commands {
        for (agent, tool) in SHELLS {
            let comments = json!({ "command": command, "description": "List files", "timeout": 1000 });
            for input in [json!({ "command": command }), comments] {
                assert_eq!(shown(agent, tool, &input).as_ref(), Some(&command), "{agent}");
            }
        }
    }
}

#[test]
fn an_input_is_shown_with_all_of_its_fields() {
    let key = "-----BEGIN PRIVATE KEY-----";
    let patch = format!(
        "*** Begin Patch\n*** Add File: .env\n+API_KEY=hunter2\n*** Update File: a.sh\n@@\n+{PAYLOAD}\n*** Delete File: b\n*** End Patch"
    );
    let edits: Vec<_> =
        (0..40).map(|n| json!({ "old_string": format!("PASSWORD=hunter2{n}"), "new_string": PAYLOAD })).collect();
    for (tool, input) in [
        ("Write", json!({ "file_path": "/w/.env", "content": format!("PASSWORD=hunter2\nX=$({PAYLOAD})\n") })),
        ("Write", json!({ "file_path": "/w/k.pem", "content": format!("{key}\n{PAYLOAD}\n") })),
        (
            "Edit",
            json!({ "file_path": "/w/a", "old_string": "x".repeat(3000), "new_string": format!("{}{PAYLOAD}", "y".repeat(3000)) }),
        ),
        ("MultiEdit", json!({ "file_path": "/w/a", "edits": edits })),
        ("NotebookEdit", json!({ "notebook_path": "/w/a.ipynb", "new_source": format!("x = 1;{PAYLOAD}") })),
        ("apply_patch", json!({ "command": patch })),
        ("apply_patch", json!({ "command": ["apply_patch", patch] })),
        ("WebFetch", json!({ "url": format!("https://u:hunter2;{PAYLOAD}@h/"), "prompt": "read" })),
        // Only a shell has a description and a timeout without effect.
        ("mcp__ci__run", json!({ "command": "ls", "description": PAYLOAD, "timeout": 5 })),
        ("mcp__ci__run", json!({ "password": "hunter2", "script": { "steps": [[{ "run": PAYLOAD }]] } })),
        ("mcp__ci__run", json!({ "note": key, "run": PAYLOAD })),
        ("mcp__ci__run", json!({ "token": format!("hunter2abcdef0123;{BRACES}") })),
        ("mcp__ci__run", json!({ format!("password={PAYLOAD}"): "hunter2", "": { "input": PAYLOAD } })),
        ("mcp__ci__run", json!({ "command": "ls", "input": { "command": PAYLOAD } })),
        ("mcp__ci__run", json!([PAYLOAD, { "secret": "hunter2" }])),
        ("mcp__ci__run", json!({})),
        // As objects these would lose a field.
        ("mcp__ci__run", json!(format!(r#"{{"command":"{PAYLOAD}","command":"ls"}}"#))),
        ("mcp__ci__run", json!(format!(r#"{{"input":"{PAYLOAD}","input":{{"command":"ls"}}}}"#))),
        ("Bash", json!({ "command": "ls", "run_in_background": true })),
        ("Bash", json!({ "command": "ls", "dangerouslyDisableSandbox": true })),
        ("Bash", json!({ "command": "ls", "description": { "command": PAYLOAD } })),
        ("Bash", json!({ "command": "ls", "timeout": PAYLOAD })),
        ("Bash", json!({ "command": "ls", "workdir": format!("/w;{PAYLOAD}") })),
        ("Bash", json!({ "command": ["bash", "-c", PAYLOAD] })),
    ] {
        for agent in ["claude-code", "codex", "qwen"] {
            let text = shown(agent, tool, &input).unwrap_or_else(|| panic!("{agent} offers {input}"));
            let all =
                input.as_str() == Some(&text) || serde_json::from_str::<Value>(&text).ok().as_ref() == Some(&input);
            assert!(all, "{agent} shows {text} for {input}");
        }
        if input.is_object() {
            let text = shown("opencode", "mcp", &input).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), input, "opencode");
        }
    }
}

#[test]
fn codex_shows_that_a_command_wants_the_network() {
    let input = json!({ "command": "make", "description": "network-access example.com" });
    assert!(shown("codex", "Bash", &input).unwrap().contains("network-access example.com"));
}

/// Valid JSON whose innermost object is `value`.
fn nested(depth: usize, value: &str) -> Value {
    (0..depth).fold(json!(value), |inner, _| json!({ "a": inner }))
}

#[test]
fn what_cannot_be_shown_in_full_is_left_to_the_terminal() {
    let long = "x".repeat(16 * 1024);
    let input = |command: &str| json!({ "command": command });
    for input in [
        input(&format!("{long};{PAYLOAD}")),
        input(&format!("{};{PAYLOAD}", "x".repeat(200 * 1024))),
        json!({ "note": "x".repeat(383 * 1024), "command": PAYLOAD }),
        // The hook process has replaced these by a digest.
        nested(60, PAYLOAD),
        json!({ "command": "ls", "input": nested(50, PAYLOAD) }),
        json!({ "command": "ls", format!("{}{PAYLOAD}", "k".repeat(1100)): 1 }),
        json!({ "command": "ls", "more": vec![json!([]); 5000] }),
        // It looks as if something were missing.
        input("echo '[belay: 12 bytes, digest 0123]'"),
        json!({ "belay:omitted": PAYLOAD }),
        // Something was not valid text.
        input("touch \u{fffd}"),
        // Nothing tells what would run.
        Value::Null,
        json!(true),
    ] {
        for (agent, tool) in SHELLS {
            let text = shown(agent, tool, &input);
            assert_eq!(text, None, "{agent} offers {}", input.to_string().chars().take(80).collect::<String>());
        }
    }
    for agent in ["claude-code", "codex", "qwen"] {
        assert_eq!(shown(agent, &"t".repeat(300), &json!({ "command": "ls" })), None, "the name of the tool");
        let mut payload = prompt_payload(agent, "Bash", &json!({ "command": PAYLOAD }));
        (0..300).for_each(|n| payload[format!("a{n}")] = json!(n));
        assert_eq!(shown_of(agent, &payload), None, "the input is behind too many fields");
    }
}

#[test]
fn the_offer_names_session_tool_and_directory_as_they_are() {
    let mut payload = prompt_payload("claude-code", "mcp__a\n__b", &json!({ "command": "ls" }));
    payload["cwd"] = json!("/w/API_KEY=hunter2;x\nrm");
    let offer = parse("claude-code", &payload).unwrap();
    let (tickets, approvals) = approvals();
    let ticket = approvals.offer(offer, SessionKey::new("claude-code", "s1"), TIMEOUT, &config("60s")).unwrap();
    let _hook = tickets.take(&ticket.id).unwrap();
    let view = approvals.pending().remove(0);
    assert_eq!(view.session, SessionKey::new("claude-code", "s1").to_string());
    assert_eq!((view.tool.as_str(), view.cwd.as_deref()), ("mcp__a\n__b", Some("/w/API_KEY=hunter2;x\nrm")));
}

#[test]
fn a_hook_is_not_made_to_wait_without_a_person_or_time() {
    let payload = prompt_payload("claude-code", "Bash", &json!({ "command": "ls" }));
    let offer = |change: fn(&mut HookOffer), timeout, config: &ApprovalsConfig| {
        let mut offer = parse("claude-code", &payload).unwrap();
        change(&mut offer);
        let root = offer.session.clone();
        approvals().1.offer(offer, root, timeout, config)
    };
    let ticket = |change, config: &_| offer(change, TIMEOUT, config);
    let wait = ticket(|_| {}, &config("60s")).unwrap().wait_ms;
    assert!((59_000..=60_000).contains(&wait), "{wait}");
    let short = offer(|_| {}, Duration::from_secs(10), &config("60s")).unwrap();
    assert!((4_000..=5_000).contains(&short.wait_ms), "it ends before the agent gives the hook up");
    assert_eq!(offer(|_| {}, TIMEOUT_MARGIN, &config("60s")), None);
    fn ago(seconds: u64) -> belay_core::Timestamp {
        belay_clock::now() - Duration::from_secs(seconds)
    }
    let again = ticket(|offer| offer.at = ago(585), &config("60s")).unwrap();
    assert!((9_000..=10_000).contains(&again.wait_ms), "the agent has waited for most of its time: {again:?}");
    assert_eq!(ticket(|offer| offer.at = ago(595), &config("60s")), None);
    assert_eq!(ticket(|offer| offer.ci = true, &config("60s")), None, "in continuous integration");
    assert_eq!(ticket(|offer| offer.permission = None, &config("60s")), None, "nothing is asked");
    assert_eq!(ticket(|_| {}, &ApprovalsConfig { enabled: false, ..config("60s") }), None);
}
