//! The work tree without what git ignores.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;

/// Most folders that are watched; systems have limits, and a tree beyond this is no one project.
const MOST_FOLDERS: usize = 20_000;

/// A work tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    /// What each folder's `.gitignore` says; empty for those without one.
    rules: RefCell<HashMap<PathBuf, Arc<Gitignore>>>,
}

impl Tree {
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

    /// Shows a folder and all below it that are not ignored.
    pub(super) fn folders(&self, below: &Path, mut each: impl FnMut(&Path)) {
        let folders = self.walk(below).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()));
        folders.take(MOST_FOLDERS).for_each(|entry| each(entry.path()));
    }

    /// All files below a folder that are not ignored.
    pub(super) fn files(&self, below: &Path) -> impl Iterator<Item = PathBuf> {
        let files = self.walk(below).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        files.map(ignore::DirEntry::into_path)
    }

    /// Whether git would not look at this path, or it is git's own.
    pub(super) fn is_ignored(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.root) else { return true };
        if inside.components().any(|part| part.as_os_str() == ".git") {
            return true;
        }
        let is_dir = path.is_dir();
        // The nearest rule wins, as in git.
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root)) {
            match self.rules_of(folder).matched_path_or_any_parents(path, is_dir) {
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
                ignore::Match::None => {}
            }
        }
        false
    }

    fn rules_of(&self, folder: &Path) -> Arc<Gitignore> {
        let mut rules = self.rules.borrow_mut();
        let read = || Arc::new(Gitignore::new(folder.join(".gitignore")).0);
        Arc::clone(rules.entry(folder.to_path_buf()).or_insert_with(read))
    }
}
