//! A person answers an agent's permission prompt in Belay, in its terminal, or not at all.

use std::time::{Duration, Instant};

use belay_agent_tests::agent_setups::{CLAUDE_CODE, CODEX, OPENCODE, QWEN};
use belay_agent_tests::compare::contains;
use belay_agent_tests::{Agent, AgentSetup, Terminal, Workbench};
use belay_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

use super::belay::Belay;

/// Reached only if something hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(300);

const COMMAND: &str = "touch made-by-agent";

/// A CLI with a terminal, which asks before it runs [`COMMAND`].
struct Asking {
    setup: &'static AgentSetup,
    /// Settings that skip the dialogs of a first start, with `{work}` for the project.
    file: (&'static str, &'static str),
    /// Its name of the tool.
    tool: &'static str,
    call: fn(Script) -> Script,
    /// What the terminal's own prompt shows.
    terminal_asks: &'static str,
}

static CLAUDE: Asking = Asking {
    setup: &AgentSetup { start: &["--permission-mode", "default", "{prompt}"], ..CLAUDE_CODE },
    file: (
        ".claude.json",
        r#"{"hasCompletedOnboarding":true,"lastOnboardingVersion":"2.1.325","theme":"dark",
            "customApiKeyResponses":{"approved":["sk-test"],"rejected":[]},
            "projects":{"{work}":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}"#,
    ),
    tool: "Bash",
    call: |script| script.shell(COMMAND),
    terminal_asks: "Do you want to proceed?",
};

static CODEX_TERMINAL: Asking = Asking {
    setup: &AgentSetup {
        files: &[],
        start: &["--no-daemon", "-c", "model_providers.scripted.base_url=\"{url}/v1\"", "{prompt}"],
        ..CODEX
    },
    file: (
        ".codex/config.toml",
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n\
         [analytics]\nenabled = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\
         [projects.\"{work}\"]\ntrust_level = \"trusted\"\n\
         [notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n\
         [tui]\nscreen_reader_detection_done = true\n[tui.model_availability_nux]\n\"gpt-6.1-sol\" = 1\n",
    ),
    tool: "Bash",
    call: |script| {
        let args = json!({ "cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "to make it" });
        script.call("exec_command", args)
    },
    terminal_asks: "Would you like to run",
};

static OPENCODE_TERMINAL: Asking = Asking {
    setup: &AgentSetup { files: &[], start: &["--prompt", "{prompt}"], ..OPENCODE },
    file: (
        ".config/opencode/opencode.json",
        r#"{"autoupdate":false,"share":"disabled","model":"scripted/scripted-model","small_model":"scripted/scripted-model",
            "permission":{"bash":"ask"},"provider":{"scripted":{"npm":"@ai-sdk/openai-compatible",
            "options":{"baseURL":"{env:SCRIPTED_URL}/v1","apiKey":"sk-test"},
            "models":{"scripted-model":{"tool_call":true,"limit":{"context":200000,"output":8000}}}}}}"#,
    ),
    tool: "bash",
    call: |script| script.shell(COMMAND),
    terminal_asks: "Permission required",
};

static QWEN_TERMINAL: Asking = Asking {
    setup: &AgentSetup { files: &[], start: &["--approval-mode", "default", "-i", "{prompt}"], ..QWEN },
    file: (
        ".qwen/settings.json",
        r#"{"security":{"auth":{"selectedType":"openai"},"folderTrust":{"enabled":false}},
            "privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false},
            "model":{"skipLoopDetection":true}}"#,
    ),
    tool: "run_shell_command",
    call: |script| script.shell(COMMAND),
    terminal_asks: "Allow execution",
};

/// An agent in a terminal, with Belay's hooks and approvals.
struct Scene<'a> {
    bench: &'a Workbench,
    belay: Belay<'a>,
    model: ScriptedModel,
    terminal: Terminal,
}

impl<'a> Scene<'a> {
    fn start(asking: &Asking, agent: &Agent, bench: &'a Workbench, wait: &str) -> Self {
        let (file, content) = asking.file;
        let file = bench.home().join(file);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        let work = bench.work().display().to_string();
        std::fs::write(file, content.replace("{work}", &work)).expect("a file");
        let belay = Belay::install(agent, bench);
        belay.text(&["config", "set", "approvals.enabled", "true", "--json"]);
        belay.text(&["config", "set", "approvals.wait", wait, "--json"]);
        belay.resident();
        let model = ScriptedModel::start((asking.call)(Script::new()).text("Done.")).expect("a model");
        let command = agent.run(bench, &model.url(), "Make the file").command();
        let terminal = Terminal::start(bench, &command).expect("a terminal");
        Self { bench, belay, model, terminal }
    }

    fn until<T>(&self, what: &str, wanted: impl Fn() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = wanted() {
                return found;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "no {what}:\n{}", self.terminal.screen());
        }
    }

    fn prompt(&self) -> Value {
        self.until("prompt", || self.belay.json(&["approvals", "--json"])["approvals"].get(0).cloned())
    }

    fn ran(&self) -> bool {
        self.bench.work().join("made-by-agent").exists()
    }

    /// The model's view of the call: the request that carries its result.
    fn result(&self) -> belay_scripted_model::Recorded {
        let turns = self.model.wait_for_turns(2, TEST_TIMEOUT);
        turns.unwrap_or_else(|error| panic!("{error:?}:\n{}", self.terminal.screen())).remove(1)
    }
}

fn bench(asking: &Asking) -> Option<(Agent, Workbench)> {
    let agent = Agent::or_skip(asking.setup)?;
    if !Terminal::is_available() {
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), "\nskipped: {}: tmux is not installed\n", asking.setup.name);
        return None;
    }
    Some((agent, Workbench::new().expect("a workbench")))
}

fn allow_runs_the_command(asking: &Asking) {
    let Some((agent, bench)) = bench(asking) else { return };
    let scene = Scene::start(asking, &agent, &bench, "5m");
    let prompt = scene.prompt();
    assert_eq!((prompt["tool"].as_str(), prompt["text"].as_str()), (Some(asking.tool), Some(COMMAND)), "{prompt}");
    let session = scene.belay.session();
    assert_eq!(session["status"]["waiting_for"], "permission", "{session}");
    assert!(!scene.ran(), "nothing runs without an answer");
    let id = prompt["id"].as_str().expect("an id");
    scene.belay.json(&["approve", id, "--json"]);
    scene.result();
    assert!(scene.ran(), "{}", scene.terminal.screen());
    assert!(scene.belay.refused(&["deny", id]).contains("allowed it"), "the first answer won");
    assert_eq!(scene.belay.faults(), "");
}

fn deny_tells_the_model_why(asking: &Asking) {
    let Some((agent, bench)) = bench(asking) else { return };
    let scene = Scene::start(asking, &agent, &bench, "5m");
    let prompt = scene.prompt();
    let why = "use the staging folder";
    scene.belay.json(&["deny", prompt["id"].as_str().expect("an id"), "--why", why, "--json"]);
    let reported = scene.result();
    assert!(contains(&reported, why), "the model reads the reason");
    assert!(!scene.ran(), "{}", scene.terminal.screen());
}

fn without_an_answer_the_terminal_asks(asking: &Asking) {
    let Some((agent, bench)) = bench(asking) else { return };
    let scene = Scene::start(asking, &agent, &bench, "500ms");
    scene.until("prompt of the terminal", || scene.terminal.screen().contains(asking.terminal_asks).then_some(()));
    scene.until("end of the offer", || {
        let pending = &scene.belay.json(&["approvals", "--json"])["approvals"];
        (*pending == json!([])).then_some(())
    });
    assert!(!scene.ran(), "the offer ended without an answer");
    // Both list "yes" first.
    scene.terminal.press("Enter").expect("a key");
    scene.result();
    assert!(scene.ran(), "{}", scene.terminal.screen());
}

mod claude_code {
    #[test]
    fn allow_runs_the_command() {
        super::allow_runs_the_command(&super::CLAUDE);
    }

    #[test]
    fn deny_tells_the_model_why() {
        super::deny_tells_the_model_why(&super::CLAUDE);
    }

    #[test]
    fn without_an_answer_the_terminal_asks() {
        super::without_an_answer_the_terminal_asks(&super::CLAUDE);
    }

    /// Its terminal asks while Belay offers the prompt.
    #[test]
    fn an_answer_in_the_terminal_wins_if_it_is_first() {
        let asking = &super::CLAUDE;
        let Some((agent, bench)) = super::bench(asking) else { return };
        let scene = super::Scene::start(asking, &agent, &bench, "5m");
        let prompt = scene.prompt();
        scene.until("prompt of the terminal", || scene.terminal.screen().contains(asking.terminal_asks).then_some(()));
        scene.terminal.press("Enter").expect("a key");
        scene.result();
        assert!(scene.ran());
        let late = scene.belay.refused(&["deny", prompt["id"].as_str().expect("an id")]);
        assert!(late.contains("already decided"), "{late}");
    }
}

mod codex {
    #[test]
    fn allow_runs_the_command() {
        super::allow_runs_the_command(&super::CODEX_TERMINAL);
    }

    #[test]
    fn deny_tells_the_model_why() {
        super::deny_tells_the_model_why(&super::CODEX_TERMINAL);
    }

    #[test]
    fn without_an_answer_the_terminal_asks() {
        super::without_an_answer_the_terminal_asks(&super::CODEX_TERMINAL);
    }
}

mod opencode {
    #[test]
    fn allow_runs_the_command() {
        super::allow_runs_the_command(&super::OPENCODE_TERMINAL);
    }

    #[test]
    fn deny_tells_the_model_why() {
        super::deny_tells_the_model_why(&super::OPENCODE_TERMINAL);
    }

    #[test]
    fn without_an_answer_the_terminal_asks() {
        super::without_an_answer_the_terminal_asks(&super::OPENCODE_TERMINAL);
    }
}

mod qwen {
    #[test]
    fn allow_runs_the_command() {
        super::allow_runs_the_command(&super::QWEN_TERMINAL);
    }

    #[test]
    fn deny_tells_the_model_why() {
        super::deny_tells_the_model_why(&super::QWEN_TERMINAL);
    }

    #[test]
    fn without_an_answer_the_terminal_asks() {
        super::without_an_answer_the_terminal_asks(&super::QWEN_TERMINAL);
    }
}
