//! Records labelled moments: what a session is really doing, next to what Belay has recorded of it.
//!
//! Each scenario drives a real CLI in a terminal, with the scripted model and Belay's hooks, and names at some moments
//! what the session is doing. It knows, because it has just pressed the key or holds the model's response back; it
//! never asks Belay. The recording of a session is one file of JSON lines in `crates/core/tests/moments`, from which
//! core's tests derive the status of every moment.
//!
//! `cargo xtask record moments [AGENT] [SCENARIO]` runs it.

mod poll;
mod process;
mod recording;
mod scenarios;
mod stage;
mod terminal;
mod terminal_setups;

use std::io;
use std::path::Path;

use crate::installed_agents::Agent;

/// Records the scenarios whose agent and name match, and returns what failed.
pub fn record(dir: &Path, agent: Option<&str>, scenario: Option<&str>) -> io::Result<Vec<String>> {
    let mut failures = Vec::new();
    for setup in terminal_setups::ALL {
        if agent.is_some_and(|name| name != setup.agent.name) {
            continue;
        }
        let cli = Agent::find(setup.agent).map_err(io::Error::other)?;
        for (name, play) in scenarios::ALL {
            if scenario.is_some_and(|wanted| wanted != *name) {
                continue;
            }
            let title = format!("{} {name}", setup.agent.name);
            let problem = match stage::Stage::new(&cli, setup, name).and_then(|mut stage| {
                play(&mut stage)?;
                stage.write(dir)
            }) {
                Ok(0) => "nothing to record".to_owned(),
                Ok(moments) => {
                    report(&format!("{title}: {moments} moments"));
                    continue;
                }
                Err(error) => error.to_string(),
            };
            report(&format!("{title}: {problem}"));
            failures.push(title);
        }
    }
    Ok(failures)
}

fn report(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(io::stderr(), "{line}");
}
