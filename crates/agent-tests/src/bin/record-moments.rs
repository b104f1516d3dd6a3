//! Records labelled moments of real CLIs: `record-moments DIR [AGENT] [SCENARIO]`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = args.first() else {
        let _ = writeln!(std::io::stderr(), "usage: record-moments DIR [AGENT] [SCENARIO]");
        return ExitCode::FAILURE;
    };
    let chosen = |at: usize| args.get(at).map(String::as_str).filter(|name| *name != "-");
    match belay_agent_tests::moments::record(Path::new(dir), chosen(1), chosen(2)) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            let _ = writeln!(std::io::stderr(), "not recorded: {}", failures.join(", "));
            ExitCode::FAILURE
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "record-moments: {error}");
            ExitCode::FAILURE
        }
    }
}
