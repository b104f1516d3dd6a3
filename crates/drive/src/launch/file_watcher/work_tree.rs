//! The work tree without ignored files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_fs::repository::Repository;
use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Maximum number of watched directories; operating systems limit them.
const MAX_WATCHED_DIRS: usize = 20_000;

#[derive(Debug)]
pub(super) struct WorkTree {
    root: PathBuf,
    /// Parsed rule files by path; empty for a missing file.
    rules: RefCell<HashMap<PathBuf, Arc<Gitignore>>>,
}

impl WorkTree {
    /// The repository of a directory, or the directory itself. `None` for the home directory and the root, which are not
    /// projects.
    pub(super) fn around(dir: &Path) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let root = Repository::find(&dir).map_or(dir, |repository| repository.root);
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let is_too_large = root.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(&root));
        (!is_too_large).then(|| Self { root, rules: RefCell::default() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn walk(&self, below: &Path) -> impl Iterator<Item = ignore::DirEntry> {
        let mut walk = WalkBuilder::new(below);
        // `.gitignore` also applies outside repositories, to exclude build output.
        walk.hidden(false).require_git(false).follow_links(false);
        walk.filter_entry(|entry| entry.file_name() != ".git");
        walk.build().filter_map(Result::ok)
    }

    /// Visits a directory and everything below it that is not ignored; a directory comes before its content.
    pub(super) fn visit(&self, below: &Path, mut dir: impl FnMut(&Path), mut file: impl FnMut(PathBuf)) {
        let mut dirs = 0;
        for entry in self.walk(below) {
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                dirs += 1;
                if dirs > MAX_WATCHED_DIRS {
                    return;
                }
                dir(entry.path());
            } else {
                file(entry.into_path());
            }
        }
    }

    /// Discards the parsed rules after a change of a `.gitignore`.
    pub(super) fn clear_rules(&self) {
        self.rules.borrow_mut().clear();
    }

    /// Whether git ignores this path, or it is inside `.git`.
    pub(super) fn is_ignored(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.root) else { return true };
        if inside.components().any(|part| part.as_os_str() == ".git") {
            return true;
        }
        let is_dir = path.is_dir();
        // The precedence of git: the nearest file, then the repository's, then the user's.
        let local = path.ancestors().skip(1).take_while(|dir| dir.starts_with(&self.root));
        let local = local.map(|dir| self.rules_of(dir, ".gitignore"));
        let repository = std::iter::once_with(|| self.rules_of(&self.root, ".git/info/exclude"));
        for rules in local.chain(repository).chain(std::iter::once_with(|| self.user_rules())) {
            match rules.matched_path_or_any_parents(path, is_dir) {
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
                ignore::Match::None => {}
            }
        }
        false
    }

    fn rules_of(&self, dir: &Path, file: &str) -> Arc<Gitignore> {
        let file = dir.join(file);
        let read = || {
            let mut rules = GitignoreBuilder::new(dir);
            // A missing file has no rules.
            let _ = rules.add(&file);
            Arc::new(rules.build().unwrap_or_else(|_| Gitignore::empty()))
        };
        Arc::clone(self.rules.borrow_mut().entry(file.clone()).or_insert_with(read))
    }

    /// Rules of `core.excludesFile`, which apply to every repository.
    fn user_rules(&self) -> Arc<Gitignore> {
        let read = || Arc::new(GitignoreBuilder::new(&self.root).build_global().0);
        Arc::clone(self.rules.borrow_mut().entry(PathBuf::new()).or_insert_with(read))
    }
}
