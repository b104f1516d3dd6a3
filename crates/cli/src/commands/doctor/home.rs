//! The state folder and the configuration.

use belay_config::trust::TrustState;
use belay_config::{ConfigError, Loader, Strictness};

use super::CheckResult;
use crate::context::Context;

pub(super) fn state_folder(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "state folder";
    let folder = context.places.state();
    let found = match std::fs::metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![CheckResult::note(
                CHECK,
                format!("{} is not there yet; it is made when needed", folder.display()),
            )];
        }
        Err(error) => {
            let finding = format!("{} cannot be looked at: {error}", folder.display());
            return vec![
                CheckResult::failed(CHECK, finding).fix("check the permissions of the folders above it, or use --home"),
            ];
        }
    };
    if !found.is_dir() {
        let finding = format!("{} is no folder", folder.display());
        return vec![CheckResult::failed(CHECK, finding).fix("move it away, or point --home elsewhere")];
    }
    let mut rows = Vec::new();
    if let Some(row) = ownership(context, &found) {
        rows.push(row);
    }
    if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        let finding =
            format!("{} cannot be written: decisions are made in memory and nothing is kept", folder.display());
        rows.push(
            CheckResult::failed(CHECK, finding)
                .fix(format!("chmod u+w {0}, or point --home elsewhere", folder.display())),
        );
    }
    if rows.is_empty() {
        rows.push(CheckResult::ok(CHECK, folder.display().to_string()));
    }
    rows
}

fn ownership(context: &Context, found: &std::fs::Metadata) -> Option<CheckResult> {
    use std::os::unix::fs::MetadataExt;
    let folder = context.places.state().display();
    if found.uid() != rustix::process::geteuid().as_raw() {
        let row = CheckResult::failed("state folder", format!("{folder} belongs to another user (id {})", found.uid()));
        return Some(row.fix("run Belay as that user, or point --home elsewhere"));
    }
    (found.mode() & 0o077 != 0).then(|| {
        CheckResult::warning("state folder", format!("{folder} is open to others (mode {:o})", found.mode() & 0o777))
            .fix(format!("chmod 700 {folder}"))
    })
}

pub(super) fn configuration(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "configuration";
    let loader = Loader::new(&context.places, &context.env).strictness(Strictness::Strict);
    let file = context.places.config_file().display().to_string();
    match loader.load() {
        Ok(loaded) => {
            let what =
                if context.places.config_file().exists() { file } else { format!("built-in; {file} does not exist") };
            let mut rows = vec![CheckResult::ok(CHECK, what)];
            rows.extend(loaded.notes.iter().map(|note| {
                let row = CheckResult::warning(CHECK, note.to_string());
                note.hint.iter().fold(row, |row, hint| row.fix(hint))
            }));
            rows
        }
        Err(ConfigError::Invalid(problems)) => problems
            .iter()
            .map(|problem| {
                let row = CheckResult::failed(CHECK, problem.to_string());
                row.fix(problem.hint.clone().unwrap_or_else(|| format!("edit {file}")))
            })
            .collect(),
        Err(error @ ConfigError::Read { .. }) => {
            vec![CheckResult::failed(CHECK, error.to_string()).fix("check the file's owner and permissions")]
        }
    }
}

pub(super) fn project(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "project file";
    let Ok(folder) = std::env::current_dir() else { return Vec::new() };
    let loader = Loader::new(&context.places, &context.env).strictness(Strictness::Lenient).from_folder(folder);
    let Ok(loaded) = loader.load() else { return Vec::new() };
    let Some((path, standing)) = &loaded.project else { return Vec::new() };
    let what = match standing {
        TrustState::Trusted => "trusted",
        TrustState::Changed => "changed since it was trusted; it may only tighten detection",
        TrustState::Unknown => "not trusted; it may only tighten detection",
    };
    let mut rows = vec![CheckResult::ok(CHECK, format!("{}: {what}", path.display()))];
    let notes = loaded.notes.iter().filter(|note| matches!(note.source, belay_config::Source::Project { .. }));
    rows.extend(notes.map(|note| {
        let row = CheckResult::warning(CHECK, note.to_string());
        note.hint.iter().fold(row, |row, hint| row.fix(hint))
    }));
    rows
}
