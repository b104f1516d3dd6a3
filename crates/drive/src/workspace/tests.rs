//! Workspaces in real repositories.

mod create;
mod forged;
mod history;
mod hostile;
mod land;
mod property;
mod remove;
mod snapshots;
mod without_git;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::*;
use crate::headless::CancelHandle;

/// A person's project with two commits, and the environment of that person.
pub(crate) struct Project {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) project_dir: PathBuf,
}

impl Project {
    /// A repository with a few files.
    pub(crate) fn new() -> Self {
        let project = Self::without_git();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.write("a.txt", "one\ntwo\nthree\n");
        project.write("src/lib.rs", "fn main() {}\n");
        project.write(".gitignore", "*.log\n/target\n.env\n");
        project.commit("first");
        project.write("b.txt", "b\n");
        project.commit("second");
        project
    }

    pub(crate) fn without_git() -> Self {
        let temp = tempfile::tempdir().expect("a directory");
        let project_dir = temp.path().canonicalize().expect("a path").join("project");
        std::fs::create_dir_all(&project_dir).expect("a directory");
        let home = temp.path().join("home");
        std::fs::create_dir_all(&home).expect("a home");
        // Submodules of the tests are directories.
        let config = "[user]\nname = Pat\nemail = pat@example.com\n[protocol \"file\"]\nallow = always\n";
        std::fs::write(home.join(".gitconfig"), config).expect("a configuration");
        Self { temp, project_dir }
    }

    pub(crate) fn env(&self) -> Environment {
        let path = std::env::var_os("PATH").expect("PATH");
        let home = self.temp.path().join("home").into_os_string();
        Some(vec![("PATH".into(), path), ("HOME".into(), home), ("GIT_CONFIG_NOSYSTEM".into(), "1".into())])
    }

    fn spec(&self, mode: WorkspaceMode) -> WorkspaceSpec {
        WorkspaceSpec {
            id: "t1".to_owned(),
            project_dir: self.project_dir.clone(),
            mode,
            parent: self.temp.path().join("worktrees"),
            copy: Vec::new(),
            setup: Vec::new(),
            setup_timeout: None,
            env: self.env(),
            marker: None,
        }
    }

    pub(crate) fn create(&self, mode: WorkspaceMode) -> Workspace {
        create(&self.spec(mode)).expect("a workspace")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.project_dir.join(path), content);
    }

    fn commit(&self, message: &str) {
        commit(self, &self.project_dir, message);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.project_dir, args)
    }

    /// Git as the person or the agent calls it.
    fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.try_git_in(dir, args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn try_git_in(&self, dir: &Path, args: &[&str]) -> Output {
        let env = self.env().unwrap_or_default();
        Command::new("git").args(args).current_dir(dir).env_clear().envs(env).output().expect("git")
    }

    /// Everything in the directory that a person would miss: files with their modes, index, HEAD and branches.
    fn state(&self) -> Vec<(String, Vec<u8>)> {
        let mut state = vec![
            ("HEAD".to_owned(), self.git(&["rev-parse", "HEAD"]).into_bytes()),
            ("branch".to_owned(), std::fs::read(self.project_dir.join(".git/HEAD")).expect("HEAD")),
            ("heads".to_owned(), self.git(&["for-each-ref", "refs/heads/main", "refs/tags"]).into_bytes()),
            ("index".to_owned(), std::fs::read(self.project_dir.join(".git/index")).expect("an index")),
        ];
        state.extend(files(&self.project_dir));
        state
    }
}

fn create(spec: &WorkspaceSpec) -> Result<Workspace, WorkspaceError> {
    Workspace::create(spec, &CancelHandle::default())
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, content).expect("a file");
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

fn commit(project: &Project, dir: &Path, message: &str) {
    project.git_in(dir, &["add", "--all"]);
    project.git_in(dir, &["commit", "--quiet", "--message", message]);
}

/// All files below a directory, without `.git`.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).expect("a directory").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = format!("{:?}", path.strip_prefix(dir).expect("a path below"));
            if entry.file_name() == ".git" {
                continue;
            } else if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&path).expect("a link");
                found.push((name, target.into_os_string().into_encoded_bytes()));
            } else {
                let mode = entry.metadata().expect("metadata").permissions().mode() & 0o100;
                found.push((format!("{name} {mode:o}"), std::fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}
