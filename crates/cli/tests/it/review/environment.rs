//! The environment of agents is that of the shell that filed the task, and stays secret.

use std::path::Path;

use super::project::{APPROVES, Project, mode};
use crate::http::status;
use crate::resident::Serve;

/// A program that prints its environment to `$OUT/NAME.env`.
fn tells_environment(project: &Project, name: &str, then: &str) -> String {
    project.program(name, &format!("env > \"$OUT/{name}.env\"\n{then}"))
}

fn variable(project: &Project, name: &str, variable: &str) -> Option<String> {
    let text = std::fs::read_to_string(project.out().join(format!("{name}.env"))).unwrap();
    text.lines().find_map(|line| Some(line.strip_prefix(variable)?.strip_prefix('=')?.to_owned()))
}

/// Files below a directory whose content has this text.
fn files_with(dir: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, text, found);
        } else if path.is_file() && memchr::memmem::find(&std::fs::read(&path).unwrap(), text.as_bytes()).is_some() {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn programs_of_the_filing_shell_are_found() {
    let project = Project::new();
    let serve = Serve::start(&project.world);
    let tool = project.program("onlyhere", "echo two > notes.txt");
    let tools = Path::new(&tool).parent().unwrap().display().to_string();
    let builder = project.program("builder", "onlyhere < /dev/null");
    let reviewer = project.program("reviewer", &format!("onlyhere --version < /dev/null; {APPROVES}"));
    let gate = "onlyhere < /dev/null";
    let mut filing = project.world.command(["review", "start", "Go", "--builder", &builder, "--reviewer", &reviewer]);
    filing.args(["--accept", gate]).env("PATH", format!("{tools}:/usr/bin:/bin"));
    let ended = super::project::run_to_end(filing);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.runs("onlyhere"), 3);
    drop(serve);
}

#[test]
fn programs_are_looked_up_from_the_filing_shell() {
    let project = Project::new();
    project.program("builder", "echo two > notes.txt");
    let reviewer = project.program("reviewer", APPROVES);
    // The builder works elsewhere, and must not be able to change the programs.
    let ended = project.start(&["--builder", "../../../programs/builder", "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for (builder, reviewer, expected) in [
        ("../missing", &*reviewer, "is not an executable file"),
        ("./notes.txt", &reviewer, "is not an executable file"),
        ("missing", &reviewer, "`missing` is not an agent that can run without a terminal"),
        ("codex", &reviewer, "codex is not installed"),
    ] {
        let refused = project.review(&["start", "Go", "--detach", "--builder", builder, "--reviewer", reviewer]);
        assert!(refused.code == Some(1) && refused.err.contains(expected), "{builder}: {refused:?}");
    }
}

#[test]
fn a_task_filed_by_an_agent_is_not_part_of_its_session() {
    let project = Project::with_config("[drive.env]\nEXTRA = \"from the configuration\"\nREPLACED = \"yes\"\n");
    let builder = tells_environment(&project, "builder", "echo two > notes.txt");
    let reviewer = tells_environment(&project, "reviewer", APPROVES);
    let gate = format!("env > '{}'", project.out().join("gate.env").display());
    let mut filing = project.world.command(["review", "start", "Go", "--builder", &builder, "--reviewer", &reviewer]);
    filing.args(["--accept", &gate]).env("REPLACED", "no").env("KEPT", "of the shell");
    let nested = ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CODEX_THREAD_ID", "BELAY_SESSION"];
    filing.envs(nested.map(|name| (name, "filed-by-an-agent")));
    let ended = super::project::run_to_end(filing);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for name in ["builder", "reviewer", "gate"] {
        for session in nested {
            assert_ne!(variable(&project, name, session).as_deref(), Some("filed-by-an-agent"), "{name}: {session}");
        }
        assert_eq!(variable(&project, name, "EXTRA").as_deref(), Some("from the configuration"), "{name}");
        assert_eq!(variable(&project, name, "REPLACED").as_deref(), Some("yes"), "{name}");
        assert_eq!(variable(&project, name, "KEPT").as_deref(), Some("of the shell"), "{name}");
    }
}

#[test]
fn values_of_the_environment_are_in_one_private_file_only() {
    const SECRET: &str = "correct-horse-battery-staple";
    let project = Project::with_config("[log]\nlevel = \"debug\"\n");
    let serve = Serve::start(&project.world);
    let builder = tells_environment(&project, "builder", "echo two > notes.txt");
    let reviewer = project.program("reviewer", APPROVES);
    let mut filing = project.world.command(["review", "start", "Go", "--detach", "--builder", &builder]);
    filing.args(["--reviewer", &reviewer, "--accept", "true"]).env("HOUSE_KEY", SECRET);
    let filed = super::project::run_to_end(filing);
    let id = filed.out.trim();
    let ended = project.watch(id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(variable(&project, "builder", "HOUSE_KEY").as_deref(), Some(SECRET));
    let env = project.task_dir(id).join("env");
    assert_eq!(mode(&env), 0o600);
    project.ok(&["land", id]);
    let mut found = Vec::new();
    files_with(&project.world.state(), SECRET, &mut found);
    assert_eq!(found, [env.display().to_string()]);
    for (what, output) in [
        ("show", project.review(&["show", id, "--json"])),
        ("list", project.review(&["list", "--json"])),
        ("artifacts", project.review(&["artifacts", id, "env"])),
        ("sessions", project.world.run(&["sessions", "--json"])),
    ] {
        assert!(!output.out.contains(SECRET) && !output.err.contains(SECRET), "{what}");
    }
    for (path, expected) in [("", "200"), ("/artifacts/01-work-prompt.md", "200"), ("/artifacts/env", "404")] {
        let answer = serve.get(&format!("/api/v1/reviews/{id}{path}"));
        assert_eq!(status(&answer), expected, "{path}: {answer}");
        assert!(!answer.contains(SECRET), "{path}");
    }
    let log = std::fs::read_to_string(project.world.log()).unwrap();
    assert!(!log.is_empty(), "it was searched, too");
}
