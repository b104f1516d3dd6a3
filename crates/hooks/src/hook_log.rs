//! The log of the hook process, whose standard streams belong to the agent.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use belay_core::printable::single_line;
use belay_core::{Excerpt, Timestamp};
use belay_fs::Links;

/// Size at which the file is rotated.
const ROTATE_ABOVE_BYTES: u64 = 1024 * 1024;

/// How much of the end of the file [`append_once`] reads.
const TAIL_BYTES: u64 = 8 * 1024;

/// What follows the name of a variable in a line about the environment of hooks.
const IN_ENVIRONMENT: &str = " is set in the environment of hooks";

/// Notes a variable in the environment of hooks, and what it does there.
pub(crate) fn append_variable(logs: &Path, now: Timestamp, agent: &str, name: &str, effect: &str) {
    append_once(logs, now, agent, &format!("{name}{IN_ENVIRONMENT} {effect}"));
}

/// The variables that the last lines note.
pub fn noted_variables(logs: &Path) -> BTreeSet<String> {
    let tail = tail(&logs.join("hook.log")).unwrap_or_default();
    let before = tail.lines().filter_map(|line| line.split_once(IN_ENVIRONMENT));
    before.filter_map(|(before, _)| before.rsplit(' ').next().map(str::to_owned)).collect()
}

/// Appends a line unless one of the last lines has the same text: hooks run for every call.
pub(crate) fn append_once(logs: &Path, now: Timestamp, agent: &str, problem: &str) {
    let message = message(problem);
    if !tail(&logs.join("hook.log")).is_some_and(|tail| tail.contains(&message)) {
        append(logs, now, agent, problem);
    }
}

fn tail(path: &Path) -> Option<String> {
    let mut file = belay_fs::open_regular(path, Links::Follow).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    Some(String::from_utf8_lossy(&tail).into_owned())
}

fn message(problem: &str) -> String {
    single_line(Excerpt::with_limit(problem, 1024).as_str()).into_owned()
}

/// Appends a line to `hook.log`. Errors are ignored, because there is nowhere to report them.
pub fn append(logs: &Path, now: Timestamp, agent: &str, problem: &str) {
    let path = logs.join("hook.log");
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > ROTATE_ABOVE_BYTES) {
        let _ = std::fs::rename(&path, logs.join("hook.log.1"));
    }
    let _ = std::fs::create_dir_all(logs);
    let mut options = OpenOptions::new();
    // Opening a FIFO would wait for its reader, and the agent goes on without an answer.
    options.append(true).create(true).mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    if let Ok(mut file) = options.open(path) {
        let line = format!("{now} {agent}: {}\n", message(problem));
        // One write, so that lines of several hooks do not mix.
        let _ = file.write_all(line.as_bytes());
    }
}
