//! Git settings that name programs.
//!
//! A worktree shares the configuration of its repository, and an agent can write it. Git would then run a program of
//! the agent's choice with the person's rights, when Belay takes a snapshot or lands the work. So the settings of the
//! start are recorded, and every later use refuses new ones. Settings in the person's own configuration are theirs.

use std::collections::BTreeSet;
use std::path::Path;

use belay_fs::Links;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::WorkspaceError;
use super::git::{Environment, Git, split_nul};
use super::manifest::hex;

/// Section and variable of settings whose value git runs, or that let it run one. Hooks, `core.fsmonitor` and the
/// editor are replaced in every call.
const PROGRAM_SETTINGS: &[(&str, &str)] = &[
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("merge", "driver"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("core", "sshcommand"),
    ("core", "gitproxy"),
    ("core", "askpass"),
    ("core", "alternaterefscommand"),
    ("credential", "helper"),
    ("gpg", "program"),
    ("protocol", "allow"),
    ("remote", "uploadpack"),
    ("remote", "vcs"),
];

/// Arguments with which git lists all settings and where they are from.
pub(super) const LIST: &[&str] = &["config", "--list", "--includes", "--show-scope", "-z"];

/// A larger configuration file is read by git alone.
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;
/// Submodules of submodules that are looked at.
const MAX_DEPTH: u32 = 16;

/// The settings of a repository that name programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct GitPrograms {
    /// Names with their values.
    settings: BTreeSet<(String, String)>,
    /// SHA-256 of the configuration files, if they include no others. While it is the same, git need not be asked.
    files: Option<String>,
}

impl GitPrograms {
    /// Records the settings. `git_dir` is that of the worktree, `common_dir` that of the repository.
    pub(super) fn record(git: &Git, git_dir: &Path, common_dir: &Path) -> Result<Self, WorkspaceError> {
        let files = digest(git_dir, common_dir);
        Ok(Self { settings: added(git, &BTreeSet::new())?, files })
    }

    /// Refuses settings that were added since.
    pub(super) fn check(&self, git: &Git, git_dir: &Path, common_dir: &Path) -> Result<(), WorkspaceError> {
        if self.files.is_some() && self.files == digest(git_dir, common_dir) {
            return Ok(());
        }
        refuse(added(git, &self.settings)?, common_dir)
    }

    /// Like [`GitPrograms::check`], for the output of [`LIST`].
    pub(super) fn check_listed(&self, listed: &[u8], common_dir: &Path) -> Result<(), WorkspaceError> {
        refuse(added_in(listed, &self.settings), common_dir)
    }

    /// Refuses settings of submodules, and of other repositories in the tree, where git looks for changed files.
    pub(super) fn check_submodules(&self, git: &Git, env: &Environment) -> Result<(), WorkspaceError> {
        self.check_below(git, env, MAX_DEPTH)
    }

    fn check_below(&self, git: &Git, env: &Environment, depth: u32) -> Result<(), WorkspaceError> {
        use std::os::unix::ffi::OsStrExt;
        let root = git.work_tree()?;
        let listed = git.run(&["ls-files", "--stage", "-z", "--full-name"])?;
        for entry in split_nul(&listed).filter(|entry| entry.starts_with(b"160000 ")) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let path = root.join(std::ffi::OsStr::from_bytes(&entry[tab + 1..]));
            if path.join(".git").symlink_metadata().is_err() {
                continue;
            }
            let submodule = Git::discover(&path, env);
            refuse(added(&submodule, &self.settings)?, &path)?;
            match depth.checked_sub(1) {
                Some(depth) => self.check_below(&submodule, env, depth)?,
                None => return Err(WorkspaceError::Submodules { dir: path, message: "nested too deeply".to_owned() }),
            }
        }
        Ok(())
    }
}

/// Settings of the repository that are neither known nor the person's own.
fn added(git: &Git, known: &BTreeSet<(String, String)>) -> Result<BTreeSet<(String, String)>, WorkspaceError> {
    Ok(added_in(&git.run(LIST)?, known))
}

fn added_in(listed: &[u8], known: &BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    let mut parts = listed.split(|byte| *byte == 0);
    let (mut own, mut repository) = (BTreeSet::new(), BTreeSet::new());
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        let setting = String::from_utf8_lossy(setting);
        let (name, value) = setting.split_once('\n').unwrap_or((&setting, ""));
        if !names_program(name) {
            continue;
        }
        let setting = (name.to_owned(), value.to_owned());
        match scope {
            b"local" | b"worktree" => repository.insert(setting),
            _ => own.insert(setting),
        };
    }
    repository.into_iter().filter(|setting| !known.contains(setting) && !own.contains(setting)).collect()
}

/// Git prints sections and variables in lower case.
fn names_program(name: &str) -> bool {
    let (Some((section, _)), Some((_, variable))) = (name.split_once('.'), name.rsplit_once('.')) else { return false };
    PROGRAM_SETTINGS.contains(&(section, variable))
}

fn refuse(settings: BTreeSet<(String, String)>, repo: &Path) -> Result<(), WorkspaceError> {
    if settings.is_empty() {
        return Ok(());
    }
    let settings = settings.into_iter().map(|(name, _)| name).collect();
    Err(WorkspaceError::Programs { repo: repo.to_owned(), settings })
}

/// `None` if a file includes others, or is not a regular file.
fn digest(git_dir: &Path, common_dir: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    for path in [common_dir.join("config"), git_dir.join("config.worktree")] {
        let text = match belay_fs::read_regular(&path, Links::Refuse, MAX_CONFIG_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(_) => return None,
        };
        if String::from_utf8_lossy(&text).to_ascii_lowercase().contains("include") {
            return None;
        }
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    Some(hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_other_settings() {
        for name in ["filter.lfs.clean", "filter.a.b.process", "merge.x.driver", "credential.https://x.y.helper"] {
            assert!(names_program(name), "{name}");
        }
        for name in ["filter.lfs.required", "merge.conflictstyle", "core.autocrlf", "remote.origin.url", "core"] {
            assert!(!names_program(name), "{name}");
        }
    }
}
