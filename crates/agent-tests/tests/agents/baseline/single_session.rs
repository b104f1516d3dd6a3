//! One session from prompt to end.

use belay_agent_tests::{Agent, AgentSetup, Finished, Workbench};
use belay_scripted_model::{Action, Input, Recorded, Script, ScriptedModel};

/// Runs a script to its end and checks that the CLI succeeded and used all of it.
pub(crate) fn play(agent: &Agent, bench: &Workbench, script: Script, prompt: &str) -> (Finished, ScriptedModel) {
    let model = ScriptedModel::start(script).expect("a model");
    let finished = agent.run(bench, &model.url(), prompt).finish().expect("an end");
    assert_eq!(model.complaints(), Vec::<String>::new());
    assert_eq!((finished.code, model.remaining()), (Some(0), 0), "{}", finished.output());
    (finished, model)
}

/// The result the agent sent back for each call of a turn, in the order of the calls.
fn results(of: &Recorded, next: &Recorded) -> Vec<String> {
    let results = next.tool_results();
    // Gemini puts the tool's name before the id.
    let find = |id: &str| results.iter().find(|result| result.id.ends_with(id)).map(|result| result.text.clone());
    of.calls.iter().map(|call| find(&call.id).unwrap_or_else(|| panic!("no result for {}", call.id))).collect()
}

pub(crate) fn finishes_its_work(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new()
        .shell("echo from-the-shell")
        .with_text("First I look around.")
        .write(bench.path("note.txt"), "one line\n")
        .read(bench.path("note.txt"))
        .edit(bench.path("note.txt"), "one line", "another line")
        .text("All is well.");
    let (finished, model) = play(&agent, &bench, script, "Write a note");
    assert!(finished.output().contains("All is well."), "{}", finished.output());
    assert_eq!(bench.read("note.txt").expect("a note"), "another line\n");
    let turns = model.turns();
    let shell = &results(&turns[0], &turns[1])[0];
    let read = &results(&turns[2], &turns[3])[0];
    assert!(shell.contains("from-the-shell"), "{shell}");
    assert!(read.contains("one line"), "{read}");
    let [transcript] = &finished.transcripts[..] else { panic!("one transcript, not {:?}", finished.transcripts) };
    let text = serde_json::to_string(&transcript.lines).expect("JSON");
    assert!(text.contains("from-the-shell") && text.contains("All is well."), "{}", transcript.file.display());
}

pub(crate) fn loops_as_long_as_the_model_loops(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let script = Script::new().shell("cat no-such-file").repeat(6).text("I give up.");
    let (_, model) = play(&agent, &bench, script, "Show me the file");
    let turns = model.turns();
    assert_eq!(turns.len(), 7);
    for pair in turns.windows(2) {
        let result = &results(&pair[0], &pair[1])[0];
        assert!(result.contains("No such file or directory"), "{result}");
    }
    assert_eq!(turns[6].tool_results().len(), 6);
}

pub(crate) fn runs_four_calls_of_one_turn(setup: &'static AgentSetup) {
    let Some(agent) = Agent::or_skip(setup) else { return };
    let bench = Workbench::new().expect("a workbench");
    let words = ["alpha", "beta", "gamma", "delta"];
    let calls = words.map(|word| Action::shell(format!("echo {word}")));
    let (_, model) = play(&agent, &bench, Script::new().calls(calls).text("Done."), "Say four words");
    let turns = model.turns();
    assert_eq!(turns.len(), 2);
    assert!(turns[0].calls.iter().all(|call| matches!(call.input, Input::Json(_))));
    for (word, result) in words.iter().zip(results(&turns[0], &turns[1])) {
        assert!(result.contains(word), "{result} is not {word}");
    }
}
