//! What a task leaves on disk: exactly what was sent and made, for the user only.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::terminal::{Terminal, end, start};

use super::project::{APPROVES, APPROVES_LATER, BUILDS, Project, mode};

/// All files and directories below a directory.
fn below(dir: &Path) -> Vec<PathBuf> {
    let entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    let nested = entries.iter().filter(|path| path.is_dir()).flat_map(|path| below(path)).collect::<Vec<_>>();
    entries.into_iter().chain(nested).collect()
}

#[test]
fn every_prompt_answer_and_diff_is_kept_as_it_was() {
    let project = Project::new();
    let builder = project.program("builder", "echo \"round $n\" >> notes.txt; echo \"Added line $n.\"");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--accept", "cat notes.txt"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let artifact = |name: &str| project.review(&["artifacts", ended.id(), name]).out;
    let listed = project.review(&["artifacts", ended.id()]).out;
    let names: Vec<&str> = listed.lines().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "01-gate-1.txt",
            "01-review-reviewer-output.md",
            "01-review-reviewer-prompt.md",
            "01-work-output.md",
            "01-work-prompt.md",
            "01.diff",
            "02-gate-1.txt",
            "02-review-reviewer-final-output.md",
            "02-review-reviewer-final-prompt.md",
            "02-review-reviewer-output.md",
            "02-review-reviewer-prompt.md",
            "02-work-output.md",
            "02-work-prompt.md",
            "02.diff",
            "ledger.json",
            "meta.json",
        ]
    );
    for (name, program, run) in [
        ("01-work-prompt.md", "builder", 1),
        ("02-work-prompt.md", "builder", 2),
        ("01-review-reviewer-prompt.md", "reviewer", 1),
        ("02-review-reviewer-prompt.md", "reviewer", 2),
        ("02-review-reviewer-final-prompt.md", "reviewer", 3),
    ] {
        assert_eq!(artifact(name), project.prompt(program, run), "{name}");
    }
    assert_eq!(artifact("01-work-output.md").trim(), "Added line 1.");
    assert_eq!(artifact("02-review-reviewer-final-output.md").trim(), "STATUS: DONE");
    assert_eq!(artifact("02-gate-1.txt"), "one\nround 1\nround 2\n");
    assert!(artifact("ledger.json").contains("the second line is missing"));
    // The diffs lead from the commit of the start to the result, one after the other.
    for round in ["1", "2"] {
        let diff = project.review(&["diff", ended.id(), round]).out;
        assert_eq!(diff, artifact(&format!("0{round}.diff")));
        let patch = project.world.write("round.diff", &diff);
        project.git(&["apply", patch.to_str().unwrap()]);
    }
    assert_eq!(project.read("notes.txt"), "one\nround 1\nround 2\n");
}

#[test]
fn the_files_of_a_task_are_for_the_user_only() {
    let moved = tempfile::tempdir().unwrap();
    let config = format!("[review]\nartifacts_dir = \"{}\"\n", moved.path().join("kept").display());
    for config in [String::new(), config] {
        let project = Project::with_config(&config);
        let builder = project.program("builder", BUILDS);
        let reviewer = project.program("reviewer", APPROVES);
        let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--accept", "true"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let tasks = project.world.state().join("reviews");
        let artifacts = PathBuf::from(ended.view["artifacts_dir"].as_str().unwrap());
        assert_eq!(artifacts.starts_with(moved.path()), !config.is_empty());
        assert!(artifacts.join("01.diff").exists());
        let mut paths = [below(&tasks), below(&artifacts)].concat();
        paths.extend([tasks, artifacts]);
        for path in paths {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), expected, "{}", path.display());
        }
    }
}

#[test]
fn two_reviewers_of_one_name_keep_their_own_files() {
    let project = Project::new();
    let builder = project.program("builder", BUILDS);
    let reviewers = [project.program("one/check", APPROVES), project.program("two/check", APPROVES)];
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewers.join(",")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let artifacts = ended.view["artifacts"].as_array().unwrap().iter();
    let outputs: Vec<&str> = artifacts
        .filter_map(|artifact| artifact["name"].as_str().filter(|name| name.ends_with("-output.md")))
        .collect();
    assert_eq!(outputs.len(), 3, "{outputs:?}");
}

#[test]
fn a_directory_that_cannot_be_written_fails_the_step_and_loses_nothing() {
    let moved = tempfile::tempdir().unwrap();
    let project = Project::with_config(&format!("[review]\nartifacts_dir = \"{}\"\n", moved.path().display()));
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", APPROVES);
    project.ok(&["queue", "pause"]);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    let artifacts = moved.path().join(&id);
    std::fs::remove_dir_all(&artifacts).unwrap();
    std::fs::write(&artifacts, "a file in its place").unwrap();
    project.ok(&["queue", "resume"]);
    let ended = project.watch(&id);
    assert_eq!((ended.code, ended.view["phase"].as_str()), (Some(1), Some("failed")), "{ended:?}");
    assert!(ended.status().contains(artifacts.join("01-work-prompt.md").to_str().unwrap()), "{}", ended.status());
    assert_eq!(project.runs("builder"), 0);
    std::fs::remove_file(&artifacts).unwrap();
    project.ok(&["retry", &id]);
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(artifacts.join("01.diff").exists() && artifacts.join("meta.json").exists());
}

/// A file system of 64 KiB, which only the resident process sees.
#[test]
fn a_full_disk_fails_the_step_and_loses_nothing() {
    let unshare = ["unshare", "--map-root-user", "--mount"];
    if !Command::new(unshare[0]).args(&unshare[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        // A container may forbid it.
        eprintln!("skipped: no mount namespaces");
        return;
    }
    let small = tempfile::tempdir().unwrap();
    let project = Project::with_config(&format!("[review]\nartifacts_dir = \"{}\"\n", small.path().display()));
    let serve = format!(
        "mount -t tmpfs -o size=64k tmpfs '{}' && exec '{}' serve --json --set serve.listen=127.0.0.1:0",
        small.path().display(),
        env!("CARGO_BIN_EXE_belay")
    );
    let mut command = project.world.program(unshare[0]);
    command.args(&unshare[1..]).args(["sh", "-c", &serve]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut serve = command.spawn().unwrap();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    // Its answer does not fit; that of its third run does.
    let builder =
        project.program("builder", "echo two > notes.txt; [ $n -gt 2 ] || head -c 100000 /dev/zero | tr '\\0' x");
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!((ended.code, ended.view["phase"].as_str()), (Some(1), Some("failed")), "{ended:?}");
    let status = ended.status();
    assert!(status.contains("01-work-output.md") && status.contains("No space left on device"), "{status}");
    assert_eq!(project.runs("builder"), 2);
    project.ok(&["retry", ended.id()]);
    let ended = project.watch(ended.id());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    project.ok(&["land", ended.id()]);
    assert_eq!(project.read("notes.txt"), "two\n");
    assert_eq!(project.world.run(&["stop"]).code, Some(0));
    serve.wait().unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_named_before_anything_is_filed() {
    let project = Project::new();
    let occupied = project.world.write("occupied", "");
    let config = format!("[review]\nartifacts_dir = \"{}\"\n", occupied.display());
    project.world.write("home/.config/belay/config.toml", &config);
    let builder = project.program("builder", BUILDS);
    let refused = project.review(&["start", "Go", "--detach", "--builder", &builder, "--accept", "true"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains(occupied.to_str().unwrap()), "{refused:?}");
    assert_eq!(project.review(&["list", "--json"]).json()["total"], 0);
}

#[test]
fn a_diff_controls_no_terminal_and_stays_exact_in_a_pipe() {
    let project = Project::new();
    let builder = project
        .program("builder", r"printf '\033]0;title\007two\033[31m\r\342\200\256\n' > notes.txt; printf '\033[2J'");
    let reviewer = project.program("reviewer", APPROVES);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for args in [&["review", "diff", ended.id()][..], &["review", "artifacts", ended.id(), "01.diff"]] {
        let piped = project.world.run(args).out;
        assert!(piped.contains("+\u{1b}]0;title\u{7}two\u{1b}[31m\r\u{202e}\n"), "{piped:?}");
        let (mut terminal, line) = Terminal::new(24, 200);
        let child = start(project.world.command(args), line, None);
        let shown = terminal.shows("[31m");
        assert!(shown.contains("]0;title two [31m"), "{shown:?}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
        assert_eq!(end(child).code(), Some(0));
    }
}
