//! Runs other programs, always by argv.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

/// The cargo that runs this program, in the root of the project.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Prints the command, runs it, and returns whether it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool, String> {
    announce(command);
    command.status().map(|status| status.success()).map_err(|error| cannot_start(command, &error))
}

/// Runs a command in the background: its output goes to a log file, and it is killed after `timeout`.
pub(crate) fn run_logged(command: &mut Command, log: &Path, timeout: Duration) -> Result<(), String> {
    announce(command);
    let cannot_log = |error| format!("cannot write {}: {error}", log.display());
    let output = File::create(log).map_err(cannot_log)?;
    let errors = output.try_clone().map_err(cannot_log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let started = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{} failed with {status}; see {}", name(command), log.display())),
            None if started.elapsed() > timeout => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{} did not finish within {} s", name(command), timeout.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Whether a program can be started.
pub(crate) fn has(program: &str) -> bool {
    version(Path::new(program)).is_some()
}

/// What a program prints for `--version`, if it can be started.
pub(crate) fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn announce(command: &Command) {
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    println!("\n$ {} {}", name(command), args.join(" "));
}

fn name(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    program.rsplit('/').next().unwrap_or(&program).to_owned()
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", name(command))
}
