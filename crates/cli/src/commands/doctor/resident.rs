//! The resident process and what it wrote to its log.

use std::time::Duration;

use belay_ipc::{Client, ClientError, StatusResponse};
use belay_server::instance_lock;

use super::CheckResult;
use crate::context::Context;
use crate::format::{now, relative_past};

const CHECK: &str = "resident";

pub(super) fn resident(context: &Context) -> Vec<CheckResult> {
    let asked = Client::connect(&context.places, Duration::from_secs(3)).and_then(|mut client| client.status(false));
    match asked {
        Ok(status) => running(&status),
        Err(ClientError::NotRunning(_)) => absent(context),
        Err(error) => vec![
            CheckResult::failed(CHECK, format!("it runs but does not answer: {error}"))
                .fix("restart it: `belay stop`, then `belay serve`; agents go on meanwhile"),
        ],
    }
}

fn running(status: &StatusResponse) -> Vec<CheckResult> {
    let mut rows = Vec::new();
    let since = relative_past(status.started_at, now());
    let page = status.url.as_ref().map_or_else(|| "no page".to_owned(), |url| format!("page at {url}"));
    if status.version == belay_server::VERSION {
        rows.push(CheckResult::ok(CHECK, format!("runs (pid {}, started {since}), {page}", status.pid)));
    } else {
        let finding = format!("runs version {}, this command is {}", status.version, belay_server::VERSION);
        rows.push(CheckResult::warning(CHECK, finding).fix("restart it: `belay stop`, then `belay serve`"));
    }
    if let Some(problem) = &status.health.problem {
        let finding =
            format!("{problem}; {} events wait in memory, {} are lost", status.health.spooled, status.health.dropped);
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
        CheckResult::failed("socket", format!("{socket} is open to others (mode {mode:o})"))
            .fix(format!("chmod 600 {socket}"))
    })
}

fn absent(context: &Context) -> Vec<CheckResult> {
    let held = instance_lock::is_locked(&context.places.lock()).unwrap_or(false);
    if held {
        let finding = format!("a process holds {} but no socket answers", context.places.lock().display());
        return vec![
            CheckResult::warning(CHECK, finding)
                .fix("it may just be starting or leaving; else end it and run `belay serve`"),
        ];
    }
    if context.places.socket().exists() {
        let finding = "does not run; a socket of one that ended abruptly is left".to_owned();
        return vec![CheckResult::note(CHECK, finding).fix("nothing to do: the next `belay serve` replaces it")];
    }
    vec![
        CheckResult::note(CHECK, "does not run; hooks and commands work without it").fix("start it with `belay serve`"),
    ]
}

/// Lines of the log looked at.
const LOG_TAIL_LINES: usize = 200;

pub(super) fn log(context: &Context) -> Vec<CheckResult> {
    let path = context.places.logs().join("serve.log");
    let Ok(text) = std::fs::read(&path) else { return Vec::new() };
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().rev().take(LOG_TAIL_LINES).collect();
    let errors: Vec<&&str> = lines.iter().filter(|line| line.contains(" ERROR ")).collect();
    match errors.first() {
        None => vec![CheckResult::ok("log", path.display().to_string())],
        Some(last) => {
            let finding = format!("{} errors lately; the last: {}", errors.len(), last.trim());
            vec![CheckResult::warning("log", finding).fix(format!("read {}", path.display()))]
        }
    }
}
