//! The hook process: arguments, standard input, the two ways to a decision, the answer.
//!
//! It is started twice per tool call, so it does as little as it can: no argument parser, no
//! runtime, no configuration unless it must decide by itself.

mod payload;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use belay_config::{DurationSetting, EnvSnapshot, Loader, Paths, Strictness};
use belay_core::Timestamp;
use belay_ipc::{Client, ClientError, HookRequest, HookResponse};
use belay_store::Access;

use crate::handler::{HookState, handle_hook};
use crate::hook_log;
use crate::local_facts::process;

const HELP: &str = "\
Called by an agent's hooks, not by people: reads the agent's JSON on standard input and answers in
the agent's own words. It always exits with 0; what went wrong is in hook.log in the state folder.

Usage: belay hook <AGENT> [EVENT] [--home DIR]

  AGENT   claude-code, codex, copilot, gemini, opencode, qwen, cursor (experimental),
          or `plugin` for whichever agent has loaded Belay's plugin
  EVENT   the event's name, for agents whose payloads do not carry it

Agents call it: name it as the command of their hooks.
";

/// How long the resident process may take in total: an agent does not notice this much.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(50);

/// How long a resident process stays without anything to do when no setting can be read.
const DEFAULT_IDLE_EXIT: DurationSetting = DurationSetting::new(Duration::from_secs(30 * 60));

/// Runs `belay hook`, with the arguments after `hook`. There is nothing to return: whatever happens,
/// the exit status is 0.
pub fn main(args: impl Iterator<Item = OsString>) {
    // Agents read standard error as a message, some even as a refusal.
    std::panic::set_hook(Box::new(|_| {}));
    let args = HookArgs::read(args);
    if args.help || std::io::stdin().is_terminal() {
        say(HELP.as_bytes());
        return;
    }
    let env = EnvSnapshot::from_process();
    let now = crate::now();
    let Ok(places) = Paths::resolve(&env, args.home.as_deref()) else { return };
    let log = |problem: &str| hook_log::append(&places.logs(), now, &args.agent, problem);
    match catch_unwind(AssertUnwindSafe(|| answer(&args, &env, &places, now, &log))) {
        Ok(answer) => {
            say(answer.stdout.as_bytes());
            if let Some(pid) = answer.interrupt {
                process::write_to_stderr_of(pid, &answer.reason);
                process::interrupt(pid);
            }
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
            log(&format!("Belay panicked and let the agent go on: {text}"));
        }
    }
}

/// What was said on the command line. Nothing in it is ever an error.
#[derive(Debug, Default, PartialEq, Eq)]
struct HookArgs {
    agent: String,
    event: Option<String>,
    home: Option<PathBuf>,
    help: bool,
}

impl HookArgs {
    fn read(mut args: impl Iterator<Item = OsString>) -> Self {
        let mut read = Self::default();
        while let Some(arg) = args.next() {
            let text = arg.to_string_lossy();
            match &*text {
                "--home" => read.home = args.next().map(PathBuf::from),
                "--help" | "-h" => read.help = true,
                flag if flag.starts_with("--home=") => read.home = Some(PathBuf::from(&flag["--home=".len()..])),
                flag if flag.starts_with('-') => {}
                word if read.agent.is_empty() => read.agent = word.to_owned(),
                word if read.event.is_none() => read.event = Some(word.to_owned()),
                _ => {}
            }
        }
        read
    }
}

fn answer(args: &HookArgs, env: &EnvSnapshot, places: &Paths, now: Timestamp, log: &dyn Fn(&str)) -> HookResponse {
    let payload = match payload::read_bounded(std::io::stdin().lock()) {
        Ok(payload) => payload,
        Err(error) => {
            log(&format!("cannot read the payload; the agent continues: {error}"));
            return HookResponse::default();
        }
    };
    let ask = HookRequest {
        id: uuid::Uuid::now_v7().to_string(),
        agent: args.agent.clone(),
        event: args.event.clone(),
        payload,
        at: now,
        pid: parent(),
        ci: is_ci(env),
        cwd: std::env::current_dir().ok().and_then(|cwd| cwd.to_str().map(str::to_owned)),
        run: env.text("BELAY_SESSION").map(str::to_owned),
    };
    let client = Client::connect_with_deadline(places, REQUEST_TIMEOUT);
    let absent = match client.and_then(|mut client| client.hook(&ask)) {
        Ok(response) => return response,
        Err(ClientError::NotRunning(_)) => true,
        Err(error) => {
            log(&format!("the hook decided in-process: {error}"));
            false
        }
    };
    match by_itself(env, places, &ask, absent.then_some(args)) {
        Ok(answer) => answer,
        Err(problem) => {
            log(&format!("nothing could be decided, so the agent goes on: {problem}"));
            HookResponse::default()
        }
    }
}

/// Decides on the store, as the resident process would. Starts that, too, if it is absent.
fn by_itself(
    env: &EnvSnapshot,
    places: &Paths,
    ask: &HookRequest,
    absent: Option<&HookArgs>,
) -> Result<HookResponse, String> {
    places.create().map_err(|error| error.to_string())?;
    if let Some(args) = absent {
        let mut loader = Loader::new(places, env).strictness(Strictness::Lenient);
        if let Some(cwd) = &ask.cwd {
            loader = loader.from_folder(cwd);
        }
        // A setting that cannot be read keeps nobody from being watched.
        match loader.load().map(|loaded| loaded.config.hooks) {
            Ok(hooks) if hooks.autostart => start_resident(env, places, args, hooks.idle_exit),
            Ok(_) => {}
            Err(_) => start_resident(env, places, args, DEFAULT_IDLE_EXIT),
        }
    }
    let engine = belay_engine::open(places, env, Vec::new(), Access::BriefWrite, Box::new(|_| {}));
    let engine = RefCell::new(engine.map_err(|error| error.to_string())?);
    Ok(handle_hook(&HookState::default(), &engine, ask, &|_, _| {}))
}

fn start_resident(env: &EnvSnapshot, places: &Paths, args: &HookArgs, idle: DurationSetting) {
    let started = std::env::current_exe()
        .and_then(|belay| crate::daemon_autostart::start(places, env, args.home.as_deref(), &belay, idle));
    if let Err(error) = started {
        let problem = format!("the resident process could not be started: {error}");
        hook_log::append(&places.logs(), crate::now(), &args.agent, &problem);
    }
}

fn parent() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

/// Whether nobody sits here.
pub fn is_ci(env: &EnvSnapshot) -> bool {
    env.text("CI").is_some_and(|ci| !matches!(ci, "0" | "false"))
}

fn say(bytes: &[u8]) {
    if !bytes.is_empty() {
        let mut out = std::io::stdout().lock();
        // An agent that does not listen has its reasons.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests;
