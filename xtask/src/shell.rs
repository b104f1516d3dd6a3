//! Running other programs, always by argv.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

/// The cargo that runs us, in the root of the project.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Says what is run, runs it, and tells whether it succeeded.
pub(crate) fn run(command: &mut Command) -> Result<bool, String> {
    say(command);
    command.status().map(|status| status.success()).map_err(|e| not_started(command, &e))
}

/// As [`run`], and hands every line of standard output to `each` after printing it.
pub(crate) fn run_reading(command: &mut Command, mut each: impl FnMut(&str)) -> Result<bool, String> {
    say(command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| not_started(command, &e))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(|e| e.to_string())?;
            println!("{line}");
            each(&line);
        }
    }
    child.wait().map(|status| status.success()).map_err(|e| e.to_string())
}

/// Whether a program can be found and answers.
pub(crate) fn has(program: &str) -> bool {
    let probe = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok()
}

fn say(command: &Command) {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program);
    let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    println!("\n$ {name} {}", args.join(" "));
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("{} could not be started: {error}", command.get_program().to_string_lossy())
}
