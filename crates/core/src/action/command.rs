//! Fingerprints of commands.
//!
//! The key of a command is what it does, not how it is dressed: the folder it first goes to, where
//! its chatter goes, how much of it is shown and how long it may take are left out.

mod dress;
mod inside;
mod ran;

use super::classify::{CODE, COMMAND};
use super::input::{Input, canonical, tidy_path};
use super::programs::{self, Does};
use super::shell;
use super::{Action, Print, ToolKind, names, skeleton_of, sketch_of};
use crate::digest::Digest;
use crate::event::CheckKind;
use crate::outcome::steady;
use dress::{drop_filters, spell, take_leading_cd, unwrap_shells};
use ran::{Ran, writes_a_file, writes_files};

pub(super) fn of(name: &str, input: &Input<'_>) -> (Action, String) {
    let print = Print::new(ToolKind::Shell, name);
    let workdir = input.text(&["workdir", "cwd", "working_directory", "workingDirectory", "dir", "directory"]);
    let workdir = workdir.map(|dir| tidy_path(&dir)).unwrap_or_default();
    let Some(text) = command_text(name, input) else {
        // A shell tool without a command: the whole input must do.
        let text = canonical(input, &[]);
        let action = Action {
            key: print.digest("key", &[name, &text]),
            shape: print.digest("shape", &[name]),
            skeleton: print.digest("skeleton", &[name, &skeleton_of(&text)]),
            sketch: sketch_of(&text),
            ..Action::default()
        };
        return (action, text);
    };
    let (script, code) = match text {
        Text::Command(script) => (script, false),
        Text::Code(script) => (script, true),
    };
    if code {
        let steady = steady(script.trim());
        let action = Action {
            key: print.digest("code", &[&steady, &workdir]),
            shape: print.digest("shape", &["code"]),
            skeleton: print.digest("skeleton", &[&skeleton_of(&steady)]),
            sketch: sketch_of(&steady),
            mutates: writes_files(&script),
            ..Action::default()
        };
        return (action, script);
    }
    let facts = Facts::of(&script);
    let steady_text = steady(&facts.canonical);
    let action = Action {
        key: print.digest("key", &[&steady_text, &workdir]),
        shape: print.digest("shape", &[&facts.program, facts.target.as_deref().unwrap_or_default()]),
        skeleton: print.digest("skeleton", &[&skeleton_of(&steady_text)]),
        sketch: sketch_of(&steady_text),
        target: facts.target.as_deref().map(|path| Digest::of(tidy_path(path))),
        place: facts.place.as_deref().map(|path| Digest::of(tidy_path(path))),
        look: facts
            .look
            .then(|| print.digest("look", &[&facts.shown, &workdir, facts.place.as_deref().unwrap_or_default()])),
        hunk: None,
        check: facts.check,
        mutates: facts.mutates,
        poll: facts.poll,
        commits: facts.commits,
    };
    (action, script)
}

enum Text {
    Command(String),
    /// Code of another language than the shell's.
    Code(String),
}

fn command_text(name: &str, input: &Input<'_>) -> Option<Text> {
    if let Some(text) = input.plain() {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let own_name = text.split_whitespace().next().is_some_and(|first| first == name);
        return Some(if runs_code(name) && !own_name {
            Text::Code(text.to_owned())
        } else {
            Text::Command(text.to_owned())
        });
    }
    if let Some(items) = input.fields().and_then(|map| map.get("command")).and_then(|value| value.as_array()) {
        let words: Vec<_> = items.iter().filter_map(|item| item.as_str()).collect();
        return Some(Text::Command(match words.as_slice() {
            [shell, flag, script, ..] if is_shell(shell) && flag.starts_with('-') => (*script).to_owned(),
            words => words.join(" "),
        }));
    }
    if let Some(command) = input.text(COMMAND) {
        return Some(Text::Command(command.trim().to_owned()));
    }
    input.text(CODE).map(|code| Text::Code(code.trim().to_owned()))
}

fn runs_code(name: &str) -> bool {
    let name = names::squash(name);
    ["python", "code", "jupyter", "repl", "node"].iter().any(|word| name.contains(word))
}

fn is_shell(program: &str) -> bool {
    programs::SHELLS.contains(&base_name(program))
}

fn base_name(program: &str) -> &str {
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    base.strip_suffix(".exe").unwrap_or(base)
}

/// What a script does, taken together.
#[derive(Debug, Default)]
struct Facts {
    /// The script without how it is dressed.
    canonical: String,
    /// As `canonical`, with the filters that choose what is shown.
    shown: String,
    /// First program that matters, with its subcommand.
    program: String,
    target: Option<String>,
    place: Option<String>,
    look: bool,
    mutates: bool,
    poll: bool,
    commits: bool,
    check: Option<CheckKind>,
}

impl Facts {
    fn of(script: &str) -> Self {
        let mut commands = shell::parse(script);
        unwrap_shells(&mut commands, 0);
        let mut facts = Self { place: take_leading_cd(&mut commands), ..Self::default() };
        facts.shown = spell(&commands);
        drop_filters(&mut commands);
        facts.canonical = spell(&commands);
        if facts.canonical.is_empty() {
            facts.canonical = script.trim().to_owned();
        }
        let mut only_looks = !commands.is_empty();
        let mut first = true;
        for command in &commands {
            let Some(ran) = Ran::of(command) else { continue };
            let sub = ran.subcommand();
            let does = ran.does(sub, command);
            facts.mutates |= matches!(does, Some(Does::Change | Does::Commit)) || writes_a_file(&ran, command);
            facts.commits |= does == Some(Does::Commit);
            only_looks &= does == Some(Does::Look) || matches!(ran.program, "tail" | "cat");
            let check = match does {
                Some(Does::Test) => Some(CheckKind::Test),
                Some(Does::Build) => Some(CheckKind::Build),
                Some(Does::Lint) => Some(CheckKind::Lint),
                _ => None,
            };
            // A build that is followed by tests is a test run.
            if check == Some(CheckKind::Test) || facts.check.is_none() {
                facts.check = check.or(facts.check);
            }
            facts.poll |= first && does == Some(Does::Poll);
            // The program that matters: the first that does more than set the scene.
            let scene = does == Some(Does::Look)
                && matches!(
                    ran.program,
                    "echo" | "set" | "export" | "source" | "." | "true" | "cd" | "printf" | "ulimit"
                );
            if facts.program.is_empty() && !scene {
                facts.program = ran.name(sub);
                facts.target = ran.target(command);
            }
            first &= scene;
        }
        // `until curl ...; do sleep 5; done`
        let loops = commands.iter().any(|c| matches!(c.words.first().map(String::as_str), Some("while" | "until")));
        facts.poll |= loops && commands.iter().any(|c| c.words.iter().any(|word| word == "sleep"));
        facts.poll &= !facts.mutates;
        facts.look = only_looks && !facts.mutates;
        if facts.program.is_empty() {
            facts.program = commands.first().and_then(|c| c.words.first()).cloned().unwrap_or_default();
        }
        facts
    }
}
