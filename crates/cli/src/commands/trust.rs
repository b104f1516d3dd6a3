//! `belay trust`: trusts the current content of a project's `.belay.toml`, or of one of its prompts.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use belay_clock::now;
use belay_config::trust::{TrustState, TrustStore};
use belay_config::{PROJECT_FILE, PROJECT_PROMPTS, ProjectFile, Strictness};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::relative_past;
use crate::operator::{OperatorArgs, require_operator};
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Project directory, its `.belay.toml`, or a file in its `.belay/prompts`; by default the nearest `.belay.toml` from the
    /// current directory upwards.
    path: Option<PathBuf>,
    /// List trusted files.
    #[arg(long, conflicts_with_all = ["revoke", "yes", "path"])]
    list: bool,
    /// Revoke the trust.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &TrustArgs) -> CommandResult {
    let list = context.paths.trust();
    let mut trusted = TrustStore::load(&list).map_err(|error| {
        CommandError::new(format!("cannot read {}", list.display()))
            .cause(error)
            .hint("delete the file to start over; it lists the trusted projects")
    })?;
    if args.list {
        return show(context, &trusted);
    }
    let path = find(context, args.path.as_deref())?;
    if args.revoke {
        if !trusted.revoke(&path) {
            return Err(
                CommandError::new(format!("{} is not trusted", path.display())).hint("run `belay trust --list`")
            );
        }
        save(context, &trusted)?;
        return done(context, &path, false, "is no longer trusted");
    }
    let file = ProjectFile::read(&path).map_err(|problem| CommandError::new(problem.to_string()))?;
    if trusted.state(&file) == TrustState::Trusted {
        return done(context, &path, true, "is already trusted");
    }
    require_operator(context, args.operator, "trust", None)?;
    if !args.yes {
        confirm(context, &file)?;
    }
    trusted.trust(&file, now());
    save(context, &trusted)?;
    done(context, &path, true, "is trusted; a changed file must be trusted again")
}

fn done(context: &Context, path: &Path, trusted: bool, what: &str) -> CommandResult {
    let path = path.display().to_string();
    if context.out.json {
        context.out.json(&json!({ "file": path, "trusted": trusted }))?;
    } else {
        context.out.line(format!("{path} {what}."))?;
    }
    Ok(ExitStatus::Done)
}

fn save(context: &Context, trusted: &TrustStore) -> Result<(), CommandError> {
    context.paths.create()?;
    let path = context.paths.trust();
    trusted.save(&path).map_err(|error| CommandError::new(format!("cannot write {}", path.display())).cause(error))
}

fn find(context: &Context, path: Option<&Path>) -> Result<PathBuf, CommandError> {
    let none = |dir: &Path| {
        CommandError::new(format!("no {PROJECT_FILE} in {} or its parent directories", dir.display()))
            .hint("a project needs one only to override your configuration")
    };
    match path {
        Some(file) if file.file_name().is_some_and(|name| name == PROJECT_FILE) || is_prompt(file) => {
            let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // Only the directory is resolved: a symlinked file is refused when it is read.
            let dir = std::fs::canonicalize(dir).map_err(|_| none(dir))?;
            Ok(dir.join(file.file_name().unwrap_or_default()))
        }
        Some(dir) => ProjectFile::locate(&context.paths, dir).ok_or_else(|| none(dir)),
        None => {
            let dir = std::env::current_dir()?;
            ProjectFile::locate(&context.paths, &dir).ok_or_else(|| none(&dir))
        }
    }
}

/// Whether a path names a prompt of a project.
fn is_prompt(file: &Path) -> bool {
    let dir = std::path::absolute(file).ok();
    dir.as_deref().and_then(Path::parent).is_some_and(|dir| dir.ends_with(PROJECT_PROMPTS))
}

/// Shows the file and asks for confirmation; fails without a terminal.
fn confirm(context: &Context, file: &ProjectFile) -> Result<(), CommandError> {
    if context.out.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CommandError::new("trusting a project needs confirmation, but stdin is not a terminal")
            .hint("read the file, then run `belay trust --yes`"));
    }
    let mut err = anstream::stderr();
    writeln!(err, "{}:\n", crate::output::single_line(&file.path.display().to_string()))?;
    for line in file.text.lines() {
        writeln!(err, "  {}", crate::output::single_line(line))?;
    }
    let question = match is_prompt(&file.path) {
        true => "Let review loops of this project use this prompt?",
        false => "Allow this file to loosen detection in this project?",
    };
    write!(err, "\n{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::new("not trusted; nothing was changed")),
    }
}

fn show(context: &Context, trusted: &TrustStore) -> CommandResult {
    let standing = |path: &Path| match ProjectFile::read(path) {
        Ok(file) if trusted.state(&file) == TrustState::Trusted => "trusted",
        Ok(_) => "changed since",
        Err(_) => "gone",
    };
    if context.out.json {
        let rows: Vec<_> = trusted
            .iter()
            .map(|(path, accepted)| json!({
                "file": path.display().to_string(), "sha256": accepted.sha256, "at": accepted.at, "standing": standing(path),
            }))
            .collect();
        context.out.json(&json!({ "trusted": rows }))?;
        return Ok(ExitStatus::Done);
    }
    if trusted.iter().next().is_none() {
        context.out.info("No trusted projects.");
        return Ok(ExitStatus::Done);
    }
    let now = now();
    let mut table = Table::new(&["file", "since", "standing"]);
    for (path, accepted) in trusted.iter() {
        table.row(vec![path.display().to_string(), relative_past(accepted.at, now), standing(path).to_owned()]);
    }
    table.print(&context.out)?;
    // Prints a warning if a value of the current project's file is ignored.
    context.config(Strictness::Lenient, &[])?;
    Ok(ExitStatus::Done)
}
