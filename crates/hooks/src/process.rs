//! The hook process: arguments, standard input, the two ways to a decision, the response.
//!
//! It is started twice per tool call, so it does as little as possible: no argument parser library, no runtime, and no
//! configuration unless it decides in-process.

mod hold;
mod payload;
mod ticket;

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use belay_agents::hook::HookPoint;
use belay_config::{DiagnosticSink, DurationSetting, EnvSnapshot, Loader, PathArgs, Paths, Strictness};
use belay_core::Timestamp;
use belay_engine::{Engine, SpoolDir};
use belay_ipc::{Client, ClientError, HookRequest, HookResponse, HookTicket};

use crate::daemon_autostart::StartedBy;
use crate::handler::{HookHost, HookOffer, HookState, handle_hook};
use crate::hook_log;
use crate::local_facts::agent_process::write_to_stderr_of;
use ticket::HookCall;

const HELP: &str = "\
Called by an agent's hooks, not by people: reads the agent's JSON on standard input and responds in
the agent's format. It always exits with 0; errors are in hook.log in the state directory.

Usage: belay hook <AGENT> [EVENT] [--home DIR] [--user-config FILE] [--runtime-dir DIR]

  AGENT   claude-code, codex, copilot, gemini, opencode, qwen, cursor (experimental),
          or `plugin` for whichever agent has loaded Belay's plugin
  EVENT   the event's name, for agents whose payloads do not carry it

The environment belongs to the agent: except for BELAY_SESSION, BELAY_HOOK_TIMEOUT and CI, a hook
takes no setting from it. Without --home, the state is in the home directory of the user database.

Set it as the command of an agent's hooks.
";

/// Total timeout of the resident process; short enough that an agent does not notice it.
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_millis(50);

/// Maximum of `BELAY_HOOK_TIMEOUT`; a decision in-process must still fit into [`DECISION_TIMEOUT`].
const MAX_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a decision may take. Agents give some hooks a day, so that they can wait for a person.
const DECISION_TIMEOUT: Duration = Duration::from_secs(10);

/// Files of saved events that one hook records. An agent waits for it.
const MAX_TAKEN_IN: usize = 16;

/// Idle timeout of the resident process if the configuration is invalid.
const DEFAULT_IDLE_EXIT: DurationSetting = DurationSetting::new(Duration::from_secs(30 * 60));

/// Runs `belay hook`. It returns nothing, because the exit status is always 0.
pub fn run(args: &HookArgs) {
    // Agents read standard error as a message, some even as a refusal.
    std::panic::set_hook(Box::new(|_| {}));
    if args.help || std::io::stdin().is_terminal() {
        print(HELP.as_bytes());
        return;
    }
    let (mut env, suspicious) = EnvSnapshot::for_hook();
    if args.paths.home.is_none() {
        env = env.with_home_of_user();
    }
    let now = belay_clock::now();
    let Ok(paths) = Paths::resolve_with(&env, &args.paths) else { return };
    let log = |problem: &str| hook_log::append(&paths.logs(), now, &args.agent, problem);
    log_suspicious_variables(&paths, now, &args.agent, &suspicious);
    let watchdog = hold::Watchdog::arm(DECISION_TIMEOUT);
    let response = AssertUnwindSafe(|| {
        let decided = decide(args, env, &paths, now, &log);
        watchdog.disarm();
        decided.map(Decided::await_answer).unwrap_or_default()
    });
    match catch_unwind(response) {
        Ok(response) => {
            if let Some(session) = &response.wait_for
                && hold::wait_until_released(&paths, session) == hold::WaitEnd::Released
            {
                return;
            }
            print(response.stdout.as_bytes());
            if let Some(pid) = response.stderr_of {
                write_to_stderr_of(pid, &response.reason);
            }
            if let Some(pid) = response.interrupt {
                belay_process::interrupt(pid);
            }
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            log(&format!("Belay panicked; the agent continues: {text}"));
        }
    }
}

/// The arguments of `belay hook`. None of them is ever an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HookArgs {
    pub agent: String,
    pub event: Option<String>,
    pub paths: PathArgs,
    pub help: bool,
}

impl HookArgs {
    /// Parses the arguments before and after `hook`.
    pub fn parse(mut args: impl Iterator<Item = OsString>) -> Self {
        let mut parsed = Self::default();
        while let Some(arg) = args.next() {
            let text = arg.to_string_lossy();
            match &*text {
                "--help" | "-h" => parsed.help = true,
                flag if flag.starts_with("--") => {
                    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                    if let Some(path) = parsed.path_of(name) {
                        *path = value.map(PathBuf::from).or_else(|| args.next().map(PathBuf::from));
                    }
                }
                flag if flag.starts_with('-') => {}
                name if parsed.agent.is_empty() => parsed.agent = name.to_owned(),
                name if parsed.event.is_none() => parsed.event = Some(name.to_owned()),
                _ => {}
            }
        }
        parsed
    }

    fn path_of(&mut self, flag: &str) -> Option<&mut Option<PathBuf>> {
        match flag {
            "--home" => Some(&mut self.paths.home),
            "--user-config" => Some(&mut self.paths.user_config),
            "--runtime-dir" => Some(&mut self.paths.runtime_dir),
            _ => None,
        }
    }
}

/// Says once in `hook.log` which variables a hook found and does not take, or cannot refuse.
fn log_suspicious_variables(paths: &Paths, now: Timestamp, agent: &str, names: &[String]) {
    for name in names {
        let effect = match name.starts_with("BELAY_") {
            true => "and has no effect there; for one run, use `belay run --set KEY=VALUE` or `belay run --observe`",
            false => "and loads code into them",
        };
        hook_log::append_variable(&paths.logs(), now, agent, name, effect);
    }
}

/// A call and the decision about it.
struct Decided<'a> {
    call: HookCall<'a>,
    response: HookResponse,
    /// The resident process ended while it had the call, and this process cannot do what it would have done: make the
    /// agent wait for an answer.
    is_incomplete: bool,
}

impl Decided<'_> {
    fn await_answer(self) -> HookResponse {
        let Self { call, response, is_incomplete } = self;
        let again = if is_incomplete { call.repeat() } else { None };
        call.await_ticket(again.unwrap_or(response))
    }
}

/// Decides about the call on standard input; `None` if there is none.
fn decide<'a>(
    args: &'a HookArgs,
    env: EnvSnapshot,
    paths: &Paths,
    now: Timestamp,
    log: &dyn Fn(&str),
) -> Option<Decided<'a>> {
    let payload = match payload::read_bounded(std::io::stdin().lock()) {
        Ok(payload) => payload,
        Err(error) => {
            log(&format!("cannot read the payload; the agent continues: {error}"));
            return None;
        }
    };
    let request = HookRequest {
        id: uuid::Uuid::now_v7().to_string(),
        agent: args.agent.clone(),
        event: args.event.clone(),
        payload,
        at: now,
        pid: parent(),
        ci: env.is_ci(),
        cwd: std::env::current_dir().ok().and_then(|cwd| cwd.to_str().map(str::to_owned)),
        run: env.text("BELAY_SESSION").map(str::to_owned),
    };
    let ask = |paths: &Paths| {
        let client = Client::connect_with_deadline(paths, request_timeout(&env));
        client.and_then(|mut client| client.hook(&request))
    };
    let asked = ask(paths);
    let answered = |env, paths, request, response| {
        Some(Decided { call: HookCall { args, env, paths, request }, response, is_incomplete: false })
    };
    if let Ok(response) = asked {
        return answered(env, paths.clone(), request, response);
    }
    // Looking the home directory up takes time, so it is done only now. The socket may be there, and the search for a
    // project's configuration ends there.
    let env_with_home = env.clone().with_home_of_user();
    let found = Paths::resolve_with(&env_with_home, &args.paths).unwrap_or_else(|_| paths.clone());
    let absent = match asked {
        Err(ClientError::NotRunning(_)) if found.runtime_socket() != paths.runtime_socket() => ask(&found),
        asked => asked,
    };
    let (env, paths) = (env_with_home, found);
    let error = match absent {
        Ok(response) => return answered(env, paths, request, response),
        Err(error) => error,
    };
    let is_absent = matches!(error, ClientError::NotRunning(_));
    if !is_absent {
        log(&format!("the hook decided in-process: {error}"));
    }
    let host = OfferRecorder::default();
    let response = decide_in_process(&env, &paths, &request, is_absent.then_some(args), &host, log);
    let is_incomplete = !is_absent && error.is_gone() && host.0.get();
    Some(Decided { call: HookCall { args, env, paths, request }, response, is_incomplete })
}

/// Notices whether a resident process might make the hook wait, other than for a message that can come later as well.
#[derive(Default)]
struct OfferRecorder(Cell<bool>);

impl HookHost for OfferRecorder {
    fn offer(&self, offer: HookOffer) -> Option<HookTicket> {
        // In continuous integration nobody answers.
        self.0.set(offer.point != HookPoint::AfterTool && !offer.ci);
        None
    }
}

/// `BELAY_HOOK_TIMEOUT` within its bounds. An invalid value means the default: a hook reports nothing to the agent.
fn request_timeout(env: &EnvSnapshot) -> Duration {
    let chosen = env.text("BELAY_HOOK_TIMEOUT").and_then(|text| text.parse::<DurationSetting>().ok());
    let chosen = chosen.and_then(DurationSetting::get).filter(|timeout| !timeout.is_zero());
    chosen.unwrap_or(DEFAULT_REQUEST_TIMEOUT).min(MAX_REQUEST_TIMEOUT)
}

/// Decides on the store, as the resident process would. Also starts that if it is absent.
fn decide_in_process(
    env: &EnvSnapshot,
    paths: &Paths,
    request: &HookRequest,
    absent: Option<&HookArgs>,
    host: &dyn HookHost,
    log: &dyn Fn(&str),
) -> HookResponse {
    // Fails in a read-only home, where a stored pause still applies.
    if let Err(error) = paths.create() {
        log(&format!("cannot use the state directory: {error}"));
    }
    if let Some(args) = absent
        && let Some(idle) = autostart_idle(env, paths, request.cwd.as_deref())
    {
        start_resident(env, paths, args, idle);
    }
    let engine = RefCell::new(belay_engine::open_for_hook(paths, env, config_problem_log(paths.logs())));
    let response = handle_hook(&HookState::default(), &engine, request, host);
    let fault = engine.borrow().health().fault;
    match fault {
        Some(fault) => save_events(&engine, &fault.problem, log),
        // What earlier hooks could not record. A failure is for the resident process to report.
        None => drop(SpoolDir::new(paths.spool()).take_in(&engine, MAX_TAKEN_IN)),
    }
    response
}

/// Saves events that the store did not take, for a process that can write to it.
fn save_events(engine: &RefCell<Engine>, problem: &str, log: &dyn Fn(&str)) {
    let continues = "the agent continues unless its session is held";
    match engine.borrow_mut().save_spool() {
        Ok(0) => log(&format!("decided without the store; {continues}: {problem}")),
        Ok(_) => log(&format!("to be recorded later; {continues}: {problem}")),
        Err(error) => log(&format!("not recorded; {continues}: {problem}; cannot save the events: {error}")),
    }
}

/// Writes problems of the configuration to `hook.log`, for processes whose output no person reads.
pub fn config_problem_log(logs: PathBuf) -> DiagnosticSink {
    Box::new(move |note| hook_log::append_once(&logs, belay_clock::now(), "configuration", &note.to_string()))
}

/// After which idle time a resident process exits that a hook starts; `None` if hooks start none. An invalid
/// configuration does not prevent supervision.
fn autostart_idle(env: &EnvSnapshot, paths: &Paths, cwd: Option<&str>) -> Option<DurationSetting> {
    let mut loader = Loader::new(paths, env).strictness(Strictness::Lenient);
    if let Some(cwd) = cwd {
        loader = loader.from_dir(cwd);
    }
    match loader.load().map(|loaded| loaded.config.hooks) {
        Ok(hooks) => hooks.autostart.then_some(hooks.idle_exit),
        Err(_) => Some(DEFAULT_IDLE_EXIT),
    }
}

fn start_resident(env: &EnvSnapshot, paths: &Paths, args: &HookArgs, idle: DurationSetting) {
    let started = std::env::current_exe()
        .and_then(|belay| crate::daemon_autostart::start(paths, StartedBy::Agent(env), &belay, idle));
    if let Err(error) = started {
        let problem = format!("cannot start the resident process: {error}");
        hook_log::append(&paths.logs(), belay_clock::now(), &args.agent, &problem);
    }
}

fn parent() -> Option<u32> {
    rustix::process::getppid().and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

fn print(bytes: &[u8]) {
    if !bytes.is_empty() {
        let mut out = std::io::stdout().lock();
        // The agent may have closed the pipe.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests;
