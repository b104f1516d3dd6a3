//! Finds the git repository of a directory without running git, in files that anybody may have prepared.

use std::path::{Path, PathBuf};

use crate::{Links, read_regular_text};

/// Maximum size of the files that git writes for this purpose, such as `HEAD`.
const MAX_BYTES: u64 = 4096;

/// A git repository, as seen from one of its work trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The root of this work tree.
    pub root: PathBuf,
    /// The git directory of this work tree. A `.git` file may name any directory, as git allows.
    pub git_dir: PathBuf,
    /// The root of the main work tree: `root`, unless this is a linked worktree. Of a bare repository, its git directory.
    pub main: PathBuf,
}

impl Repository {
    /// The repository that contains a directory.
    pub fn find(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::at)
    }

    fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let found = std::fs::metadata(&git).ok()?;
        if found.is_dir() {
            return Some(Self { root: root.to_owned(), git_dir: git, main: root.to_owned() });
        }
        let git_dir = root.join(read_line(&git)?.strip_prefix("gitdir: ")?);
        let main = main_of_linked(root, &git_dir).unwrap_or_else(|| root.to_owned());
        Some(Self { root: root.to_owned(), git_dir, main })
    }

    /// The branch that is checked out.
    pub fn branch(&self) -> Option<String> {
        read_line(&self.git_dir.join("HEAD"))?.strip_prefix("ref: refs/heads/").map(str::to_owned)
    }
}

/// The main work tree of a linked worktree. `None` if the repository that its `.git` file names does not know it:
/// otherwise, a directory could pass itself off as part of another repository.
fn main_of_linked(root: &Path, git_dir: &Path) -> Option<PathBuf> {
    let git_dir = git_dir.canonicalize().ok()?;
    // The file `commondir` names the same directory, but the repository that brought `git_dir` may have written it.
    let worktrees = git_dir.parent().filter(|dir| dir.file_name().is_some_and(|name| name == "worktrees"))?;
    let common = worktrees.parent()?;
    let points_back = PathBuf::from(read_line(&git_dir.join("gitdir"))?);
    let is_known = git_dir.join(points_back).canonicalize().ok()? == root.canonicalize().ok()?.join(".git");
    // A repository has these; a directory that is merely called `worktrees` has not.
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    let is_bare = common.file_name().is_none_or(|name| name != ".git");
    let main = if is_bare { common } else { common.parent()? };
    (is_known && is_repository).then(|| main.to_owned())
}

fn read_line(path: &Path) -> Option<String> {
    read_regular_text(path, Links::Refuse, MAX_BYTES).ok().map(|text| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory with the repository `project` and its linked worktree `linked`, as git lays them out.
    fn two_work_trees() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |below: &str| dir.path().join(below);
        for below in ["project/src", "project/.git/objects", "project/.git/worktrees/linked", "linked/src"] {
            fs::create_dir_all(at(below)).expect("a directory");
        }
        fs::write(at("project/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let own = at("project/.git/worktrees/linked");
        fs::write(own.join("HEAD"), "ref: refs/heads/feature/x\n").expect("a file");
        fs::write(own.join("commondir"), "../..\n").expect("a file");
        fs::write(own.join("gitdir"), format!("{}\n", at("linked/.git").display())).expect("a file");
        fs::write(at("linked/.git"), format!("gitdir: {}\n", own.display())).expect("a file");
        dir
    }

    fn find(dir: &Path) -> Repository {
        Repository::find(dir).expect("a repository")
    }

    #[test]
    fn a_linked_worktree_belongs_to_its_repository() {
        let dir = two_work_trees();
        let main = dir.path().canonicalize().expect("a path").join("project");
        let project = find(&dir.path().join("project/src"));
        assert_eq!((project.main.clone(), project.branch().as_deref()), (project.root, Some("main")));
        let linked = find(&dir.path().join("linked/src"));
        assert_eq!((&linked.root, &linked.main), (&dir.path().join("linked"), &main));
        assert_eq!(linked.branch().as_deref(), Some("feature/x"));
        // Git writes relative paths, too (`worktree.useRelativePaths`).
        fs::write(dir.path().join("linked/.git"), "gitdir: ../project/.git/worktrees/linked\n").expect("a file");
        fs::write(main.join(".git/worktrees/linked/gitdir"), "../../../../linked/.git\n").expect("a file");
        assert_eq!(find(&dir.path().join("linked")).main, main);
    }

    #[test]
    fn a_directory_does_not_become_part_of_a_repository_that_does_not_know_it() {
        let dir = two_work_trees();
        let at = |below: &str| dir.path().join(below);
        let is_on_its_own = |name: &str| {
            let found = find(&at(name));
            assert_eq!((&found.root, &found.main), (&at(name), &at(name)), "{name}");
        };
        // It names the git directory of another worktree.
        fs::create_dir_all(at("copy")).expect("a directory");
        fs::copy(at("linked/.git"), at("copy/.git")).expect("a copy");
        is_on_its_own("copy");
        // It has a git directory of its own, which names the repository.
        fs::create_dir_all(at("evil/worktrees/x")).expect("a directory");
        fs::write(at("evil/.git"), "gitdir: worktrees/x\n").expect("a file");
        fs::write(at("evil/worktrees/x/gitdir"), at("evil/.git").display().to_string()).expect("a file");
        fs::write(at("evil/worktrees/x/commondir"), at("project/.git").display().to_string()).expect("a file");
        is_on_its_own("evil");
        // A submodule has its own history.
        fs::create_dir_all(at("project/.git/modules/sub")).expect("a directory");
        fs::create_dir_all(at("project/sub")).expect("a directory");
        fs::write(at("project/sub/.git"), "gitdir: ../.git/modules/sub\n").expect("a file");
        is_on_its_own("project/sub");
        // The link was removed from the repository.
        fs::remove_dir_all(at("project/.git/worktrees/linked")).expect("a directory");
        is_on_its_own("linked");
    }

    /// Without a non-blocking open, this test hangs.
    #[cfg(unix)]
    #[test]
    fn a_fifo_in_place_of_git_files_does_not_block() {
        let dir = two_work_trees();
        let replace = |below: &str| {
            let path = dir.path().join(below);
            fs::remove_file(&path).expect("a file");
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        };
        replace("project/.git/HEAD");
        assert_eq!(find(&dir.path().join("project")).branch(), None);
        replace("project/.git/worktrees/linked/gitdir");
        assert_eq!(find(&dir.path().join("linked")).main, dir.path().join("linked"));
        replace("linked/.git");
        assert_eq!(Repository::find(&dir.path().join("linked")).map(|found| found.root), None);
    }
}
