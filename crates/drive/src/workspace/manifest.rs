//! Snapshots of a directory without git: the digest of every file that is not ignored.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use belay_fs::{FileMode, Links};
use sha2::{Digest, Sha256};

use super::TreeId;
use super::error::WorkspaceError;
use super::git::path_text;

/// Distinguishes digests of directories from trees of git.
const PREFIX: &str = "files-";
const MAX_MANIFEST_BYTES: u64 = 256 * 1024 * 1024;

/// Digests by path.
pub(super) type Manifest = BTreeMap<String, String>;

/// Reads a directory and stores what is in it below `manifests`.
pub(super) fn record(project_dir: &Path, manifests: &Path) -> Result<TreeId, WorkspaceError> {
    let manifest = read_dir(project_dir)?;
    let mut hash = Sha256::new();
    for (path, digest) in &manifest {
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(digest.as_bytes());
        hash.update([0]);
    }
    let tree = TreeId(format!("{PREFIX}{}", hex(&hash.finalize())));
    let path = manifests.join(format!("{tree}.json"));
    let stored = std::fs::create_dir_all(manifests).and_then(|()| {
        let json = serde_json::to_vec(&manifest)?;
        belay_fs::replace_file(&path, &json, FileMode::Private)
    });
    stored.map_err(WorkspaceError::io("cannot write", &path))?;
    Ok(tree)
}

/// What was in the directory at a snapshot.
pub(super) fn load(manifests: &Path, tree: &TreeId) -> Result<Manifest, WorkspaceError> {
    let missing = || WorkspaceError::NoManifest { tree: tree.to_string() };
    let digest = tree.as_str().strip_prefix(PREFIX).ok_or_else(missing)?;
    if !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(missing());
    }
    let path = manifests.join(format!("{tree}.json"));
    let json = belay_fs::read_regular(&path, Links::Refuse, MAX_MANIFEST_BYTES).map_err(|_| missing())?;
    serde_json::from_slice(&json).map_err(|_| missing())
}

/// The digests of all files that are not ignored. Links are not followed; what they name counts.
fn read_dir(project_dir: &Path) -> Result<Manifest, WorkspaceError> {
    let mut walk = ignore::WalkBuilder::new(project_dir);
    // The same files that git would see after `git init`, whatever tools the person uses for searching.
    walk.standard_filters(false).git_ignore(true).require_git(false).follow_links(false);
    // The walk reads the ignore rules of each directory by itself, and a FIFO would block it forever.
    let unreadable: Arc<OnceLock<PathBuf>> = Arc::default();
    let is_readable = {
        let unreadable = Arc::clone(&unreadable);
        move |dir: &Path| match unreadable_rules(dir) {
            None => true,
            Some(path) => {
                let _ = unreadable.set(path);
                false
            }
        }
    };
    let can_begin = is_readable(project_dir);
    walk.filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.file_name() != ".git" && (!is_dir || is_readable(entry.path()))
    });
    let mut manifest = Manifest::new();
    for entry in can_begin.then(|| walk.build()).into_iter().flatten() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("cannot read it"));
                return Err(WorkspaceError::io("cannot read", project_dir)(source));
            }
        };
        let Ok(relative) = entry.path().strip_prefix(project_dir) else { continue };
        let digest = match entry.file_type() {
            Some(kind) if kind.is_file() => digest_of_file(entry.path()),
            Some(kind) if kind.is_symlink() => std::fs::read_link(entry.path())
                .map(|target| format!("link {}", path_text(target.as_os_str().as_bytes()))),
            // Directories count by their files; sockets and FIFOs have no content.
            _ => continue,
        };
        let digest = digest.map_err(WorkspaceError::io("cannot read", entry.path()))?;
        manifest.insert(path_text(relative.as_os_str().as_bytes()), digest);
    }
    if let Some(path) = unreadable.get() {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file");
        return Err(WorkspaceError::io("cannot read", path)(source));
    }
    Ok(manifest)
}

/// The ignore rules of a directory, if they are not a regular file.
fn unreadable_rules(dir: &Path) -> Option<PathBuf> {
    let path = dir.join(".gitignore");
    path.symlink_metadata().is_ok_and(|found| !found.is_file()).then_some(path)
}

/// A large file is read in pieces.
fn digest_of_file(path: &Path) -> std::io::Result<String> {
    let mut file = belay_fs::open_regular(path, Links::Refuse)?;
    let is_executable = file.metadata()?.permissions().mode() & 0o100 != 0;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
    }
    Ok(format!("{}{}", if is_executable { "x " } else { "" }, hex(&hash.finalize())))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
