//! What differs between two trees.

use std::collections::BTreeMap;

use super::error::WorkspaceError;
use super::git::{Git, path_text, split_nul};
use super::{Kind, TreeId, Workspace, manifest};

/// The digest of a file that was deleted.
pub const DELETED: &str = "deleted";

/// A path whose content differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    /// Mode and object before; `None` if the path is new.
    pub(super) before: Option<String>,
    /// Mode and object after; `None` if it was deleted.
    pub(super) after: Option<String>,
}

impl Workspace {
    /// The difference as a patch that `git apply` takes; `None` without git. Bytes, since files need not be UTF-8.
    pub fn diff(&self, from: &TreeId, to: &TreeId) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(git) = self.objects()? else { return Ok(None) };
        verify(&git, from.as_str(), to.as_str())?;
        diff(&git, from.as_str(), to.as_str(), None).map(Some)
    }

    /// The files that differ, with a digest of the content after; [`DELETED`] for one that is gone. A name that is
    /// not valid UTF-8 is quoted as git quotes it.
    pub fn changed_files(&self, from: &TreeId, to: &TreeId) -> Result<BTreeMap<String, String>, WorkspaceError> {
        let digest = |after: Option<String>| after.unwrap_or_else(|| DELETED.to_owned());
        Ok(self.compare(from, to)?.into_iter().map(|(path, _, after)| (path, digest(after))).collect())
    }

    /// Files of `before` that were changed or deleted in `after`. New files do not count.
    pub fn modified(&self, before: &TreeId, after: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let changes = self.compare(before, after)?;
        Ok(changes.into_iter().filter(|(_, was, _)| was.is_some()).map(|(path, _, _)| path).collect())
    }

    /// Changed paths with their digests before and after.
    fn compare(&self, from: &TreeId, to: &TreeId) -> Result<Vec<Comparison>, WorkspaceError> {
        if let Some(git) = self.objects()? {
            let changes = changes(&git, from.as_str(), to.as_str())?;
            return Ok(changes
                .into_iter()
                .map(|change| (path_text(&change.path), change.before, change.after))
                .collect());
        }
        let Kind::InPlace { manifests, .. } = &self.kind else { return Ok(Vec::new()) };
        if from == to {
            return Ok(Vec::new());
        }
        let (before, mut after) = (manifest::load(manifests, from)?, manifest::load(manifests, to)?);
        let mut changed = Vec::new();
        for (path, was) in before {
            let is = after.remove(&path);
            if is.as_ref() != Some(&was) {
                changed.push((path, Some(was), is));
            }
        }
        changed.extend(after.into_iter().map(|(path, is)| (path, None, Some(is))));
        Ok(changed)
    }
}

/// Checks that the objects in which two trees differ hold what their names say, on both sides: a forged base would hide
/// changes. Git does not when it reads them, and an agent can write any file of the object database.
pub(super) fn verify(git: &Git, from: &str, to: &str) -> Result<(), WorkspaceError> {
    if from == to {
        return Ok(());
    }
    let listed = git.run(&["diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", from, to])?;
    let mut parts = split_nul(&listed);
    let mut objects = format!("{from}\n{to}\n");
    while let (Some(head), Some(_path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head);
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [mode_before, mode_after, before, after, _] = fields[..] else { continue };
        for (mode, object) in [(mode_before, before), (mode_after, after)] {
            // The commit of a submodule is in another repository.
            if !matches!(mode, "000000" | "160000") {
                objects.extend([object, "\n"]);
            }
        }
    }
    let failed = |source| WorkspaceError::Io { what: "cannot create a temporary directory".to_owned(), source };
    let dir = tempfile::Builder::new().prefix("belay-objects-").tempdir().map_err(failed)?;
    let pack = |name: &str| dir.path().join(name).into_os_string();
    let name = git.run_with(&["pack-objects".as_ref(), "-q".as_ref(), &*pack("objects")], objects.as_bytes())?;
    let name = format!("objects-{}.pack", String::from_utf8_lossy(&name).trim());
    // It computes the names again.
    let verified = git.output(&["verify-pack".as_ref(), &*pack(&name)], b"")?;
    if verified.status.success() {
        return Ok(());
    }
    Err(WorkspaceError::Forged { tree: to.to_owned(), message: verified.stderr_text() })
}

/// Path, digest before, digest after.
type Comparison = (String, Option<String>, Option<String>);

/// A patch from one tree to another, for all files or one.
pub(super) fn diff(git: &Git, from: &str, to: &str, path: Option<&[u8]>) -> Result<Vec<u8>, WorkspaceError> {
    use std::os::unix::ffi::OsStrExt;
    let mut args: Vec<&std::ffi::OsStr> = [
        "diff-tree",
        "-r",
        "-p",
        "-U3",
        // Attributes that call a file binary would hide its lines from a reviewer.
        "--text",
        "--binary",
        "--full-index",
        // A patch with renames depends on similarity, and names a file twice.
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--submodule=short",
        "--end-of-options",
        from,
        to,
        "--",
    ]
    .map(std::ffi::OsStr::new)
    .to_vec();
    args.extend(path.map(std::ffi::OsStr::from_bytes));
    git.run(&args)
}

/// The paths that differ between two trees.
pub(super) fn changes(git: &Git, from: &str, to: &str) -> Result<Vec<Change>, WorkspaceError> {
    let listed = git.run(&["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to])?;
    let mut parts = split_nul(&listed);
    let mut changes = Vec::new();
    // `:<mode> <mode> <object> <object> <status>`, then the path.
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head);
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [mode_before, mode_after, before, after, _] = fields[..] else { continue };
        let digest = |mode: &str, object: &str| match mode {
            "000000" => None,
            "100644" => Some(object.to_owned()),
            // Also a change of the mode alone is a change.
            mode => Some(format!("{object}:{mode}")),
        };
        let (before, after) = (digest(mode_before, before), digest(mode_after, after));
        changes.push(Change { path: path.to_vec(), before, after });
    }
    Ok(changes)
}
