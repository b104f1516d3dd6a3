//! Fingerprints of commands.
//!
//! The key of a command covers what it does. It ignores the directory it starts in, redirected output, output
//! filters and timeouts.

mod container_exec;
mod effective_program;
mod normalize;

use super::classify::{CODE_FIELDS, COMMAND_FIELDS};
use super::input::{ToolInput, canonical, normalize_path};
use super::line_range::LineRange;
use super::programs::{self, ProgramEffect};
use super::shell;
use super::{Action, FingerprintBuilder, ToolKind, skeleton_of, sketch_of, tool_names};
use crate::digest::Digest;
use crate::event::CheckKind;
use crate::outcome::strip_volatile;
use effective_program::{EffectiveProgram, code_writes_files, redirects_to_file};
use normalize::{strip_leading_cd, strip_output_filters, to_canonical_string, unwrap_shells};

pub(super) fn read_action(name: &str, input: &ToolInput<'_>) -> (Action, String) {
    let print = FingerprintBuilder::new(ToolKind::Shell, name);
    let workdir = input.text(&["workdir", "cwd", "working_directory", "workingDirectory", "dir", "directory"]);
    let workdir = workdir.map(|dir| normalize_path(&dir)).unwrap_or_default();
    let Some(text) = command_text(name, input) else {
        // A shell tool without a command field: use the complete input.
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
        CommandText::Command(script) => (script, false),
        CommandText::Code(script) => (script, true),
    };
    if code {
        let steady = strip_volatile(script.trim());
        let action = Action {
            key: print.digest("code", &[&steady, &workdir]),
            shape: print.digest("shape", &["code"]),
            skeleton: print.digest("skeleton", &[&skeleton_of(&steady)]),
            sketch: sketch_of(&steady),
            mutates: code_writes_files(&script),
            ..Action::default()
        };
        return (action, script);
    }
    let facts = CommandFacts::from_script(&script);
    let steady_text = strip_volatile(&facts.canonical);
    let action = Action {
        key: print.digest("key", &[&steady_text, &workdir]),
        shape: print.digest("shape", &[&facts.program, facts.target.as_deref().unwrap_or_default()]),
        skeleton: print.digest("skeleton", &[&skeleton_of(&steady_text)]),
        sketch: sketch_of(&steady_text),
        target: facts.target.as_deref().map(|path| Digest::from_bytes(normalize_path(path))),
        place: facts.place.as_deref().map(|path| Digest::from_bytes(normalize_path(path))),
        look: facts
            .look
            .then(|| print.digest("look", &[&facts.shown, &workdir, facts.place.as_deref().unwrap_or_default()])),
        lines: facts.lines.filter(|_| facts.target.is_some()),
        check: facts.check,
        mutates: facts.mutates,
        poll: facts.poll,
        commits: facts.commits,
        writes_file: facts.writes_file && facts.target.is_some(),
        restores: facts.restores,
        probe: facts.probe,
        no_op: facts.no_op,
        overwrites: facts.overwrites && facts.target.is_some(),
        ..Action::default()
    };
    (action, script)
}

enum CommandText {
    Command(String),
    /// Code in another language than shell.
    Code(String),
}

fn command_text(name: &str, input: &ToolInput<'_>) -> Option<CommandText> {
    if let Some(text) = input.as_plain_text() {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let own_name = text.split_whitespace().next().is_some_and(|first| first == name);
        return Some(if runs_code(name) && !own_name {
            CommandText::Code(text.to_owned())
        } else {
            CommandText::Command(text.to_owned())
        });
    }
    if let Some(items) = input.fields().and_then(|map| map.get("command")).and_then(|value| value.as_array()) {
        let words: Vec<_> = items.iter().filter_map(|item| item.as_str()).collect();
        return Some(CommandText::Command(match words.as_slice() {
            [shell, flag, script, ..] if is_shell(shell) && flag.starts_with('-') => (*script).to_owned(),
            words => words.join(" "),
        }));
    }
    if let Some(command) = input.text(COMMAND_FIELDS) {
        return Some(CommandText::Command(command.trim().to_owned()));
    }
    input.text(CODE_FIELDS).map(|code| CommandText::Code(code.trim().to_owned()))
}

fn runs_code(name: &str) -> bool {
    let name = tool_names::normalize_name(name);
    ["python", "code", "jupyter", "repl", "node"].iter().any(|word| name.contains(word))
}

fn is_shell(program: &str) -> bool {
    programs::SHELLS.contains(&base_name(program))
}

pub(super) fn base_name(program: &str) -> &str {
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    base.strip_suffix(".exe").unwrap_or(base)
}

/// Facts about a complete script.
#[derive(Debug, Default)]
struct CommandFacts {
    /// The normalised script.
    canonical: String,
    /// Like `canonical`, but with output filters.
    shown: String,
    /// First relevant program, with its subcommand.
    program: String,
    target: Option<String>,
    place: Option<String>,
    look: bool,
    lines: Option<LineRange>,
    mutates: bool,
    poll: bool,
    commits: bool,
    /// Writes its target, and does nothing else that lasts.
    writes_file: bool,
    /// Starts its target anew.
    overwrites: bool,
    restores: bool,
    probe: bool,
    no_op: bool,
    check: Option<CheckKind>,
}

impl CommandFacts {
    fn from_script(script: &str) -> Self {
        let mut commands = shell::parse(script);
        unwrap_shells(&mut commands, 0);
        let mut facts = Self { place: strip_leading_cd(&mut commands), ..Self::default() };
        facts.shown = to_canonical_string(&commands);
        facts.lines = LineRange::of_script(&commands);
        strip_output_filters(&mut commands);
        facts.canonical = to_canonical_string(&commands);
        if facts.canonical.is_empty() {
            facts.canonical = script.trim().to_owned();
        }
        let mut only_looks = !commands.is_empty();
        let mut only_environment = !commands.is_empty();
        let mut first = true;
        facts.no_op = !commands.is_empty();
        for command in &commands {
            let Some(ran) = EffectiveProgram::resolve(command) else { continue };
            let sub = ran.subcommand();
            let does = ran.effect(sub, command);
            facts.mutates |=
                matches!(does, Some(ProgramEffect::Change | ProgramEffect::Commit)) || redirects_to_file(&ran, command);
            facts.commits |= does == Some(ProgramEffect::Commit);
            facts.no_op &= ran.is_no_op(command);
            facts.restores |= programs::restores_files(ran.program, sub.or(ran.first_argument()));
            only_environment &= ran.sets_environment();
            // The last command decides the exit code.
            facts.probe = ran.is_probe(sub);
            only_looks &= does == Some(ProgramEffect::Look) || matches!(ran.program, "tail" | "cat");
            let check = match does {
                Some(ProgramEffect::Test) => Some(CheckKind::Test),
                Some(ProgramEffect::Build) => Some(CheckKind::Build),
                Some(ProgramEffect::Lint) => Some(CheckKind::Lint),
                _ => None,
            };
            // A build that is followed by tests is a test run.
            if check == Some(CheckKind::Test) || facts.check.is_none() {
                facts.check = check.or(facts.check);
            }
            facts.poll |= first && does == Some(ProgramEffect::Poll);
            // The first program that does more than set up the environment.
            let scene = does == Some(ProgramEffect::Look)
                && matches!(
                    ran.program,
                    "echo" | "set" | "export" | "source" | "." | "true" | "cd" | "printf" | "ulimit"
                );
            if facts.program.is_empty() && !scene {
                facts.program = ran.name(sub);
                facts.target = ran.target(command);
                facts.writes_file = ran.edits_in_place() || ran.writes_own_text(command);
                facts.overwrites = ran.overwrites(command);
            } else if !facts.writes_file && ran.writes_own_text(command) {
                facts.target = ran.target(command);
                facts.writes_file = true;
                facts.overwrites = ran.overwrites(command);
            }
            first &= scene;
        }
        // `until curl ...; do sleep 5; done`
        let loops = commands.iter().any(|c| matches!(c.words.first().map(String::as_str), Some("while" | "until")));
        facts.poll |= loops && commands.iter().any(|c| c.words.iter().any(|word| word == "sleep"));
        facts.poll &= !facts.mutates;
        facts.look = only_looks && !only_environment && !facts.mutates;
        facts.probe &= only_looks && !facts.mutates;
        if facts.program.is_empty() {
            facts.program = commands.first().and_then(|c| c.words.first()).cloned().unwrap_or_default();
        }
        facts
    }
}
