//! Scripts shared by several suites.

use std::io;
use std::time::Duration;

use belay_scripted_model::{Script, ScriptedModel};

use crate::installed_agents::Agent;
use crate::run::Finished;
use crate::workbench::Workbench;

/// Reached only if something hangs, even on a busy machine.
pub const SCENARIO_TIMEOUT: Duration = Duration::from_secs(600);

/// Healthy work in thirty calls: explore, run the tests, fix one issue after the other while the tests confirm it. The
/// same commands repeat, each time with a new result, so this is not a loop.
pub fn thirty_calls(bench: &Workbench) -> Script {
    let (check, work) = (bench.path("check.sh"), bench.path("work.txt"));
    let open: String = (1..=6).map(|number| format!("todo {number}\n")).collect();
    let mut script = Script::new()
        .shell("ls")
        .with_text("I will look around first.")
        .read(bench.path("README.md"))
        .write(&check, "open=$(grep -c todo work.txt)\necho \"$open failed\"\ntest \"$open\" = 0\n")
        .write(&work, open);
    for number in 1..=6 {
        script = script
            .shell("sh check.sh")
            .read(&work)
            .edit(&work, format!("todo {number}"), format!("done {number}"))
            .shell(format!("grep -n 'done {number}' work.txt"));
    }
    script.shell("sh check.sh").shell("git status --short").text("All six are done.")
}

/// One of two parallel sessions.
#[derive(Debug)]
pub struct ParallelSession {
    /// Its name in prompts and commands.
    pub name: &'static str,
    pub model: ScriptedModel,
    pub finished: Finished,
}

/// Runs two sessions in one directory to their ends. `script` must hold its first response: neither continues before both
/// have started.
pub fn run_parallel(
    agent: &Agent,
    bench: &Workbench,
    script: impl Fn(&str) -> Script,
) -> io::Result<[ParallelSession; 2]> {
    let start = |name: &'static str, seed| {
        let model = ScriptedModel::start(script(name).seed(seed))?;
        let running = agent.run(bench, &model.url(), &format!("Say {name}")).start()?;
        io::Result::Ok((name, model, running))
    };
    // Not at the same time: opencode exits if its database is locked.
    let left = start("left", 1)?;
    left.1.wait_for_turns(1, SCENARIO_TIMEOUT).map_err(io::Error::other)?;
    let right = start("right", 2)?;
    right.1.wait_for_turns(1, SCENARIO_TIMEOUT).map_err(io::Error::other)?;
    let both = [left, right];
    both.iter().for_each(|(_, model, _)| model.release());
    let [left, right] = both.map(|(name, model, running)| {
        let finished = running.finish()?;
        io::Result::Ok(ParallelSession { name, model, finished })
    });
    Ok([left?, right?])
}

/// Generates one test per scenario and agent: `codex::<scenario>`, `gemini::<scenario>`, and so on. A scenario is a
/// function of a sibling module and takes the agent's setup.
#[macro_export]
macro_rules! for_each_agent {
    ($($file:ident::$scenario:ident),* $(,)?) => {
        $crate::for_each_agent! { codex CODEX: $($file::$scenario),* }
        $crate::for_each_agent! { claude_code CLAUDE_CODE: $($file::$scenario),* }
        $crate::for_each_agent! { gemini GEMINI: $($file::$scenario),* }
        $crate::for_each_agent! { copilot COPILOT: $($file::$scenario),* }
        $crate::for_each_agent! { opencode OPENCODE: $($file::$scenario),* }
    };
    ($agent:ident $setup:ident: $($file:ident::$scenario:ident),*) => {
        mod $agent {
            $(
                #[test]
                fn $scenario() {
                    super::$file::$scenario(&$crate::agent_setups::$setup);
                }
            )*
        }
    };
}
