//! `belay trust`: accept what a project's file says, as it stands now.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use belay_config::trust::{TrustState, TrustStore};
use belay_config::{PROJECT_FILE, ProjectFile, Strictness};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::{now, relative_past};
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The project's folder or file; from the current folder upwards without it.
    path: Option<PathBuf>,
    /// List what is trusted.
    #[arg(long, conflicts_with_all = ["revoke", "yes", "path"])]
    list: bool,
    /// Trust it no longer.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(context: &Context, args: &TrustArgs) -> CommandResult {
    let list = context.places.trust();
    let mut trusted = TrustStore::load(&list).map_err(|error| {
        CommandError::new(format!("{} cannot be read", list.display()))
            .cause(error)
            .hint("take the file away to begin anew; nothing is trusted then")
    })?;
    if args.list {
        return show(context, &trusted);
    }
    let path = find(context, args.path.as_deref())?;
    if args.revoke {
        if !trusted.revoke(&path) {
            return Err(
                CommandError::new(format!("{} is not trusted", path.display())).hint("see `belay trust --list`")
            );
        }
        save(context, &trusted)?;
        return done(context, &path, false, "is not trusted any more");
    }
    let file = ProjectFile::read(&path).map_err(|problem| CommandError::new(problem.to_string()))?;
    if trusted.state(&file) == TrustState::Trusted {
        return done(context, &path, true, "is trusted already");
    }
    if !args.yes {
        confirm(context, &file)?;
    }
    trusted.trust(&file, now());
    save(context, &trusted)?;
    done(context, &path, true, "is trusted as it stands now; if it changes, you will be asked again")
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
    context.places.create()?;
    let path = context.places.trust();
    trusted.save(&path).map_err(|error| CommandError::new(format!("{} cannot be written", path.display())).cause(error))
}

fn find(context: &Context, path: Option<&Path>) -> Result<PathBuf, CommandError> {
    let none = |folder: &Path| {
        CommandError::new(format!("there is no {PROJECT_FILE} in {} or above", folder.display()))
            .hint("a project needs one only to differ from your own configuration")
    };
    match path {
        Some(file) if file.file_name().is_some_and(|name| name == PROJECT_FILE) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // The folder is resolved, the file is not: a link is refused when it is read.
            Ok(std::fs::canonicalize(folder).map_err(|_| none(folder))?.join(PROJECT_FILE))
        }
        Some(folder) => ProjectFile::locate(&context.places, folder).ok_or_else(|| none(folder)),
        None => {
            let folder = std::env::current_dir()?;
            ProjectFile::locate(&context.places, &folder).ok_or_else(|| none(&folder))
        }
    }
}

/// Shows what would be accepted, and asks. Without a terminal there is nobody to ask.
fn confirm(context: &Context, file: &ProjectFile) -> Result<(), CommandError> {
    if context.out.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CommandError::new("trusting a project needs your word, and there is no terminal to ask at")
            .hint("read the file, then run `belay trust --yes`"));
    }
    let mut err = anstream::stderr();
    writeln!(err, "{}:\n", file.path.display())?;
    for line in file.text.lines() {
        writeln!(err, "  {}", crate::output::single_line(line))?;
    }
    write!(err, "\nLet this loosen detection in this project? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::new("not trusted; nothing has changed")),
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
        context.out.info("No project is trusted.");
        return Ok(ExitStatus::Done);
    }
    let now = now();
    let mut grid = Table::new(&["file", "since", "standing"]);
    for (path, accepted) in trusted.iter() {
        grid.row(vec![path.display().to_string(), relative_past(accepted.at, now), standing(path).to_owned()]);
    }
    grid.print(&context.out)?;
    // Said once more where it matters: a file that changed does not count.
    context.config(Strictness::Lenient, &[])?;
    Ok(ExitStatus::Done)
}
