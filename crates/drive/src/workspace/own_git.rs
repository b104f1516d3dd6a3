//! A git directory of Belay's own for each workspace.
//!
//! An agent can write everything in the git directory that it works with: settings that run programs, an index that
//! says what is not on disk, attributes that hide a change, refs and grafts that replace objects. So all work on files
//! and trees uses a git directory next to the worktree (`<id>.git`), which has the settings of the start and its own
//! index. It writes objects into the database of the repository, whose refs keep them alive. Branches and HEAD are read
//! and moved in the repository itself.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use belay_fs::{FileMode, Links};

use super::error::WorkspaceError;
use super::git::{Environment, Git};
use super::index::TemporaryIndex;
use super::programs::{self, GitPrograms};

/// Ignore rules, attributes and the like.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The commit whose tree landed last.
const LANDED_REF: &str = "refs/belay/landed";

/// The git directory of one workspace.
#[derive(Clone, Debug)]
pub(super) struct OwnGit {
    dir: PathBuf,
    /// The git directory that all worktrees of the repository share.
    common_dir: PathBuf,
}

impl OwnGit {
    pub(super) fn new(parent: &Path, id: &str, common_dir: &Path) -> Self {
        Self { dir: parent.join(format!("{id}.git")), common_dir: common_dir.to_owned() }
    }

    pub(super) fn exists(&self) -> bool {
        // Written last.
        self.dir.join("HEAD").symlink_metadata().is_ok()
    }

    /// Makes the directory with the settings that `git` has now. `git_dir` is that of the worktree. Settings that name
    /// programs are refused if they are not among those of the start.
    pub(super) fn make(&self, git: &Git, git_dir: &Path, programs: Option<&GitPrograms>) -> Result<(), WorkspaceError> {
        self.remove()?;
        let settings = git.run(programs::LIST)?;
        if let Some(programs) = programs {
            programs.check_listed(&settings, &self.common_dir)?;
        }
        let made = self.write_files(&config_text(&settings, &self.common_dir), git_dir);
        made.map_err(WorkspaceError::io("cannot create", &self.dir))
    }

    fn write_files(&self, config: &[u8], git_dir: &Path) -> io::Result<()> {
        for name in ["", "info", "refs", "objects"] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.dir.join(name))?;
        }
        belay_fs::replace_file(&self.dir.join("config"), config, FileMode::Private)?;
        for (from, name) in [
            (&self.common_dir, "info/exclude"),
            (&self.common_dir, "info/attributes"),
            (&self.common_dir, "shallow"),
            (&git_dir.to_owned(), SPARSE_PATTERNS),
        ] {
            self.copy(from, name)?;
        }
        belay_fs::replace_file(&self.dir.join("HEAD"), b"ref: refs/heads/none\n", FileMode::Private)
    }

    /// Copies a file of a git directory; one that does not exist is removed here, too.
    fn copy(&self, from: &Path, name: &str) -> io::Result<()> {
        let target = self.dir.join(name);
        match belay_fs::read_regular(&from.join(name), Links::Follow, MAX_FILE_BYTES) {
            Ok(bytes) => belay_fs::replace_file(&target, &bytes, FileMode::Private),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match std::fs::remove_file(target) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            Err(error) => Err(error),
        }
    }

    /// Uses the sparse patterns of another work tree of the repository.
    pub(super) fn use_sparse_patterns(&self, git_dir: &Path) -> Result<(), WorkspaceError> {
        self.copy(git_dir, SPARSE_PATTERNS).map_err(WorkspaceError::io("cannot copy the sparse patterns of", git_dir))
    }

    /// Git for objects. No attributes of a work tree apply.
    pub(super) fn objects(&self, env: &Environment) -> Git {
        self.files(&self.dir, env)
    }

    /// Git for the files of a work tree.
    pub(super) fn files(&self, work_tree: &Path, env: &Environment) -> Git {
        Git::pinned(&self.dir, work_tree, env)
            .with_env("GIT_OBJECT_DIRECTORY", self.common_dir.join("objects"))
            // The settings of the start are in the directory.
            .with_env("GIT_CONFIG_GLOBAL", "/dev/null")
            .with_env("GIT_CONFIG_NOSYSTEM", "1")
    }

    /// The index that describes the files at the last snapshot.
    pub(super) fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Makes an index of `base` if there is none, as for a task that an older Belay began.
    pub(super) fn ensure_index(&self, base: &str, env: &Environment) -> Result<(), WorkspaceError> {
        if self.index().symlink_metadata().is_ok() {
            return Ok(());
        }
        let git = self.objects(env);
        if git.line(&["config", "--bool", "--default=false", "core.sparseCheckout"])? == "true" {
            return Err(WorkspaceError::NoSparseIndex { path: self.index() });
        }
        let index = TemporaryIndex::empty()?;
        index.use_with(&git).run(&["read-tree", base])?;
        index.publish(&self.index())
    }

    /// The commit whose tree landed last.
    pub(super) fn landed(&self, env: &Environment) -> Result<Option<String>, WorkspaceError> {
        self.objects(env).resolve(LANDED_REF)
    }

    pub(super) fn record_landed(&self, commit: &str, env: &Environment) -> Result<(), WorkspaceError> {
        self.objects(env).run(&["update-ref", LANDED_REF, commit]).map(drop)
    }

    /// Removes what only snapshots need.
    pub(super) fn remove_index(&self) -> Result<(), WorkspaceError> {
        match std::fs::remove_file(self.index()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WorkspaceError::io("cannot remove", &self.index())(error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn remove(&self) -> Result<(), WorkspaceError> {
        match self.dir.symlink_metadata() {
            Ok(_) => super::create::remove_all(&self.dir),
            Err(_) => Ok(()),
        }
    }
}

const SPARSE_PATTERNS: &str = "info/sparse-checkout";

/// The settings of `git config --list --show-scope -z` as a configuration file.
fn config_text(listed: &[u8], common_dir: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = b"[core]\n\trepositoryformatversion = 1\n".to_vec();
    // git-lfs keeps files in the git directory, where the person's own commands look for them.
    push_setting(&mut text, b"lfs.storage", Some(common_dir.join("lfs").as_os_str().as_bytes()));
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        let mut setting = setting.splitn(2, |byte| *byte == b'\n');
        let (name, value) = (setting.next().unwrap_or_default(), setting.next());
        // Those of the command line are given with every call.
        if scope != b"command" && is_kept(name) {
            push_setting(&mut text, name, value);
        }
    }
    text
}

/// Whether a setting is about files and objects, and not about where the repository is or how to connect.
fn is_kept(name: &[u8]) -> bool {
    let place: [&[u8]; 3] = [b"core.worktree", b"core.bare", b"core.repositoryformatversion"];
    let section = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    match section {
        // Often with credentials. Nothing is fetched.
        b"credential" | b"http" | b"imap" | b"sendemail" | b"url" => false,
        b"remote" => !name.ends_with(b"url"),
        b"extensions" => [&b"extensions.objectformat"[..], b"extensions.partialclone"].contains(&name),
        // What they include is in the list.
        b"include" | b"includeif" => false,
        _ => !place.contains(&name),
    }
}

fn push_setting(text: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    let dots = (name.iter().position(|byte| *byte == b'.'), name.iter().rposition(|byte| *byte == b'.'));
    let (Some(first), Some(last)) = dots else { return };
    text.push(b'[');
    text.extend_from_slice(&name[..first]);
    if first < last {
        text.extend_from_slice(b" \"");
        for byte in &name[first + 1..last] {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'"');
    }
    text.extend_from_slice(b"]\n\t");
    text.extend_from_slice(&name[last + 1..]);
    if let Some(value) = value {
        text.extend_from_slice(b" = \"");
        for byte in value {
            match byte {
                b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                b'\n' => text.extend_from_slice(b"\\n"),
                _ => text.push(*byte),
            }
        }
        text.push(b'"');
    }
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::tests::Project;

    #[test]
    fn settings_are_copied_as_git_reads_them() {
        let project = Project::new();
        for (name, value) in [
            ("filter.a.b \"c\" \\d.clean", "sed 's/\"/\\\\/' # \t; x\nsecond line"),
            ("core.autocrlf", "input"),
            ("core.bare", "false"),
            ("http.extraHeader", "Authorization: Bearer secret"),
            ("remote.origin.url", "https://user:secret@example.com/x"),
            ("remote.origin.promisor", "true"),
            ("x.empty", ""),
        ] {
            project.git(&["config", name, value]);
        }
        std::fs::OpenOptions::new()
            .append(true)
            .open(project.project_dir.join(".git/config"))
            .and_then(|mut file| io::Write::write_all(&mut file, b"[x]\n\tswitch\n"))
            .expect("appended");
        let git_dir = project.project_dir.join(".git");
        let own = OwnGit::new(project.temp.path(), "t1", &git_dir);
        own.make(&Git::pinned(&git_dir, &project.project_dir, &project.env()), &git_dir, None).expect("made");
        let list = |git: &Git| {
            let listed = git.run(&["config", "--list", "-z"]).expect("settings");
            let text = String::from_utf8(listed).expect("UTF-8");
            let kept = |setting: &&str| setting.starts_with("filter.") || setting.starts_with("x.");
            text.split('\0').filter(kept).map(str::to_owned).collect::<Vec<_>>()
        };
        let env = project.env();
        assert_eq!(list(&own.objects(&env)), list(&Git::pinned(&git_dir, &project.project_dir, &env)));
        assert_eq!(list(&own.objects(&env)).len(), 3);
        let copied = std::fs::read_to_string(own.dir.join("config")).expect("a configuration");
        assert!(copied.contains("promisor") && copied.contains("autocrlf"), "{copied}");
        assert!(!copied.contains("secret"), "{copied}");
    }
}
