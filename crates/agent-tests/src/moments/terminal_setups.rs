//! How each CLI is used in a terminal, as data: what it shows, and which keys answer it.
//!
//! Texts may hold `{work}`, the project's directory. Key names are tmux's.

use crate::agent_setups::{AgentSetup, CLAUDE_CODE, CODEX, COPILOT, GEMINI, OPENCODE};

/// One CLI in a terminal.
#[derive(Debug)]
pub(super) struct TerminalSetup {
    pub(super) agent: &'static AgentSetup,
    /// Files in the home, in addition to the agent's own; they skip the introduction.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Arguments of every start; `{url}` is the model's base URL.
    pub(super) args: &'static [&'static str],
    /// Asks a person before it runs a command.
    pub(super) asking: Mode,
    /// Runs every command at once.
    pub(super) permissive: Mode,
    /// Dialogs before the first prompt, and the keys that pass them.
    pub(super) dialogs: &'static [(&'static str, &'static [&'static str])],
    /// Whether `belay run` names the session before the CLI reports it, so that a dialog belongs to one.
    pub(super) session_before_dialog: bool,
    /// The screen accepts a prompt.
    pub(super) ready: &'static str,
    /// Whether a session exists before its first prompt.
    pub(super) starts_session_at_once: bool,
    /// A call of a command that the CLI would otherwise soon move to the background.
    pub(super) command_call: Option<(&'static str, &'static str)>,
    /// A call that needs permission: a tool and its arguments with `{command}`. Otherwise the plain shell tool.
    pub(super) asking_call: Option<(&'static str, &'static str)>,
    /// A permission prompt is open.
    pub(super) permission: &'static str,
    pub(super) allow: &'static [&'static str],
    /// Rejects by the last option of the prompt, where this differs from Esc.
    pub(super) reject: Option<&'static [&'static str]>,
    /// Whether the model goes on after a rejection.
    pub(super) continues_after_rejection: bool,
    /// The tool that asks a question, with its arguments, and the keys that choose the first answer.
    pub(super) question: Option<(&'static str, &'static str, &'static [&'static str])>,
    /// Keys that switch to a mode in which it may ask.
    pub(super) question_mode: &'static [&'static str],
    /// Interrupts a turn.
    pub(super) interrupt: &'static [&'static str],
    pub(super) plan: Option<PlanSetup>,
    /// The tool that starts a sub-agent, with its arguments.
    pub(super) sub_agent: Option<(&'static str, &'static str)>,
    /// Whether that sub-agent may run commands, which need permission.
    pub(super) sub_agent_asks: bool,
    pub(super) compact: Option<&'static str>,
    pub(super) quit: &'static [&'static str],
}

/// Arguments and environment of one way to handle permissions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) args: &'static [&'static str],
    pub(super) env: &'static [(&'static str, &'static str)],
}

/// How a plan is proposed.
#[derive(Debug)]
pub(super) struct PlanSetup {
    pub(super) mode: Mode,
    /// Keys that switch to the mode for plans.
    pub(super) enter: &'static [&'static str],
    /// The tool that proposes a plan, with its arguments; without one, a text.
    pub(super) call: Option<(&'static str, &'static str)>,
    pub(super) text: &'static str,
    /// The approval is open.
    pub(super) shown: &'static str,
    /// Keys that approve it.
    pub(super) approve: &'static [&'static str],
}

const PLAIN: Mode = Mode { args: &[], env: &[] };

pub(super) static ALL: &[TerminalSetup] = &[
    TerminalSetup {
        agent: &CLAUDE_CODE,
        files: &[(
            ".claude.json",
            r#"{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["sk-test"],"rejected":[]}}"#,
        )],
        args: &[],
        asking: Mode { args: &["--permission-mode", "default"], env: &[] },
        permissive: Mode { args: &["--permission-mode", "default", "--allowedTools", "Bash"], env: &[] },
        dialogs: &[("Yes, I trust this folder", &["Down", "Enter"])],
        session_before_dialog: true,
        ready: "❯",
        starts_session_at_once: true,
        command_call: None,
        asking_call: None,
        permission: "Do you want to proceed?",
        allow: &["Enter"],
        reject: Some(&["4"]),
        continues_after_rejection: false,
        question: Some((
            "AskUserQuestion",
            r#"{"questions":[{"question":"Which database should I use?","header":"Database","multiSelect":false,
                "options":[{"label":"SQLite","description":"One file"},{"label":"PostgreSQL","description":"A server"}]}]}"#,
            &["Enter"],
        )),
        question_mode: &[],
        interrupt: &["Escape"],
        plan: Some(PlanSetup {
            mode: Mode { args: &["--permission-mode", "plan"], env: &[] },
            enter: &[],
            call: Some(("ExitPlanMode", r#"{"plan":"1. Read the parser.\n2. Fix it."}"#)),
            text: "",
            shown: "Exit plan mode?",
            approve: &["Enter"],
        }),
        sub_agent: Some((
            "Agent",
            r#"{"description":"Look around","prompt":"Look around","subagent_type":"general-purpose","run_in_background":false}"#,
        )),
        // It runs in the background, so either of the two may get the response that asks.
        sub_agent_asks: false,
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    TerminalSetup {
        agent: &CODEX,
        files: &[],
        args: &["-c", "model_providers.scripted.base_url=\"{url}/v1\""],
        asking: Mode { args: &["-a", "on-request", "-s", "read-only"], env: &[] },
        permissive: Mode { args: &["--dangerously-bypass-approvals-and-sandbox"], env: &[] },
        dialogs: &[("Trust and continue", &["Enter"]), ("Use existing model", &["2", "Enter"])],
        session_before_dialog: false,
        ready: "Ask Codex to do anything",
        starts_session_at_once: false,
        command_call: Some(("exec_command", r#"{"cmd":"{command}","yield_time_ms":30000}"#)),
        asking_call: Some((
            "exec_command",
            r#"{"cmd":"{command}","yield_time_ms":30000,"sandbox_permissions":"require_escalated","justification":"The tests need it"}"#,
        )),
        permission: "Would you like to run the following command?",
        allow: &["Enter"],
        reject: None,
        continues_after_rejection: false,
        question: Some((
            "request_user_input",
            r#"{"questions":[{"id":"database","header":"Database","question":"Which database should I use?",
                "options":[{"label":"SQLite","description":"One file"},{"label":"PostgreSQL","description":"A server"}]}]}"#,
            &["Enter"],
        )),
        question_mode: &["BTab"],
        interrupt: &["Escape"],
        plan: Some(PlanSetup {
            mode: PLAIN,
            enter: &["BTab"],
            call: None,
            text: "<proposed_plan>\n1. Read the parser.\n2. Fix it.\n</proposed_plan>",
            shown: "Implement this plan?",
            approve: &["Enter"],
        }),
        // Its sub-agents run beside the turn, which does not wait for them.
        sub_agent: None,
        sub_agent_asks: false,
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    TerminalSetup {
        agent: &GEMINI,
        files: &[],
        args: &["-m", "gemini-2.5-pro"],
        asking: PLAIN,
        permissive: Mode { args: &["--yolo"], env: &[] },
        dialogs: &[],
        session_before_dialog: false,
        ready: "Type your message",
        starts_session_at_once: true,
        command_call: None,
        asking_call: None,
        permission: "Allow execution of",
        allow: &["Enter"],
        reject: Some(&["3"]),
        continues_after_rejection: false,
        question: Some((
            "ask_user",
            r#"{"questions":[{"question":"Which database should I use?","header":"Database","type":"choice",
                "options":[{"label":"SQLite","description":"One file"},{"label":"PostgreSQL","description":"A server"}]}]}"#,
            &["Enter"],
        )),
        question_mode: &[],
        interrupt: &["Escape"],
        // Its tool takes only a file that the model has written to a directory of the session.
        plan: None,
        sub_agent: Some(("invoke_agent", r#"{"agent_name":"codebase_investigator","prompt":"Look around"}"#)),
        sub_agent_asks: false,
        compact: Some("/compress"),
        quit: &["C-c", "C-c"],
    },
    TerminalSetup {
        agent: &COPILOT,
        files: &[],
        args: &[],
        asking: PLAIN,
        permissive: Mode { args: &["--allow-all-tools"], env: &[] },
        dialogs: &[("Confirm folder trust", &["Enter"])],
        session_before_dialog: true,
        ready: "/ commands",
        starts_session_at_once: false,
        command_call: None,
        asking_call: None,
        permission: "Do you want to run this command?",
        allow: &["Enter"],
        reject: Some(&["3", "N", "o", "Enter"]),
        continues_after_rejection: true,
        question: Some((
            "ask_user",
            r#"{"message":"Which database should I use?","requestedSchema":{"type":"object","required":["database"],
                "properties":{"database":{"type":"string","title":"Database","enum":["SQLite","PostgreSQL"]}}}}"#,
            &["Enter"],
        )),
        question_mode: &[],
        interrupt: &["Escape", "Escape"],
        plan: Some(PlanSetup {
            mode: PLAIN,
            enter: &["BTab"],
            call: Some((
                "exit_plan_mode",
                r#"{"summary":"1. Read the parser. 2. Fix it.","actions":["interactive"],"recommendedAction":"interactive"}"#,
            )),
            text: "",
            shown: "Accept plan",
            approve: &["Enter"],
        }),
        sub_agent: Some((
            "task",
            r#"{"agent_type":"general-purpose","description":"Look around","name":"look","prompt":"Look around","mode":"sync"}"#,
        )),
        sub_agent_asks: true,
        compact: Some("/compact"),
        quit: &["C-c", "C-c"],
    },
    TerminalSetup {
        agent: &OPENCODE,
        files: &[],
        args: &[],
        asking: Mode { args: &[], env: &[("OPENCODE_CONFIG_CONTENT", r#"{"permission":{"*":"allow","bash":"ask"}}"#)] },
        permissive: PLAIN,
        dialogs: &[],
        session_before_dialog: false,
        ready: "ctrl+p commands",
        starts_session_at_once: false,
        command_call: None,
        asking_call: None,
        permission: "Permission required",
        allow: &["Enter"],
        reject: Some(&["Right", "Right", "Enter"]),
        continues_after_rejection: false,
        question: Some((
            "question",
            r#"{"questions":[{"question":"Which database should I use?","header":"Database",
                "options":[{"label":"SQLite","description":"One file"},{"label":"PostgreSQL","description":"A server"}]}]}"#,
            &["Enter"],
        )),
        question_mode: &[],
        interrupt: &["Escape", "Escape"],
        plan: None,
        sub_agent: Some(("task", r#"{"description":"Look around","prompt":"Look around","subagent_type":"general"}"#)),
        sub_agent_asks: true,
        compact: Some("/compact"),
        quit: &["C-c"],
    },
];
