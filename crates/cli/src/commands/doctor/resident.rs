//! The resident process and its log.

use std::time::Duration;

use belay_clock::now;
use belay_ipc::{Client, ClientError, StatusResponse};
use belay_server::instance_lock;

use super::CheckResult;
use crate::context::Context;
use crate::format::relative_past;

const CHECK: &str = "resident";

pub(super) fn resident(context: &Context) -> Vec<CheckResult> {
    let status = Client::connect(&context.paths, Duration::from_secs(3)).and_then(|mut client| client.status(false));
    match status {
        Ok(status) => running(&status),
        Err(ClientError::NotRunning(_)) => absent(context),
        Err(error @ ClientError::Untrusted { .. }) => vec![
            CheckResult::failed(CHECK, error.to_string())
                .fix("make the directory your own with mode 700; hooks decide without the resident process meanwhile"),
        ],
        Err(error) => vec![
            CheckResult::failed(CHECK, format!("runs but does not respond: {error}"))
                .fix("restart it: `belay stop`, then `belay serve`; agents continue meanwhile"),
        ],
    }
}

fn running(status: &StatusResponse) -> Vec<CheckResult> {
    let mut rows = Vec::new();
    let since = relative_past(status.started_at, now());
    let page = status
        .url
        .as_ref()
        .map_or_else(|| "no dashboard (`belay serve` opens it)".to_owned(), |url| format!("dashboard {url}"));
    if status.version == belay_server::VERSION {
        rows.push(CheckResult::ok(CHECK, format!("running (pid {}, started {since}), {page}", status.pid)));
    } else {
        let finding =
            format!("running version {}, but this command is version {}", status.version, belay_server::VERSION);
        rows.push(CheckResult::warning(CHECK, finding).fix("restart it: `belay stop`, then `belay serve`"));
    }
    rows.extend(status.notices.iter().map(|notice| {
        CheckResult::warning(CHECK, notice.trim_end_matches('.'))
            .fix("if you did not mean this, unset it and restart: `belay stop`, then `belay serve`")
    }));
    if let Some(problem) = &status.health.problem {
        let finding =
            format!("{problem}; {} events wait in memory, {} were lost", status.health.spooled, status.health.dropped);
        let row = CheckResult::failed(CHECK, finding);
        rows.push(status.health.hint.iter().fold(row, |row, hint| row.fix(hint)));
    }
    if let Some(row) = socket_mode(&status.socket) {
        rows.push(row);
    }
    rows
}

fn socket_mode(socket: &str) -> Option<CheckResult> {
    use std::os::unix::fs::MetadataExt;
    let mode = std::fs::metadata(socket).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        CheckResult::failed("socket", format!("{socket} is accessible to other users (mode {mode:o})"))
            .fix(format!("chmod 600 {socket}"))
    })
}

fn absent(context: &Context) -> Vec<CheckResult> {
    let held = instance_lock::is_locked(&context.paths.lock()).unwrap_or(false);
    if held {
        let finding = format!("a process holds {}, but the socket does not respond", context.paths.lock().display());
        return vec![
            CheckResult::warning(CHECK, finding)
                .fix("it may be starting or stopping; otherwise kill it and run `belay serve`"),
        ];
    }
    if context.paths.socket().exists() {
        let finding = "not running; a stale socket remains from a crash".to_owned();
        return vec![CheckResult::note(CHECK, finding).fix("nothing to do; the next `belay serve` replaces it")];
    }
    vec![CheckResult::note(CHECK, "not running; hooks and commands work without it").fix("start it with `belay serve`")]
}

/// Lines of the log that are searched for errors.
const LOG_TAIL_LINES: usize = 200;

pub(super) fn log(context: &Context) -> Vec<CheckResult> {
    let path = context.paths.logs().join("serve.log");
    let Ok(text) = std::fs::read(&path) else { return Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().rev().take(LOG_TAIL_LINES).collect();
    let errors: Vec<&&str> = lines.iter().filter(|line| line.contains(" ERROR ")).collect();
    match errors.first() {
        None => vec![CheckResult::ok("log", path.display().to_string())],
        Some(last) => {
            let finding = format!("{} recent errors; the last: {}", errors.len(), last.trim());
            vec![CheckResult::warning("log", finding).fix(format!("read {}", path.display()))]
        }
    }
}
