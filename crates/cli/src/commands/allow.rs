//! `belay allow`: marks a finding as acceptable, in its session and in later sessions of its project.

use std::path::{Path, PathBuf};

use belay_clock::now;
use belay_config::trust::{TrustState, TrustStore};
use belay_config::{ConfigKey, Edit, PROJECT_FILE, ProjectFile, Source};
use belay_core::effect::Finding;
use belay_core::event::OperatorDecision;
use belay_ipc::DecideRequest;
use clap::Args;
use serde_json::json;

use super::{CommandResult, decide, explain};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// Finding, incident, or session (for its newest finding).
    id: String,
    /// Reason; stored with the session.
    #[arg(long, short = 'm', default_value = "", value_name = "TEXT")]
    note: String,
    /// Only in this session. By default, the project's .belay.toml allows it in later sessions, too.
    #[arg(long)]
    session_only: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

/// The list of allowed pairs of action and outcome.
const PAIRS_KEY: &str = "detect.allow.pairs";

pub(crate) fn run(context: &Context, args: &AllowArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let row = explain::finding(&mut backend, &args.id)?;
    let finding = row.intervention.finding;
    let caller = require_operator(context, args.operator, "allow", Some(&row.session))?;
    let decision = OperatorDecision::Allow { finding: finding.id.clone() };
    let request =
        DecideRequest::new(row.session, decision).note(&args.note).by(decide::user(context)).caller(Some(caller));
    let outcome = backend.decide(&request)?;
    let view = backend.session(&request.session)?;
    let dir = view.project.or(view.cwd).map(PathBuf::from).filter(|dir| dir.is_dir());
    let written = match dir.filter(|_| !args.session_only) {
        Some(dir) => allow_in_project(context, &dir, &finding)?,
        None => None,
    };
    if context.out.json {
        context.out.json(&json!({
            "committed": outcome.committed, "finding": finding.id, "session": request.session.to_string(),
            "project_file": written.as_ref().map(|path| path.display().to_string()),
        }))?;
    } else {
        context
            .out
            .line(format!("{} no longer counts in {}: {}", finding.pattern, request.session, finding.sentence))?;
        if let Some(path) = written {
            context
                .out
                .line(format!("Later sessions of the project: added to `{PAIRS_KEY}` in {}.", path.display()))?;
        }
    }
    Ok(ExitStatus::Done)
}

/// Adds the finding's pair to the project's file and trusts the new content. A file that is not trusted is left alone:
/// trusting it here would trust the rest of it, too.
fn allow_in_project(context: &Context, dir: &Path, finding: &Finding) -> Result<Option<PathBuf>, CommandError> {
    let path = ProjectFile::locate(&context.paths, dir).unwrap_or_else(|| dir.join(PROJECT_FILE));
    let list = context.paths.trust();
    let cannot_read = |error| CommandError::new(format!("cannot read {}", list.display())).cause(error);
    let mut trusted = TrustStore::load(&list).map_err(cannot_read)?;
    let mut pairs = Vec::new();
    if path.exists() {
        let file = ProjectFile::read(&path).map_err(|problem| CommandError::new(problem.to_string()))?;
        if trusted.state(&file) != TrustState::Trusted {
            let text = format!("{} is not trusted, so it was not changed", path.display());
            context.out.warn(&text, Some("run `belay trust`, then `belay allow` again"));
            return Ok(None);
        }
        pairs = pairs_of(&file.text);
    }
    let pair = format!("{}:{}", finding.action, finding.outcome);
    if pairs.contains(&pair) {
        return Ok(Some(path));
    }
    pairs.push(pair);
    let key = ConfigKey::parse(PAIRS_KEY).ok_or_else(|| CommandError::new(format!("invalid key `{PAIRS_KEY}`")))?;
    let quoted: Vec<String> = pairs.iter().map(|pair| format!("\"{pair}\"")).collect();
    let mut edit = Edit::open(&path, Source::Project { path: path.clone(), trusted: true })?;
    edit.set(&key, &format!("[{}]", quoted.join(", ")))?;
    edit.save()?;
    let file = ProjectFile::read(&path).map_err(|problem| CommandError::new(problem.to_string()))?;
    trusted.trust(&file, now());
    let cannot_write = |error| CommandError::new(format!("cannot write {}", list.display())).cause(error);
    trusted.save(&list).map_err(cannot_write)?;
    Ok(Some(path))
}

/// The pairs that a project file allows already: quoted texts of the form `ACTION:OUTCOME`.
fn pairs_of(text: &str) -> Vec<String> {
    let is_digest = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_pair = |text: &&str| text.split_once(':').is_some_and(|(a, b)| is_digest(a) && is_digest(b));
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| line.split(['"', '\'']))
        .filter(is_pair)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_pairs_are_kept() {
        let text = "[detect.allow]\npairs = [\n  \"0123456789abcdef:fedcba9876543210\", # fine\n]\nactions = [\"Bash:npm test\"]\n";
        assert_eq!(pairs_of(text), ["0123456789abcdef:fedcba9876543210"]);
    }
}
