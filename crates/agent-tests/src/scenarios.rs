//! Scripts that several suites play.

use std::io;
use std::time::Duration;

use belay_scripted_model::{Script, ScriptedModel};

use crate::installed_agents::Agent;
use crate::run::Finished;
use crate::workbench::Workbench;

/// Far above what anything takes, even on a machine busy with builds.
pub const SCENARIO_TIMEOUT: Duration = Duration::from_secs(600);

/// Honest work in thirty calls: look around, run the tests, fix one thing after the other while the tests confirm it.
/// The same commands come again and again, each time with something new to show, so nothing here is a loop.
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

/// One of two sessions side by side.
#[derive(Debug)]
pub struct ParallelSession {
    /// What it is called.
    pub word: &'static str,
    pub model: ScriptedModel,
    pub finished: Finished,
}

/// Two sessions in one folder, to the end. `script` must hold its first answer: neither goes on before both have begun.
pub fn side_by_side(
    agent: &Agent,
    bench: &Workbench,
    script: impl Fn(&str) -> Script,
) -> io::Result<[ParallelSession; 2]> {
    let begin = |word: &'static str, seed| {
        let model = ScriptedModel::start(script(word).seed(seed))?;
        let running = agent.run(bench, &model.url(), &format!("Say {word}")).start()?;
        io::Result::Ok((word, model, running))
    };
    // One after the other: where two begin at the very same time, opencode finds its own database locked and gives up.
    let left = begin("left", 1)?;
    left.1.wait_for_turns(1, SCENARIO_TIMEOUT).map_err(io::Error::other)?;
    let right = begin("right", 2)?;
    right.1.wait_for_turns(1, SCENARIO_TIMEOUT).map_err(io::Error::other)?;
    let both = [left, right];
    both.iter().for_each(|(_, model, _)| model.release());
    let [left, right] = both.map(|(word, model, running)| {
        let finished = running.finish()?;
        io::Result::Ok(ParallelSession { word, model, finished })
    });
    Ok([left?, right?])
}

/// Tells each story of a suite once for every agent: `codex::<story>`, `gemini::<story>`, and so on. A story is a
/// function of a module beside the call, and takes the agent's recipe.
#[macro_export]
macro_rules! for_each_agent {
    ($($file:ident::$story:ident),* $(,)?) => {
        $crate::for_each_agent! { codex CODEX: $($file::$story),* }
        $crate::for_each_agent! { claude_code CLAUDE_CODE: $($file::$story),* }
        $crate::for_each_agent! { gemini GEMINI: $($file::$story),* }
        $crate::for_each_agent! { copilot COPILOT: $($file::$story),* }
        $crate::for_each_agent! { opencode OPENCODE: $($file::$story),* }
    };
    ($agent:ident $recipe:ident: $($file:ident::$story:ident),*) => {
        mod $agent {
            $(
                #[test]
                fn $story() {
                    super::$file::$story(&$crate::agent_setups::$recipe);
                }
            )*
        }
    };
}
