//! Where the hook process writes down what went wrong: it has no voice of its own.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use belay_core::{Excerpt, Timestamp};

/// A file that has grown beyond this is put aside.
const ROTATE_ABOVE_BYTES: u64 = 1024 * 1024;

/// Adds a line to `hook.log`. Fails silently: there is nobody left to tell.
pub(crate) fn append(logs: &Path, now: Timestamp, agent: &str, problem: &str) {
    let path = logs.join("hook.log");
    if std::fs::metadata(&path).is_ok_and(|found| found.len() > ROTATE_ABOVE_BYTES) {
        let _ = std::fs::rename(&path, logs.join("hook.log.1"));
    }
    let _ = std::fs::create_dir_all(logs);
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    if let Ok(mut file) = options.open(path) {
        let problem = Excerpt::with_limit(problem, 1024);
        let line = format!("{now} {agent}: {}\n", problem.as_str().replace('\n', " "));
        // One write, so that lines of several hooks do not mix.
        let _ = file.write_all(line.as_bytes());
    }
}
