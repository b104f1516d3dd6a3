//! Fingerprints of commands.
//!
//! The key of a command is what it does, not how it is dressed: the folder it first goes to, where
//! its chatter goes, how much of it is shown and how long it may take are left out.

use super::classify::{CODE, COMMAND};
use super::input::{Input, canonical, skeleton, tidy_path};
use super::programs::{self, Does};
use super::shell::{self, Op, Simple};
use super::{Action, Print, ToolKind, names};
use crate::digest::Digest;
use crate::event::CheckKind;
use crate::outcome::steady;
use crate::sketch::simhash;

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
            skeleton: print.digest("skeleton", &[name, &skeleton(&text)]),
            sketch: simhash(&text),
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
            skeleton: print.digest("skeleton", &[&skeleton(&steady)]),
            sketch: simhash(&steady),
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
        skeleton: print.digest("skeleton", &[&skeleton(&steady_text)]),
        sketch: simhash(&steady_text),
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
            let does = ran.does(command);
            facts.mutates |= matches!(does, Some(Does::Change | Does::Commit)) || writes_a_file(&ran, command);
            facts.commits |= does == Some(Does::Commit);
            only_looks &= does == Some(Does::Look);
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
                facts.program = ran.name();
                facts.target = ran.target(command);
            }
            first &= scene;
        }
        // `until curl ...; do sleep 5; done`
        let loops = commands.iter().any(|c| matches!(c.words.first().map(String::as_str), Some("while" | "until")));
        facts.poll |= loops && commands.iter().any(|c| c.words.iter().any(|word| word == "sleep"));
        facts.poll &= !facts.mutates;
        facts.look = only_looks && !facts.mutates && !facts.poll;
        if facts.program.is_empty() {
            facts.program = commands.first().and_then(|c| c.words.first()).cloned().unwrap_or_default();
        }
        facts
    }
}

/// `bash -lc "script"` is the script.
fn unwrap_shells(commands: &mut Vec<Simple>, depth: u8) {
    if depth > 3 || commands.len() != 1 {
        return;
    }
    let words = &commands[0].words;
    let [shell, flags @ .., script] = words.as_slice() else { return };
    let runs_script = flags.iter().any(|flag| {
        let letters = flag.strip_prefix('-').unwrap_or_default();
        flag.eq_ignore_ascii_case("-command") || (letters.len() <= 4 && letters.ends_with('c'))
    });
    if is_shell(shell) && runs_script && flags.iter().all(|flag| flag.starts_with('-')) {
        *commands = shell::parse(script);
        unwrap_shells(commands, depth + 1);
    }
}

/// Takes `cd X &&` (also several, and `set -e;`) off the front and tells where it leads.
fn take_leading_cd(commands: &mut Vec<Simple>) -> Option<String> {
    let mut place: Option<String> = None;
    while commands.len() > 1 && matches!(commands[1].op, Op::And | Op::Then) {
        match commands[0].words.as_slice() {
            [cd, dir] if matches!(cd.as_str(), "cd" | "pushd") && commands[0].redirects.is_empty() => {
                place = Some(match place {
                    Some(before) if !dir.starts_with(['/', '~']) => format!("{before}/{dir}"),
                    _ => dir.clone(),
                });
            }
            [set, flags @ ..]
                if set == "set" && flags.iter().all(|flag| flag.starts_with('-') || flag == "pipefail") => {}
            _ => break,
        }
        commands.remove(0);
        commands[0].op = Op::Start;
    }
    place
}

/// Filters that only choose how much is shown, and codas that only say how it went.
fn drop_filters(commands: &mut Vec<Simple>) {
    loop {
        let Some(last) = commands.last() else { return };
        let first_word = last.words.first().map(String::as_str).unwrap_or_default();
        let plain_files = last.words.iter().skip(1).filter(|word| !word.starts_with('-') && !is_number(word)).count();
        let filter = last.op == Op::Pipe
            && matches!(first_word, "head" | "tail" | "less" | "more" | "cat" | "nl" | "tee")
            && (plain_files == 0
                || (first_word == "tee"
                    && last.words.iter().skip(1).all(|word| word.starts_with('-') || is_scratch(word))));
        let shrug = last.op == Op::Or && matches!(first_word, "true" | ":" | "echo");
        let tells = matches!(last.op, Op::Then | Op::And)
            && first_word == "echo"
            && last.words.iter().any(|word| word.contains("$?"));
        if commands.len() > 1 && (filter || shrug || tells) {
            commands.pop();
        } else {
            return;
        }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit() || b == b'+')
}

/// A place whose content nobody keeps.
fn is_scratch(path: &str) -> bool {
    path.starts_with("/dev/")
        || path.starts_with("/tmp/")
        || path.starts_with("/var/tmp/")
        || path.starts_with("$TMPDIR")
        || path.starts_with("/private/tmp/")
}

/// The commands as one text. Redirections to nowhere, descriptors, `time` and `timeout N` are not spelled.
fn spell(commands: &[Simple]) -> String {
    let mut out = String::new();
    for command in commands {
        let op = match command.op {
            Op::Start => "",
            Op::And => " && ",
            Op::Or => " || ",
            Op::Then => " ; ",
            Op::Pipe => " | ",
            Op::Background => " & ",
        };
        if !out.is_empty() {
            out.push_str(op);
        }
        let words = match command.words.as_slice() {
            [time, rest @ ..] if time == "time" => rest,
            [timeout, rest @ ..] if matches!(timeout.as_str(), "timeout" | "gtimeout") => {
                let options = rest.iter().take_while(|word| word.starts_with('-')).count();
                rest.get(options + 1..).unwrap_or(rest)
            }
            words => words,
        };
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            out.push_str(word);
        }
        for redirect in &command.redirects {
            if !redirect.file.starts_with("/dev/")
                && !(redirect.writes && is_scratch(&redirect.file) && command.documents.is_empty())
            {
                out.push_str(match (redirect.writes, redirect.append) {
                    (true, true) => " >> ",
                    (true, false) => " > ",
                    _ => " < ",
                });
                out.push_str(&redirect.file);
            }
        }
        for document in &command.documents {
            out.push_str(" << ");
            out.push_str(document);
        }
    }
    out.trim().to_owned()
}

/// The program a simple command really runs, behind grammar, assignments and runners.
struct Ran<'a> {
    program: &'a str,
    args: &'a [String],
}

impl<'a> Ran<'a> {
    fn of(command: &'a Simple) -> Option<Self> {
        let mut words = command.words.as_slice();
        loop {
            let first = words.first()?.as_str();
            let base = base_name(first);
            if programs::GRAMMAR.contains(&first) || is_assignment(first) {
                words = &words[1..];
            } else if programs::STRUCTURE.contains(&first) {
                return None;
            } else if let Some((_, own)) = programs::RUNNERS.iter().find(|(runner, _)| *runner == base)
                && words.len() > 1
            {
                words = skip_options(&words[1..], *own);
            } else if words.len() > 2 && programs::RUNNER_PAIRS.iter().any(|(a, b)| *a == base && *b == words[1]) {
                words = match base {
                    // The script's own name says what it does: `npm run lint`.
                    "npm" | "pnpm" | "yarn" | "bun" if words[1].starts_with("run") => {
                        return Some(Self { program: base, args: &words[2..] });
                    }
                    "cargo" if words[1] == "xtask" => return Some(Self { program: "xtask", args: &words[2..] }),
                    _ => skip_options(&words[2..], 0),
                };
            } else if programs::INTERPRETERS.contains(&base) || is_versioned_python(base) {
                // `python -m pytest` is pytest.
                if let Some(at) = words.iter().position(|word| word == "-m").filter(|at| *at <= 3)
                    && let Some(module) = words.get(at + 1)
                {
                    return Some(Self { program: module, args: &words[at + 2..] });
                }
                return Some(Self { program: base, args: &words[1..] });
            } else {
                return Some(Self { program: base, args: &words[1..] });
            }
            if words.is_empty() {
                return None;
            }
        }
    }

    /// First plain argument of programs that have subcommands.
    fn subcommand(&self) -> Option<&'a str> {
        if !programs::has_subcommands(self.program) {
            return None;
        }
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                // Options of git and make that take a value.
                "-C" | "-c" | "-f" | "--git-dir" | "--work-tree" | "--prefix" | "--manifest-path" | "-n"
                | "--namespace" => {
                    args.next();
                }
                "--build" => return Some("--build"),
                option if option.starts_with(['-', '+']) => {}
                plain => return Some(plain),
            }
        }
        None
    }

    fn name(&self) -> String {
        match self.subcommand() {
            Some(sub) => format!("{} {sub}", self.program),
            None => self.program.to_owned(),
        }
    }

    fn does(&self, command: &Simple) -> Option<Does> {
        let arg = |wanted: &[&str]| self.args.iter().any(|arg| wanted.contains(&arg.as_str()));
        let letters = |letter: char| {
            self.args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
        };
        match self.program {
            "sed" | "perl" if letters('i') || arg(&["--in-place"]) => return Some(Does::Change),
            "awk" | "gawk" if arg(&["inplace"]) => return Some(Does::Change),
            "tail" if letters('f') || letters('F') || arg(&["--follow"]) => return Some(Does::Poll),
            "curl" => {
                return Some(if letters('o') || letters('O') || arg(&["--output", "--remote-name"]) {
                    Does::Change
                } else {
                    return None;
                });
            }
            "find" if arg(&["-delete", "-exec", "-execdir"]) => {
                return if arg(&["-delete", "rm", "mv", "sed"]) { Some(Does::Change) } else { Some(Does::Look) };
            }
            "tar" if letters('t') => return Some(Does::Look),
            "unzip" | "zip" if letters('l') || letters('t') => return Some(Does::Look),
            "ruff" | "eslint" | "biome" | "rubocop" | "clippy" | "oxlint" | "stylelint"
                if arg(&["--fix", "--write", "-a", "-A", "--autocorrect"]) =>
            {
                return Some(Does::Change);
            }
            "prettier" if arg(&["--write", "-w"]) => return Some(Does::Change),
            "black" | "gofmt" | "rustfmt" | "goimports" if !arg(&["--check", "--diff", "-l", "-d"]) => {
                return Some(Does::Change);
            }
            "gh" => return Some(gh(self.args)?),
            "python" | "python2" | "python3" | "node" | "ruby" | "perl" | "php" => return self.interpreted(command),
            _ if is_versioned_python(self.program) => return self.interpreted(command),
            _ => {}
        }
        let sub = self.subcommand();
        programs::does(self.program, sub)
            .or_else(|| sub.and_then(by_script_name))
            .or_else(|| by_script_name(self.program))
    }

    /// What an interpreter runs: code in its arguments or on its standard input, or a file.
    fn interpreted(&self, command: &Simple) -> Option<Does> {
        let inline = self
            .args
            .iter()
            .zip(self.args.iter().skip(1))
            .find(|(flag, _)| matches!(flag.as_str(), "-c" | "-e" | "-r"))
            .map(|(_, code)| code);
        if inline.into_iter().chain(&command.documents).any(|code| writes_files(code)) {
            return Some(Does::Change);
        }
        let mut plain = self.args.iter().filter(|arg| !arg.starts_with('-'));
        let script = base_name(plain.next()?);
        // `manage.py test`, `setup.py build`: a script with subcommands.
        let sub = plain.next().map(String::as_str);
        match (script, sub) {
            ("manage.py", Some("test")) => Some(Does::Test),
            ("manage.py", Some("migrate" | "makemigrations" | "flush" | "loaddata")) => Some(Does::Change),
            ("setup.py", Some("test")) => Some(Does::Test),
            ("setup.py", Some("build" | "build_ext" | "develop" | "install")) => Some(Does::Build),
            _ if inline.is_some() => None,
            _ => by_script_name(script),
        }
    }

    /// The one file or folder it is about.
    fn target(&self, command: &Simple) -> Option<String> {
        if let Some(redirect) =
            command.redirects.iter().find(|redirect| redirect.writes && !redirect.file.starts_with("/dev/"))
        {
            return Some(redirect.file.clone());
        }
        let mut paths = self.args.iter().filter(|arg| looks_like_path(arg));
        let interpreter = programs::INTERPRETERS.contains(&self.program) || is_versioned_python(self.program);
        if interpreter {
            return self.args.iter().find(|arg| !arg.starts_with('-')).filter(|arg| looks_like_path(arg)).cloned();
        }
        let one = paths.next()?;
        paths.next().is_none().then(|| one.clone())
    }
}

fn gh(args: &[String]) -> Option<Does> {
    let mut plain = args.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str);
    match (plain.next()?, plain.next()) {
        ("run" | "workflow", Some("watch" | "view" | "list")) | ("pr", Some("checks" | "status")) => Some(Does::Poll),
        (_, Some("create" | "merge" | "close" | "edit" | "comment" | "review" | "delete" | "rerun" | "run")) => {
            Some(Does::Change)
        }
        ("api", _) | (_, Some("view" | "list" | "diff" | "status")) => Some(Does::Look),
        _ => None,
    }
}

/// Names of scripts that say what they are for.
fn by_script_name(name: &str) -> Option<Does> {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let word = |wanted: &str| stem.split(['_', '-', ':']).any(|part| part == wanted);
    if word("test") || word("tests") || stem == "runtests" || stem == "pytest" || stem == "spec" {
        Some(Does::Test)
    } else if word("lint") || word("typecheck") {
        Some(Does::Lint)
    } else if word("build") || word("compile") {
        Some(Does::Build)
    } else {
        None
    }
}

fn is_versioned_python(program: &str) -> bool {
    program
        .strip_prefix("python")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.as_bytes()[0].is_ascii_digit()
    })
}

fn skip_options(words: &[String], own: usize) -> &[String] {
    let options = words.iter().take_while(|word| word.starts_with('-') || is_assignment(word)).count();
    words.get(options + own..).unwrap_or_default()
}

fn looks_like_path(word: &str) -> bool {
    if word.starts_with('-')
        || word.contains([' ', '\n', '*', '|', '(', '$', '{', '<', '>', ','])
        || word.contains("://")
    {
        return false;
    }
    word.contains('/')
        || word.rsplit_once('.').is_some_and(|(stem, ext)| {
            !stem.is_empty()
                && (1..=5).contains(&ext.len())
                && ext.bytes().all(|b| b.is_ascii_alphanumeric())
                && !ext.bytes().all(|b| b.is_ascii_digit())
        })
}

/// A redirection that leaves something behind: a real file, or a written-out text wherever it goes.
fn writes_a_file(ran: &Ran<'_>, command: &Simple) -> bool {
    command.redirects.iter().any(|redirect| {
        redirect.writes
            && !redirect.file.starts_with("/dev/")
            && (!is_scratch(&redirect.file) || matches!(ran.program, "cat" | "echo" | "printf" | "tee"))
    })
}

fn writes_files(code: &str) -> bool {
    programs::WRITING_CODE.iter().any(|sign| code.contains(sign))
        || code.contains("open(")
            && ["'w'", "\"w\"", "'a'", "\"a\"", "'wb'", "\"wb\"", "'w+'", "\"w+\""]
                .iter()
                .any(|mode| code.contains(mode))
}
