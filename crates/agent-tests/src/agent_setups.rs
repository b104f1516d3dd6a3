//! Describes each CLI as data: configuration, environment, arguments and the location of its transcripts.
//!
//! Texts may hold `{url}` (base URL of the model, without a path), `{prompt}`, `{session}`, `{home}` and `{work}`.
//! Configuration files never hold the URL, except for [`AgentSetup::model_config`]: they are written once per home and
//! stay as Belay's installer finds them.

/// An unsigned token: `ada@example.com` has a plan until the year 2100.
macro_rules! jwt {
    () => {
        "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6ImFkYUBleGFtcGxlLmNvbSIsImV4cCI6NDEwMjQ0NDgwMCwiaHR0cHM6Ly9hcGkub3BlbmFpLmNvbS9hdXRoIjp7ImNoYXRncHRfcGxhbl90eXBlIjoicHJvIiwiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjb3VudC0xIn19.c2ln"
    };
}

/// How to run one CLI headless.
#[derive(Debug)]
pub struct AgentSetup {
    /// The name in `agents.txt`.
    pub name: &'static str,
    /// Files in the home directory.
    pub files: &'static [(&'static str, &'static str)],
    pub env: &'static [(&'static str, &'static str)],
    /// The end of a configuration file that names the model, for runs whose arguments are not those of the setup.
    pub model_config: Option<(&'static str, &'static str)>,
    /// Arguments of a new session.
    pub start: &'static [&'static str],
    /// Arguments that resume `{session}`.
    pub resume: &'static [&'static str],
    /// The key under which the JSON on standard output names the session.
    pub session_key: &'static str,
    pub transcripts: Transcripts,
    /// Whether its transcript is complete when its hook reports the end of the session.
    pub writes_at_once: bool,
    /// Whether the output shows why a hook refused a prompt.
    pub tells_refused_prompts: bool,
    /// A directory in the home into which the CLI unpacks itself on first use.
    pub unpacks_into: Option<&'static str>,
}

/// Where a CLI keeps its transcripts.
#[derive(Clone, Copy, Debug)]
pub enum Transcripts {
    /// All files with an extension below a directory of the home.
    Files { below: &'static str, ending: &'static str },
    /// opencode's SQLite database.
    Opencode { database: &'static str },
}

/// The CLIs that call tools, each with its usual API.
pub const ALL_AGENTS: [&AgentSetup; 6] = [&CODEX, &CLAUDE_CODE, &GEMINI, &COPILOT, &OPENCODE, &QWEN];

/// Over OpenAI Responses.
pub static CODEX: AgentSetup = AgentSetup {
    name: "codex",
    files: &[(
        ".codex/config.toml",
        // A model the binary knows: others get no apply_patch.
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n",
    )],
    env: &[("SCRIPTED_KEY", "sk-test")],
    model_config: Some((".codex/config.toml", "base_url = \"{url}/v1\"\n")),
    start: &[
        "exec",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "model_providers.scripted.base_url=\"{url}/v1\"",
        "{prompt}",
    ],
    resume: &[
        "exec",
        "resume",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "model_providers.scripted.base_url=\"{url}/v1\"",
        "{session}",
        "{prompt}",
    ],
    session_key: "thread_id",
    transcripts: Transcripts::Files { below: ".codex/sessions", ending: ".jsonl" },
    writes_at_once: true,
    // `exec` exits silently; Belay's hook writes the reason.
    tells_refused_prompts: cfg!(target_os = "linux"),
    unpacks_into: None,
};

/// Codex with its built-in provider, which tries a WebSocket first.
pub static CODEX_BUILT_IN: AgentSetup = AgentSetup {
    files: &[(
        ".codex/config.toml",
        "model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n",
    )],
    env: &[("CODEX_API_KEY", "sk-test")],
    start: &[
        "exec",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "openai_base_url=\"{url}/v1\"",
        "{prompt}",
    ],
    resume: &[
        "exec",
        "resume",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        "openai_base_url=\"{url}/v1\"",
        "{session}",
        "{prompt}",
    ],
    ..CODEX
};

/// Codex with a dummy ChatGPT login: another upstream, and compressed requests.
pub static CODEX_SUBSCRIPTION: AgentSetup = AgentSetup {
    files: &[
        (
            ".codex/config.toml",
            "model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n",
        ),
        (
            ".codex/auth.json",
            concat!(
                r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"last_refresh":"2026-11-01T00:00:00Z","tokens":{"id_token":""#,
                jwt!(),
                r#"","access_token":""#,
                jwt!(),
                r#"","refresh_token":"refresh","account_id":"account-1"}}"#
            ),
        ),
    ],
    env: &[],
    start: &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "{prompt}"],
    resume: &["exec", "resume", "--json", "--dangerously-bypass-approvals-and-sandbox", "{session}", "{prompt}"],
    ..CODEX
};

/// Over Anthropic Messages.
pub static CLAUDE_CODE: AgentSetup = AgentSetup {
    name: "claude-code",
    files: &[],
    env: &[
        ("ANTHROPIC_API_KEY", "sk-test"),
        ("ANTHROPIC_BASE_URL", "{url}"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Lets it run as root, as containers do.
        ("IS_SANDBOX", "1"),
    ],
    model_config: None,
    start: &["-p", "{prompt}", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
    resume: &[
        "-p",
        "{prompt}",
        "--resume",
        "{session}",
        "--output-format",
        "stream-json",
        "--verbose",
        "--dangerously-skip-permissions",
    ],
    session_key: "session_id",
    transcripts: Transcripts::Files { below: ".claude/projects", ending: ".jsonl" },
    writes_at_once: true,
    tells_refused_prompts: true,
    unpacks_into: None,
};

/// Claude Code with a dummy login at claude.ai.
pub static CLAUDE_CODE_SUBSCRIPTION: AgentSetup = AgentSetup {
    files: &[(
        ".claude/.credentials.json",
        r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat01-test","refreshToken":"sk-ant-ort01-test","expiresAt":4102444800000,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}"#,
    )],
    env: &[
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Lets it run as root, as containers do.
        ("IS_SANDBOX", "1"),
    ],
    ..CLAUDE_CODE
};

/// Over generateContent. Its own loop detection, which stops after five equal calls, is off: the script decides.
pub static GEMINI: AgentSetup = AgentSetup {
    name: "gemini",
    files: &[(
        ".gemini/settings.json",
        r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false },
  "model": { "disableLoopDetection": true }
}
"#,
    )],
    env: &[("GEMINI_API_KEY", "sk-test"), ("GOOGLE_GEMINI_BASE_URL", "{url}")],
    model_config: None,
    start: &["-p", "{prompt}", "--yolo", "--output-format", "stream-json", "-m", "gemini-2.5-pro"],
    resume: &[
        "-p",
        "{prompt}",
        "--resume",
        "{session}",
        "--yolo",
        "--output-format",
        "stream-json",
        "-m",
        "gemini-2.5-pro",
    ],
    session_key: "session_id",
    transcripts: Transcripts::Files { below: ".gemini/tmp", ending: ".jsonl" },
    writes_at_once: true,
    tells_refused_prompts: true,
    unpacks_into: None,
};

/// Over Anthropic Messages, where Copilot offers all its file tools.
pub static COPILOT: AgentSetup = AgentSetup {
    name: "copilot",
    files: &[],
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_API_KEY", "sk-test"),
        ("COPILOT_PROVIDER_TYPE", "anthropic"),
        ("COPILOT_PROVIDER_BASE_URL", "{url}"),
        ("COPILOT_MODEL", "claude-sonnet-5"),
    ],
    model_config: None,
    start: &["-p", "{prompt}", "--allow-all", "--output-format", "json"],
    resume: &["-p", "{prompt}", "--resume={session}", "--allow-all", "--output-format", "json"],
    session_key: "sessionId",
    transcripts: Transcripts::Files { below: ".copilot/session-state", ending: "events.jsonl" },
    // It writes in blocks of several kilobytes, the last one at exit.
    writes_at_once: false,
    tells_refused_prompts: true,
    unpacks_into: Some(".cache/copilot"),
};

/// Copilot over Chat Completions, its default; it then offers no tool to edit files.
pub static COPILOT_CHAT: AgentSetup = AgentSetup {
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_API_KEY", "sk-test"),
        ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
        ("COPILOT_MODEL", "gpt-5.4"),
    ],
    ..COPILOT
};

/// Copilot over OpenAI Responses.
pub static COPILOT_RESPONSES: AgentSetup = AgentSetup {
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_API_KEY", "sk-test"),
        ("COPILOT_PROVIDER_WIRE_API", "responses"),
        ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
        ("COPILOT_MODEL", "gpt-5.4"),
    ],
    ..COPILOT
};

/// Over Chat Completions.
pub static OPENCODE: AgentSetup = AgentSetup {
    name: "opencode",
    files: &[(
        ".config/opencode/opencode.json",
        r#"{
  "autoupdate": false,
  "share": "disabled",
  "model": "scripted/scripted-model",
  "small_model": "scripted/scripted-model",
  "permission": { "*": "allow" },
  "provider": {
    "scripted": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "{env:SCRIPTED_URL}/v1", "apiKey": "sk-test" },
      "models": { "scripted-model": { "tool_call": true, "limit": { "context": 200000, "output": 8000 } } }
    }
  }
}
"#,
    )],
    env: &[
        ("SCRIPTED_URL", "{url}"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ],
    model_config: None,
    start: &["run", "--format", "json", "{prompt}"],
    resume: &["run", "--format", "json", "--session", "{session}", "{prompt}"],
    session_key: "sessionID",
    transcripts: Transcripts::Opencode { database: ".local/share/opencode/opencode.db" },
    writes_at_once: true,
    tells_refused_prompts: true,
    unpacks_into: None,
};

/// Over Chat Completions. It requires a newer node than some systems have, but runs under node 20.
pub static QWEN: AgentSetup = AgentSetup {
    name: "qwen",
    files: &[(
        ".qwen/settings.json",
        r#"{
  "security": { "auth": { "selectedType": "openai" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false },
  "model": { "skipLoopDetection": true }
}
"#,
    )],
    env: &[("OPENAI_API_KEY", "sk-test"), ("OPENAI_BASE_URL", "{url}/v1"), ("OPENAI_MODEL", "scripted-model")],
    model_config: None,
    start: &["-p", "{prompt}", "--yolo", "--output-format", "stream-json"],
    resume: &["-p", "{prompt}", "--resume", "{session}", "--yolo", "--output-format", "stream-json"],
    session_key: "session_id",
    transcripts: Transcripts::Files { below: ".qwen/projects", ending: ".jsonl" },
    writes_at_once: true,
    tells_refused_prompts: true,
    unpacks_into: None,
};

/// Over Chat Completions. It has no tools and no hooks: it edits files itself, as the answer describes.
pub static AIDER: AgentSetup = AgentSetup {
    name: "aider",
    files: &[],
    env: &[("OPENAI_API_KEY", "sk-test"), ("OPENAI_API_BASE", "{url}/v1")],
    model_config: None,
    start: &[
        "--model",
        "openai/scripted-model",
        "--yes-always",
        "--no-check-update",
        "--analytics-disable",
        "--no-show-model-warnings",
        "--no-gitignore",
        "--no-auto-commits",
        "--message",
        "{prompt}",
    ],
    resume: &[],
    session_key: "",
    transcripts: Transcripts::Files { below: ".aider", ending: ".jsonl" },
    writes_at_once: true,
    tells_refused_prompts: true,
    unpacks_into: None,
};
