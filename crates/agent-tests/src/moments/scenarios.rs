//! What is played, and what is true meanwhile.

use std::io;
use std::time::Duration;

use belay_core::status::StatusValue::{Ended, Failed, Finished, Idle, Limited, Working};
use belay_core::status::WaitingFor::{Dialog, Permission, PlanApproval, Question};
use belay_scripted_model::{Action, Reply, Script, Text, Turn};

use super::stage::{Sensors, Stage, args_of, pause};

type Play = fn(&mut Stage<'_>) -> io::Result<()>;

/// All scenarios by name.
pub(super) const ALL: &[(&str, Play)] = &[
    ("turn", turn),
    ("turn-run", turn_run),
    ("permission-allowed", permission_allowed),
    ("permission-cancelled", permission_cancelled),
    ("permission-rejected", permission_rejected),
    ("interrupted", interrupted),
    ("question", question),
    ("plan", plan),
    ("sub-agent", sub_agent),
    ("sub-agent-permission", sub_agent_permission),
    ("dialog", dialog),
    ("compacting", compacting),
    ("limit", limit),
    ("error", error),
    ("killed-in-tool", killed_in_tool),
    ("killed-at-permission", killed_at_permission),
    ("crash", crash),
];

/// A turn with a long command, a turn that ends with a question, and the exit.
fn turn(stage: &mut Stage<'_>) -> io::Result<()> {
    one_turn(stage, Sensors::Hooks)
}

fn turn_run(stage: &mut Stage<'_>) -> io::Result<()> {
    one_turn(stage, Sensors::Run)
}

fn one_turn(stage: &mut Stage<'_>, sensors: Sensors) -> io::Result<()> {
    let script = Script::new()
        .calls([stage.command_call("touch started && sleep 6")])
        .with_text("I run the tests.")
        .hold_after(0)
        .text("The tests pass.")
        .hold_after(0)
        .text("Two customers have no VAT id. Leave the line out, or block the invoice?")
        .text("The invoice is blocked.");
    stage.start(script, stage.setup.permissive, sensors)?;
    if stage.setup.starts_session_at_once && sensors == Sensors::Hooks {
        stage.mark("start", Idle)?;
        stage.mark_later("start, an hour later", 60, Idle);
    }
    stage.prompt("Run the tests")?;
    stage.wait_for_turns(1)?;
    stage.mark("model responding", Working)?;
    stage.release()?;
    stage.wait_for_file("started")?;
    stage.mark("tool running", Working)?;
    stage.mark_later("tool running for 10 min", 10, Working);
    stage.wait_for_turns(2)?;
    stage.mark("model responding after a tool", Working)?;
    stage.release()?;
    stage.wait_for("The tests pass.")?;
    stage.mark("finished", Finished)?;
    stage.mark_later("finished, an hour later", 60, Finished);
    stage.prompt("And the invoices")?;
    stage.wait_for("block the invoice?")?;
    stage.mark("question in prose", Question)?;
    stage.mark_later("question in prose, an hour later", 60, Question);
    stage.prompt("Block it")?;
    stage.wait_for("The invoice is blocked.")?;
    stage.mark("finished after an answer", Finished)?;
    stage.press(stage.setup.quit)?;
    stage.wait_for("the-cli-has-exited")?;
    stage.mark("ended", Ended)
}

/// A permission that a person gives in the terminal, to a command that takes a while.
fn permission_allowed(stage: &mut Stage<'_>) -> io::Result<()> {
    let script = Script::new().calls([stage.asking_call("sleep 6 && touch made")]).text("The file is there.");
    stage.start(script, stage.setup.asking, Sensors::Hooks)?;
    stage.prompt("Make the file")?;
    stage.wait_for(stage.setup.permission)?;
    stage.mark("permission open", Permission)?;
    stage.mark_later("permission open for 10 min", 10, Permission);
    stage.press(stage.setup.allow)?;
    stage.mark("permission given, tool runs", Working)?;
    stage.wait_for("The file is there.")?;
    stage.mark("finished after a permission", Finished)
}

/// A permission prompt that a person leaves with Esc.
fn permission_cancelled(stage: &mut Stage<'_>) -> io::Result<()> {
    let script = Script::new().calls([stage.asking_call("touch made")]).text("All right.").hold_after(0);
    stage.start(script, stage.setup.asking, Sensors::Hooks)?;
    stage.prompt("Make the file")?;
    stage.wait_for(stage.setup.permission)?;
    stage.mark("permission open", Permission)?;
    stage.press(&["Escape"])?;
    stage.mark("permission cancelled", Idle)?;
    stage.mark_later("permission cancelled, 10 min later", 10, Idle);
    stage.prompt("Then leave it")?;
    stage.wait_for_turns(2)?;
    stage.mark("model responding after a cancelled permission", Working)?;
    stage.release()?;
    stage.wait_for("All right.")?;
    stage.mark("finished after a cancelled permission", Finished)?;
    stage.signal("KILL")?;
    stage.mark("killed while idle", Ended)
}

/// Esc while the model responds, and while a command runs.
fn interrupted(stage: &mut Stage<'_>) -> io::Result<()> {
    let script = Script::new()
        .text("I think.")
        .hold_after(0)
        .calls([stage.command_call("touch started && sleep 9")])
        .text("The tests pass.")
        .hold_after(0);
    stage.start(script, stage.setup.permissive, Sensors::Hooks)?;
    stage.prompt("Fix the parser")?;
    stage.wait_for_turns(1)?;
    stage.mark("model responding", Working)?;
    stage.press(stage.setup.interrupt)?;
    stage.mark("response interrupted", Idle)?;
    stage.mark_later("response interrupted, 10 min later", 10, Idle);
    stage.release()?;
    stage.prompt("Run the tests")?;
    stage.wait_for_file("started")?;
    stage.mark("tool running", Working)?;
    stage.press(stage.setup.interrupt)?;
    stage.mark("tool interrupted", Idle)?;
    stage.mark_later("tool interrupted, 10 min later", 10, Idle);
    Ok(())
}

/// A permission that a person denies by the option of the prompt.
fn permission_rejected(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some(keys) = stage.setup.reject else { return Ok(()) };
    let script = Script::new().calls([stage.asking_call("touch made")]).text("All right.").hold_after(0);
    stage.start(script, stage.setup.asking, Sensors::Hooks)?;
    stage.prompt("Make the file")?;
    stage.wait_for(stage.setup.permission)?;
    stage.mark("permission open", Permission)?;
    stage.press(keys)?;
    if stage.setup.continues_after_rejection {
        stage.wait_for_turns(2)?;
        stage.mark("permission denied, model goes on", Working)?;
        stage.release()?;
        stage.wait_for("All right.")?;
        stage.mark("finished after a denied permission", Finished)
    } else {
        stage.mark("permission denied", Idle)?;
        stage.mark_later("permission denied, 10 min later", 10, Idle);
        Ok(())
    }
}

/// A question by the agent's own tool.
fn question(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some((tool, args, keys)) = stage.setup.question else { return Ok(()) };
    let script = Script::new().call(tool, args_of(args)).text("I take SQLite.").hold_after(0);
    stage.start(script, stage.setup.permissive, Sensors::Hooks)?;
    stage.press(stage.setup.question_mode)?;
    stage.prompt("Set up the database")?;
    stage.wait_for("PostgreSQL")?;
    stage.mark("question by tool", Question)?;
    stage.mark_later("question by tool, an hour later", 60, Question);
    stage.press(keys)?;
    stage.wait_for_turns(2)?;
    stage.mark("question answered, model goes on", Working)?;
    stage.release()?;
    stage.wait_for("I take SQLite.")?;
    stage.mark("finished after a question", Finished)
}

/// A plan that waits for approval.
fn plan(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some(plan) = &stage.setup.plan else { return Ok(()) };
    let script = match plan.call {
        Some((tool, args)) => Script::new().call(tool, args_of(args)),
        None => Script::new().text(plan.text),
    };
    stage.start(script.text("The parser is fixed.").hold_after(0), plan.mode, Sensors::Hooks)?;
    stage.press(plan.enter)?;
    stage.prompt("Plan the fix")?;
    stage.wait_for(plan.shown)?;
    stage.mark("plan waits for approval", PlanApproval)?;
    stage.mark_later("plan waits for an hour", 60, PlanApproval);
    stage.press(plan.approve)?;
    stage.wait_for_turns(2)?;
    stage.mark("plan approved, model goes on", Working)?;
    stage.release()?;
    stage.wait_for("The parser is fixed.")?;
    stage.mark("finished after a plan", Finished)
}

/// A sub-agent at work: the parent is not blocked.
fn sub_agent(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some((tool, args)) = stage.setup.sub_agent else { return Ok(()) };
    // Whichever conversation asks first gets the first response: the parent starts the sub-agent and waits.
    let script = Script::new()
        .call(tool, args_of(args))
        .text("I looked around.")
        .hold_after(0)
        .text("The sub-agent is done.")
        .hold_after(0)
        .text("The sub-agent is done.");
    stage.start(script, stage.setup.permissive, Sensors::Hooks)?;
    stage.prompt("Look around with a sub-agent")?;
    stage.wait_for_turns(2)?;
    stage.mark("sub-agent running", Working)?;
    stage.mark_later("sub-agent running for 10 min", 10, Working);
    stage.release()?;
    stage.wait_for_turns(3)?;
    stage.mark("sub-agent ended, model goes on", Working)?;
    stage.release()?;
    stage.wait_for("The sub-agent is done.")?;
    stage.mark("finished after a sub-agent", Finished)
}

/// A sub-agent that asks for permission: its parent is blocked, too.
fn sub_agent_permission(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some((tool, args)) = stage.setup.sub_agent.filter(|_| stage.setup.sub_agent_asks) else { return Ok(()) };
    let script = Script::new()
        .call(tool, args_of(args))
        .calls([stage.asking_call("touch made")])
        .text("I looked around.")
        .text("The sub-agent is done.");
    stage.start(script, stage.setup.asking, Sensors::Hooks)?;
    stage.prompt("Look around with a sub-agent")?;
    stage.wait_for(stage.setup.permission)?;
    stage.mark("sub-agent asks for permission", Permission)?;
    stage.mark_later("sub-agent asks for permission for 10 min", 10, Permission);
    stage.press(stage.setup.allow)?;
    stage.wait_for_file("made")
}

/// The trust dialog of a first start in a directory, under `belay run`.
fn dialog(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some((text, _)) = stage.setup.dialogs.first().filter(|_| stage.setup.session_before_dialog) else {
        return Ok(());
    };
    stage.open(Script::new().text("The parser is fixed."), stage.setup.asking, Sensors::Run)?;
    stage.wait_for(text)?;
    stage.mark("trust dialog", Dialog)?;
    stage.mark_later("trust dialog for 10 min", 10, Dialog);
    stage.pass_dialogs()?;
    if stage.setup.starts_session_at_once {
        stage.mark("ready after a trust dialog", Idle)?;
    }
    stage.prompt("Fix the parser")?;
    stage.wait_for("The parser is fixed.")?;
    stage.mark("finished after a trust dialog", Finished)
}

/// The conversation is compacted by command.
fn compacting(stage: &mut Stage<'_>) -> io::Result<()> {
    let Some(command) = stage.setup.compact else { return Ok(()) };
    // The summary is a turn in some CLIs and an auxiliary request in others.
    let takes = Duration::from_secs(5);
    let summary = "<summary>The parser is fixed.</summary>";
    let script = Script::new().text("The parser is fixed.").text(summary).delay(takes).aside_delay(takes);
    stage.start(script, stage.setup.permissive, Sensors::Hooks)?;
    stage.prompt("Fix the parser")?;
    stage.wait_for("The parser is fixed.")?;
    stage.mark("finished before compaction", Finished)?;
    // Auxiliary requests of the first turn are over. The script answers each after this time.
    pause(takes);
    stage.prompt(command)?;
    stage.mark("compacting", Working)?;
    pause(takes + Duration::from_secs(2));
    stage.mark("compacted", Idle)
}

/// The provider refuses requests for ten minutes.
fn limit(stage: &mut Stage<'_>) -> io::Result<()> {
    let refused = || {
        Script::new().error(429, "This request would exceed your account's rate limit.").header("retry-after", "600")
    };
    let script = Script { turns: refused().repeat(12).turns, ..Script::new() };
    stage.start(script, stage.setup.permissive, Sensors::Run)?;
    stage.prompt("Fix the parser")?;
    stage.wait_for_turns(1)?;
    stage.mark("limit", Limited)?;
    stage.mark_later("limit, 5 min later", 5, Limited);
    stage.mark_later("limit, 3 min after its reset", 7, Idle);
    Ok(())
}

/// The provider refuses a request for good.
fn error(stage: &mut Stage<'_>) -> io::Result<()> {
    let script =
        Script { turns: Script::new().error(400, "The request is invalid.").repeat(12).turns, ..Script::new() };
    stage.start(script, stage.setup.permissive, Sensors::Run)?;
    stage.prompt("Fix the parser")?;
    stage.wait_for_turns(1)?;
    pause(Duration::from_secs(2));
    stage.mark("turn failed", Failed)?;
    stage.mark_later("turn failed, an hour later", 60, Failed);
    Ok(())
}

/// `kill -9` while a command runs.
fn killed_in_tool(stage: &mut Stage<'_>) -> io::Result<()> {
    let script =
        Script::new().calls([stage.command_call("touch started && sleep 8")]).text("The tests pass.").hold_after(0);
    stage.start(script, stage.setup.permissive, Sensors::Hooks)?;
    stage.prompt("Run the tests")?;
    stage.wait_for_file("started")?;
    stage.mark("tool running", Working)?;
    stage.signal("KILL")?;
    stage.mark("killed in a tool", Failed)?;
    stage.mark_later("killed in a tool, an hour later", 60, Failed);
    Ok(())
}

/// `kill -9` while a permission prompt is open.
fn killed_at_permission(stage: &mut Stage<'_>) -> io::Result<()> {
    stage.start(Script::new().calls([stage.asking_call("touch made")]), stage.setup.asking, Sensors::Hooks)?;
    stage.prompt("Make the file")?;
    stage.wait_for(stage.setup.permission)?;
    stage.mark("permission open", Permission)?;
    stage.signal("KILL")?;
    stage.mark("killed at a permission", Failed)
}

/// The CLI crashes while the model responds.
fn crash(stage: &mut Stage<'_>) -> io::Result<()> {
    let turn = Turn::new(Reply::Say { text: Text::Whole("I think.".to_owned()), calls: vec![Action::shell("ls")] });
    stage.start(Script::new().turn(turn).hold_after(0), stage.setup.permissive, Sensors::Hooks)?;
    stage.prompt("Fix the parser")?;
    stage.wait_for_turns(1)?;
    stage.mark("model responding", Working)?;
    stage.signal("ABRT")?;
    stage.mark("crash", Failed)
}
