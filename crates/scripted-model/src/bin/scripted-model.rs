//! The scripted model as a process: `scripted-model --script play.toml [--port 8080] [--record DIR]`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use belay_scripted_model::{Options, Script, ScriptedModel};

const USAGE: &str = "usage: scripted-model --script FILE [--port PORT] [--record DIR]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "scripted-model: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let mut script = None;
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--script" => script = Some(PathBuf::from(value()?)),
            "--port" => options.port = value()?.parse().map_err(|error| format!("--port: {error}"))?,
            "--record" => options.dir = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return print_line(USAGE),
            other => return Err(format!("unknown argument {other:?}\n{USAGE}")),
        }
    }
    let script = Script::load(&script.ok_or(USAGE)?).map_err(|error| error.to_string())?;
    if let Some(dir) = &options.dir {
        std::fs::create_dir_all(dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    }
    let model = ScriptedModel::start_with(script, options).map_err(|error| format!("cannot start: {error}"))?;
    print_line(&model.url())?;
    // Serve until the process is killed.
    loop {
        std::thread::park();
    }
}

fn print_line(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}
