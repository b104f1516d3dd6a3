//! `belay import`: settings of the tools Belay supersedes, with what they meant there.

mod heartbeat;

use std::path::PathBuf;

use belay_config::{Edit, Key, PROJECT_FILE, Source};
use clap::Subcommand;
use serde::Serialize;
use serde_json::json;

use super::Ended;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// From heartbeat: .heartbeat.yml, HEARTBEAT_* and .heartbeat/patterns.
    Heartbeat {
        /// The project's folder; the current one without it.
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
        /// Take over the webhook that .heartbeat.yml names: look at it first.
        #[arg(long)]
        webhook: bool,
    },
}

/// One setting on its way.
#[derive(Debug, Serialize)]
struct Mapped {
    /// Where it came from: `.heartbeat.yml: loop_threshold = 4`.
    from: String,
    /// The key it becomes, and its value; none when it has no counterpart.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<(String, String)>,
    /// It belongs into the user's own file, not into the project's.
    user: bool,
    /// What changes in meaning, or why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) fn run(context: &Context, command: &ImportCommand) -> Ended {
    let ImportCommand::Heartbeat { folder, dry_run, webhook } = command;
    let mapped = heartbeat::read(folder, &context.env, *webhook)?;
    if mapped.is_empty() {
        return Err(CommandError::new(format!("there is nothing of heartbeat in {}", folder.display()))
            .hint("it looks for .heartbeat.yml, .heartbeat/patterns/*.json and HEARTBEAT_* variables"));
    }
    let project = folder.join(PROJECT_FILE);
    let user = context.places.config_file().to_path_buf();
    let mut written = Vec::new();
    if !dry_run {
        let trusted = Source::Project { path: project.clone(), trusted: true };
        if write(&project, trusted, mapped.iter().filter(|one| !one.user))? {
            written.push(project.display().to_string());
        }
        if write(&user, Source::User(user.clone()), mapped.iter().filter(|one| one.user))? {
            written.push(user.display().to_string());
        }
    }
    if context.out.json {
        context.out.json(&json!({ "imported": mapped, "dry_run": dry_run, "written": written }))?;
        return Ok(Exit::Done);
    }
    for one in &mapped {
        let to = one.to.as_ref().map_or_else(|| "(left out)".to_owned(), |(key, value)| format!("{key} = {value}"));
        context.out.line(crate::output::one_line(&format!("{}  ->  {to}", one.from)))?;
        if let Some(note) = &one.note {
            context.out.line(format!("    {note}"))?;
        }
    }
    context.out.say(match written.is_empty() {
        true => "Nothing was written.".to_owned(),
        false => format!(
            "Written to {}. Looser settings of a project count once you trust it: `belay trust`.",
            written.join(" and ")
        ),
    });
    Ok(Exit::Done)
}

/// Whether there was anything to write.
fn write<'m>(
    path: &std::path::Path,
    source: Source,
    mapped: impl Iterator<Item = &'m Mapped>,
) -> Result<bool, CommandError> {
    let mut wanted = mapped.filter_map(|one| one.to.as_ref()).peekable();
    if wanted.peek().is_none() {
        return Ok(false);
    }
    let mut edit = Edit::open(path, source)?;
    for (key, value) in wanted {
        let parsed = Key::parse(key).ok_or_else(|| CommandError::new(format!("`{key}` is no key")))?;
        edit.set(&parsed, value)?;
    }
    edit.save()?;
    Ok(true)
}
