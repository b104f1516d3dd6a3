//! The work tree without what git ignores.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Most folders that are watched; systems have limits, and a tree beyond this is no one project.
const MAX_WATCHED_DIRS: usize = 20_000;

/// A work tree.
#[derive(Debug)]
pub(super) struct WorkTree {
    root: PathBuf,
    /// What each file of rules says; nothing, if it is not there.
    rules: RefCell<HashMap<PathBuf, Arc<Gitignore>>>,
}

impl WorkTree {
    /// The tree around a folder: its repository, or the folder itself. A home folder or the whole
    /// system is nobody's project.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let repository = folder.ancestors().find(|ancestor| ancestor.join(".git").exists());
        let root = repository.unwrap_or(&folder).to_path_buf();
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let too_much = root.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(&root));
        (!too_much).then(|| Self { root, rules: RefCell::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn walk(&self, below: &Path) -> impl Iterator<Item = ignore::DirEntry> {
        let mut walk = WalkBuilder::new(below);
        // `.gitignore` counts outside of repositories, too: nobody wants build output watched.
        walk.hidden(false).require_git(false).follow_links(false);
        walk.filter_entry(|entry| entry.file_name() != ".git");
        walk.build().filter_map(Result::ok)
    }

    /// Shows a folder and all below it that is not ignored, each folder before what is in it.
    pub(super) fn each(&self, below: &Path, mut folder: impl FnMut(&Path), mut file: impl FnMut(PathBuf)) {
        let mut folders = 0;
        for entry in self.walk(below) {
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                folders += 1;
                if folders > MAX_WATCHED_DIRS {
                    return;
                }
                folder(entry.path());
            } else {
                file(entry.into_path());
            }
        }
    }

    /// What is ignored may have changed.
    pub(super) fn rescan(&self) {
        self.rules.borrow_mut().clear();
    }

    /// Whether git would not look at this path, or it is git's own.
    pub(super) fn is_ignored(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.root) else { return true };
        if inside.components().any(|part| part.as_os_str() == ".git") {
            return true;
        }
        let is_dir = path.is_dir();
        // The nearest rule wins, as in git; then those of the repository, then the user's own.
        let near = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
        let near = near.map(|folder| self.rules_of(folder, ".gitignore"));
        let far = std::iter::once_with(|| self.rules_of(&self.root, ".git/info/exclude"));
        for rules in near.chain(far).chain(std::iter::once_with(|| self.rules_of_user())) {
            match rules.matched_path_or_any_parents(path, is_dir) {
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
                ignore::Match::None => {}
            }
        }
        false
    }

    fn rules_of(&self, folder: &Path, file: &str) -> Arc<Gitignore> {
        let file = folder.join(file);
        let read = || {
            let mut rules = GitignoreBuilder::new(folder);
            // A file that is not there says nothing.
            let _ = rules.add(&file);
            Arc::new(rules.build().unwrap_or_else(|_| Gitignore::empty()))
        };
        Arc::clone(self.rules.borrow_mut().entry(file.clone()).or_insert_with(read))
    }

    /// `core.excludesFile`, which speaks about every repository.
    fn rules_of_user(&self) -> Arc<Gitignore> {
        let read = || Arc::new(GitignoreBuilder::new(&self.root).build_global().0);
        Arc::clone(self.rules.borrow_mut().entry(PathBuf::new()).or_insert_with(read))
    }
}
