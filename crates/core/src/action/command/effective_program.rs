//! Resolves which program a command really runs, and its effect.

use super::super::programs::{self, ProgramEffect};
use super::super::shell::SimpleCommand;
use super::base_name;
use super::container_exec::{self, ContainerCommand};
use super::normalize::is_temp_path;

/// The program behind shell keywords, assignments and runners.
pub(super) struct EffectiveProgram<'a> {
    pub program: &'a str,
    args: &'a [String],
}

impl<'a> EffectiveProgram<'a> {
    pub(super) fn resolve(command: &'a SimpleCommand) -> Option<Self> {
        let mut words = command.words.as_slice();
        loop {
            let first = words.first()?.as_str();
            let base = base_name(first);
            if programs::SHELL_KEYWORDS.contains(&first) || is_assignment(first) {
                words = &words[1..];
            } else if programs::SHELL_STRUCTURE_WORDS.contains(&first) {
                return None;
            } else if words.len() > 1 && programs::is_runner(base) {
                words = skip_options(&words[1..]);
            } else if words.len() > 2 && programs::RUNNER_SUBCOMMANDS.iter().any(|(a, b)| *a == base && *b == words[1])
            {
                words = match base {
                    // The name of the script indicates its purpose: `npm run lint`.
                    "npm" | "pnpm" | "yarn" | "bun" if words[1].starts_with("run") => {
                        return Some(Self { program: base, args: &words[2..] });
                    }
                    "cargo" if words[1] == "xtask" => return Some(Self { program: "xtask", args: &words[2..] }),
                    _ => skip_options(&words[2..]),
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
                match container_exec::container_command(base, &words[1..]) {
                    Some(ContainerCommand::Program(within)) => words = within,
                    Some(ContainerCommand::Named(program, args)) => {
                        match container_exec::container_command(program, args) {
                            Some(ContainerCommand::Program(within)) => words = within,
                            _ => return Some(Self { program, args }),
                        }
                    }
                    None => return Some(Self { program: base, args: &words[1..] }),
                }
            }
            if words.is_empty() {
                return None;
            }
        }
    }

    /// First positional argument of programs with subcommands.
    pub(super) fn subcommand(&self) -> Option<&'a str> {
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

    pub(super) fn name(&self, sub: Option<&str>) -> String {
        match sub {
            Some(sub) => format!("{} {sub}", self.program),
            None => self.program.to_owned(),
        }
    }

    pub(super) fn effect(&self, sub: Option<&str>, command: &SimpleCommand) -> Option<ProgramEffect> {
        let arg = |wanted: &[&str]| self.args.iter().any(|arg| wanted.contains(&arg.as_str()));
        let letters = |letter: char| {
            self.args.iter().any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter))
        };
        match self.program {
            "sed" | "perl" if letters('i') || arg(&["--in-place"]) => return Some(ProgramEffect::Change),
            "awk" | "gawk" if arg(&["inplace"]) => return Some(ProgramEffect::Change),
            "tail" if letters('f') || letters('F') || arg(&["--follow"]) => return Some(ProgramEffect::Poll),
            "tail" | "cat" if self.args.iter().any(|arg| programs::appends_output(arg)) => {
                return Some(ProgramEffect::Poll);
            }
            "curl" => {
                return Some(if letters('o') || letters('O') || arg(&["--output", "--remote-name"]) {
                    ProgramEffect::Change
                } else {
                    return None;
                });
            }
            "find" if arg(&["-delete", "-exec", "-execdir"]) => {
                return if arg(&["-delete", "rm", "mv", "sed"]) {
                    Some(ProgramEffect::Change)
                } else {
                    Some(ProgramEffect::Look)
                };
            }
            "tar" if letters('t') => return Some(ProgramEffect::Look),
            "unzip" | "zip" if letters('l') || letters('t') => return Some(ProgramEffect::Look),
            "ruff" | "eslint" | "biome" | "rubocop" | "clippy" | "oxlint" | "stylelint"
                if arg(&["--fix", "--write", "-a", "-A", "--autocorrect"]) =>
            {
                return Some(ProgramEffect::Change);
            }
            "prettier" if arg(&["--write", "-w"]) => return Some(ProgramEffect::Change),
            "black" | "gofmt" | "rustfmt" | "goimports" if !arg(&["--check", "--diff", "-l", "-d"]) => {
                return Some(ProgramEffect::Change);
            }
            "gh" => return gh(self.args),
            "python" | "python2" | "python3" | "node" | "ruby" | "perl" | "php" => return self.interpreted(command),
            _ if is_versioned_python(self.program) => return self.interpreted(command),
            _ => {}
        }
        programs::program_effect(self.program, sub)
            .or_else(|| sub.and_then(by_script_name))
            .or_else(|| by_script_name(self.program))
            .or_else(|| {
                // Of a listed program, only an unlisted subcommand is left.
                let changes = match programs::is_listed(self.program) {
                    true => programs::has_changing_verb(sub.into_iter()),
                    false => programs::has_changing_verb(self.args.iter().map(String::as_str)),
                };
                changes.then_some(ProgramEffect::Change)
            })
    }

    /// The first argument that is not an option.
    pub(super) fn first_argument(&self) -> Option<&'a str> {
        self.args.iter().map(String::as_str).find(|arg| !arg.starts_with('-'))
    }

    /// Whether a non-zero exit is an answer of this program.
    pub(super) fn is_probe(&self, sub: Option<&str>) -> bool {
        programs::is_probe(self.program, sub) || self.program == "command" && self.args.iter().any(|arg| arg == "-v")
    }

    /// Whether it does nothing by design.
    pub(super) fn is_no_op(&self, command: &SimpleCommand) -> bool {
        let prints_nothing = || self.args.iter().all(|arg| arg.is_empty() || arg == "-n");
        command.redirects.is_empty()
            && match self.program {
                ":" | "true" => true,
                "echo" | "printf" => prints_nothing(),
                "sleep" => self.args.iter().all(|arg| arg.trim_matches(['0', '.', 's']).is_empty()),
                "cat" | "head" | "tail" => !self.args.is_empty() && self.args.iter().all(|arg| arg == "/dev/null"),
                _ => false,
            }
    }

    /// Whether it only sets up the shell for what follows: later commands may show something else.
    pub(super) fn sets_environment(&self) -> bool {
        matches!(
            self.program,
            "export" | "source" | "." | "unset" | "cd" | "pushd" | "popd" | "alias" | "ulimit" | "umask"
        )
    }

    /// Whether it writes text of the command line to a file, as an editor would. Saving another program's output is not
    /// an edit.
    pub(super) fn writes_own_text(&self, command: &SimpleCommand) -> bool {
        let own_text = match self.program {
            "cat" | "tee" => !command.documents.is_empty(),
            "echo" | "printf" => true,
            _ => false,
        };
        own_text && redirects_to_file(self, command)
    }

    /// Whether it writes text of the command line as the whole content of a file: `>` and not `>>`.
    pub(super) fn overwrites(&self, command: &SimpleCommand) -> bool {
        let appends = command.redirects.iter().any(|redirect| redirect.append)
            || self.program == "tee" && self.args.iter().any(|arg| arg == "-a" || arg == "--append");
        self.writes_own_text(command) && !appends
    }

    /// Whether it edits the files that it names in place.
    pub(super) fn edits_in_place(&self) -> bool {
        let letters = |arg: &String| arg.starts_with("-i") || arg == "--in-place" || arg == "-pi" || arg == "-ni";
        matches!(self.program, "sed" | "perl" | "ed" | "ex" | "tee" | "sd")
            && (matches!(self.program, "ed" | "ex" | "tee" | "sd") || self.args.iter().any(letters))
    }

    /// Effect of an interpreter: inline code, standard input, or a file.
    fn interpreted(&self, command: &SimpleCommand) -> Option<ProgramEffect> {
        let inline = self
            .args
            .iter()
            .zip(self.args.iter().skip(1))
            .find(|(flag, _)| matches!(flag.as_str(), "-c" | "-e" | "-r"))
            .map(|(_, code)| code);
        if inline.into_iter().chain(&command.documents).any(|code| code_writes_files(code)) {
            return Some(ProgramEffect::Change);
        }
        let mut plain = self.args.iter().filter(|arg| !arg.starts_with('-'));
        let script = base_name(plain.next()?);
        // `manage.py test`, `setup.py build`: a script with subcommands.
        let sub = plain.next().map(String::as_str);
        match (script, sub) {
            ("manage.py", Some("test")) => Some(ProgramEffect::Test),
            ("manage.py", Some("migrate" | "makemigrations" | "flush" | "loaddata")) => Some(ProgramEffect::Change),
            ("setup.py", Some("test")) => Some(ProgramEffect::Test),
            ("setup.py", Some("build" | "build_ext" | "develop" | "install")) => Some(ProgramEffect::Build),
            _ if inline.is_some() => None,
            _ => by_script_name(script),
        }
    }

    /// The file or directory in question, if there is exactly one.
    pub(super) fn target(&self, command: &SimpleCommand) -> Option<String> {
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

fn gh(args: &[String]) -> Option<ProgramEffect> {
    let mut plain = args.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str);
    match (plain.next()?, plain.next()) {
        ("run" | "workflow", Some("watch" | "view" | "list")) | ("pr", Some("checks" | "status")) => {
            Some(ProgramEffect::Poll)
        }
        (_, Some("create" | "merge" | "close" | "edit" | "comment" | "review" | "delete" | "rerun" | "run")) => {
            Some(ProgramEffect::Change)
        }
        ("api", _) | (_, Some("view" | "list" | "diff" | "status")) => Some(ProgramEffect::Look),
        _ => None,
    }
}

/// Script names that reveal their purpose.
fn by_script_name(name: &str) -> Option<ProgramEffect> {
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let word = |wanted: &str| stem.split(['_', '-', ':']).any(|part| part == wanted);
    if word("test") || word("tests") || stem == "runtests" || stem == "pytest" || stem == "spec" {
        Some(ProgramEffect::Test)
    } else if word("lint") || word("typecheck") {
        Some(ProgramEffect::Lint)
    } else if word("build") || word("compile") {
        Some(ProgramEffect::Build)
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

/// The command of a runner: skips options, their numeric values and assignments.
pub(super) fn skip_options(words: &[String]) -> &[String] {
    let own = |word: &&String| {
        let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
        word.starts_with('-')
            || is_assignment(word)
            || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
            || *word == "{}"
    };
    &words[words.iter().take_while(own).count()..]
}

fn looks_like_path(word: &str) -> bool {
    if word.starts_with('-')
        || word.contains([' ', '\n', '*', '|', '(', '$', '{', '<', '>', ','])
        || word.contains("://")
        || word.starts_with("localhost")
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

/// Whether output persists: a redirection to a real file, or a here-document written anywhere.
pub(super) fn redirects_to_file(ran: &EffectiveProgram<'_>, command: &SimpleCommand) -> bool {
    command.redirects.iter().any(|redirect| {
        redirect.writes
            && !redirect.file.starts_with("/dev/")
            && (!is_temp_path(&redirect.file) || matches!(ran.program, "cat" | "echo" | "printf" | "tee"))
    })
}

pub(super) fn code_writes_files(code: &str) -> bool {
    programs::FILE_WRITING_SNIPPETS.iter().any(|sign| code.contains(sign))
        || code.contains("open(")
            && ["'w'", "\"w\"", "'a'", "\"a\"", "'wb'", "\"wb\"", "'w+'", "\"w+\""]
                .iter()
                .any(|mode| code.contains(mode))
}
