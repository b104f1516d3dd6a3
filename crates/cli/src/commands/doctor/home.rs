//! The state directory and the configuration.

use std::path::Path;

use belay_config::trust::TrustState;
use belay_config::{ConfigError, Loader, Strictness};

use super::CheckResult;
use crate::context::Context;

pub(super) fn state_directory(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "state";
    let dir = context.paths.state();
    let found = match std::fs::metadata(dir) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return vec![missing(dir)],
        Err(error) => {
            let finding = format!("cannot access {}: {error}", dir.display());
            return vec![
                CheckResult::failed(CHECK, finding)
                    .fix("check the permissions of its parent directories, or use --home DIR"),
            ];
        }
    };
    if !found.is_dir() {
        let finding = format!("{} is not a directory", dir.display());
        return vec![CheckResult::failed(CHECK, finding).fix("move it, or use --home DIR")];
    }
    let mut rows = Vec::new();
    if let Some(row) = check_owner_and_mode(context, &found) {
        rows.push(row);
    }
    if rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_err() {
        let finding = format!("{} is not writable: decisions are made in memory and nothing is saved", dir.display());
        rows.push(CheckResult::failed(CHECK, finding).fix(format!("chmod u+w {0}, or use --home DIR", dir.display())));
    }
    if rows.is_empty() {
        rows.push(CheckResult::ok(CHECK, dir.display().to_string()));
    }
    rows
}

/// The state directory does not exist: whether it can be created.
fn missing(dir: &Path) -> CheckResult {
    let parent = dir.ancestors().skip(1).find(|parent| parent.exists());
    match parent.filter(|parent| rustix::fs::access(*parent, rustix::fs::Access::WRITE_OK).is_err()) {
        None => CheckResult::note("state", format!("{} does not exist yet; it is created when needed", dir.display())),
        Some(parent) => CheckResult::failed(
            "state",
            format!("{} cannot be created: {} is not writable; nothing is saved", dir.display(), parent.display()),
        )
        .fix(format!("chmod u+w {}, or use --home DIR", parent.display())),
    }
}

fn check_owner_and_mode(context: &Context, found: &std::fs::Metadata) -> Option<CheckResult> {
    use std::os::unix::fs::MetadataExt;
    let dir = context.paths.state().display();
    if found.uid() != rustix::process::geteuid().as_raw() {
        let row = CheckResult::failed("state", format!("{dir} belongs to another user (id {})", found.uid()));
        return Some(row.fix("run Belay as that user, or use --home DIR"));
    }
    (found.mode() & 0o077 != 0).then(|| {
        CheckResult::warning("state", format!("{dir} is accessible to other users (mode {:o})", found.mode() & 0o777))
            .fix(format!("chmod 700 {dir}"))
    })
}

pub(super) fn configuration(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "configuration";
    let loader = Loader::new(&context.paths, &context.env).strictness(Strictness::Strict);
    let file = context.paths.config_file().display().to_string();
    match loader.load() {
        Ok(loaded) => {
            let what =
                if context.paths.config_file().exists() { file } else { format!("defaults; {file} does not exist") };
            let mut rows = vec![CheckResult::ok(CHECK, what)];
            rows.extend(loaded.notes.iter().map(|note| {
                let row = CheckResult::warning(CHECK, note.to_string());
                note.hint.iter().fold(row, |row, hint| row.fix(hint))
            }));
            rows
        }
        Err(ConfigError::Invalid(problems)) => {
            let problems = problems.iter().map(|problem| {
                let row = CheckResult::failed(CHECK, problem.to_string());
                row.fix(problem.hint.clone().unwrap_or_else(|| format!("edit {file}")))
            });
            problems.chain([effect_of_invalid_values(context)]).collect()
        }
        Err(error @ ConfigError::Read { .. }) => {
            vec![CheckResult::failed(CHECK, error.to_string()).fix("check the file's owner and permissions")]
        }
    }
}

/// What the rest of Belay does with an invalid configuration.
fn effect_of_invalid_values(context: &Context) -> CheckResult {
    let loader = Loader::new(&context.paths, &context.env).strictness(Strictness::Lenient);
    match loader.load().map(|loaded| loaded.is_record_only) {
        Ok(false) => CheckResult::warning("configuration", "Belay ignores these values and uses the others"),
        _ => CheckResult::failed(
            "configuration",
            "until this is fixed, Belay records interventions and does not carry them out",
        ),
    }
}

pub(super) fn project(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "project file";
    let Ok(dir) = std::env::current_dir() else { return Vec::new() };
    let loader = Loader::new(&context.paths, &context.env).strictness(Strictness::Lenient).from_dir(dir);
    let Ok(loaded) = loader.load() else { return Vec::new() };
    let Some((path, standing)) = &loaded.project else { return Vec::new() };
    let what = match standing {
        TrustState::Trusted => "trusted",
        TrustState::Changed => "changed since it was trusted; it can only tighten detection",
        TrustState::Unknown => "not trusted; it can only tighten detection",
    };
    let mut rows = vec![CheckResult::ok(CHECK, format!("{}: {what}", path.display()))];
    let notes = loaded.notes.iter().filter(|note| matches!(note.source, belay_config::Source::Project { .. }));
    rows.extend(notes.map(|note| {
        let row = CheckResult::warning(CHECK, note.to_string());
        note.hint.iter().fold(row, |row, hint| row.fix(hint))
    }));
    rows
}
