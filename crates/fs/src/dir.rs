//! A directory as an open handle: names are looked up in that directory, even if its path leads elsewhere by now.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::open::{Links, read_bounded, text_of};
use crate::write::{FileMode, Replacement};

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    path: PathBuf,
    #[cfg(unix)]
    handle: std::os::fd::OwnedFd,
}

impl Dir {
    /// Opens a directory. Links in its path are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        sys::open_dir(path)
    }

    /// Opens a directory inside a project. Links in the path of `root` are followed; a link below it is an error, as are
    /// an absolute path and `..`.
    pub fn open_below(root: &Path, relative: &Path) -> io::Result<Self> {
        let mut dir = Self::open(root)?;
        for component in relative.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => dir = sys::enter(&dir, name)?,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    let message = format!("{} is not a path below {}", relative.display(), root.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
                }
            }
        }
        Ok(dir)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of this directory, of at most `max_bytes`. A link is an error.
    pub fn read_regular(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let path = self.path.join(name);
        read_bounded(self.open_regular(name)?, &path, max_bytes)
    }

    /// Like [`Dir::read_regular`], for UTF-8 text.
    pub fn read_regular_text(&self, name: &str, max_bytes: u64) -> io::Result<String> {
        text_of(self.read_regular(name, max_bytes)?, &self.path.join(name))
    }

    /// Opens a regular file of this directory for reading. A link is an error.
    pub fn open_regular(&self, name: &str) -> io::Result<File> {
        let file = sys::open_file(self, single_name(name)?, Links::Refuse)?;
        let path = self.path.join(name);
        // Checked on the open file: the name may lead to another file by now.
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular(&path)) }
    }

    /// Replaces a file of this directory, as [`replace_file`](crate::replace_file) does.
    pub fn replace_file(&self, name: &OsStr, bytes: &[u8], mode: FileMode) -> io::Result<()> {
        Replacement::begin(self, single_name(name)?, mode)?.finish(bytes)
    }

    /// Removes a file of this directory. A link is removed, not followed.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        self.remove(single_name(name)?)
    }

    /// Renames a file of this directory, over another one if there is one of the new name. Links are not followed.
    pub fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.rename(single_name(from)?, single_name(to)?)
    }

    /// Opens the directory itself as a file, to lock or sync it.
    pub fn open_self(&self) -> io::Result<File> {
        sys::open_self(self)
    }

    pub(crate) fn create_new(&self, name: &OsStr, private: bool) -> io::Result<File> {
        sys::create_new(self, name, private)
    }

    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        sys::rename(self, from, to)
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        sys::remove(self, name)
    }

    /// The permissions of a regular file; `None` if the name is free or something else.
    pub(crate) fn permissions_of(&self, name: &OsStr) -> Option<sys::Permissions> {
        sys::permissions_of(self, name)
    }

    pub(crate) fn sync(&self) {
        // Not every file system can sync a directory; what was done is complete either way.
        let _ = self.open_self().and_then(|file| file.sync_all());
    }
}

/// A name without separators, so that it cannot lead out of the directory.
fn single_name(name: &(impl AsRef<OsStr> + ?Sized)) -> io::Result<&OsStr> {
    let name = name.as_ref();
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a file name", name.display()))),
    }
}

pub(crate) fn not_regular(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not a regular file", path.display()))
}

fn is_link(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} is a symbolic link, which is not followed", path.display()))
}

#[cfg(unix)]
pub(crate) mod sys {
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
    use rustix::io::Errno;

    use super::*;

    /// A directory need not be readable to look up names in it.
    #[cfg(target_os = "linux")]
    const SEARCH: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const SEARCH: OFlags = OFlags::RDONLY;

    pub(super) fn open_dir(path: &Path) -> io::Result<Dir> {
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Dir { path: path.to_path_buf(), handle })
    }

    pub(super) fn enter(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
        let path = dir.path.join(name);
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&dir.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Dir { path, handle }),
            // Systems differ in which of the two they report for a link.
            Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => Err(is_link(&path)),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn open_file(dir: &Dir, name: &OsStr, links: Links) -> io::Result<File> {
        let path = dir.path.join(name);
        open_at(&dir.handle, Path::new(name), &path, links)
    }

    /// Opens `path`, relative to `dir`. `shown` is the path for messages.
    pub(crate) fn open_at(dir: impl AsFd, path: &Path, shown: &Path, links: Links) -> io::Result<File> {
        // NONBLOCK: opening a FIFO would wait for its other end. NOCTTY: a terminal must not become ours.
        let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if links == Links::Refuse {
            flags |= OFlags::NOFOLLOW;
        }
        match rustix::fs::openat(dir, path, flags, Mode::empty()) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) if links == Links::Refuse => Err(is_link(shown)),
            // A socket cannot be opened at all.
            Err(Errno::NXIO) => Err(not_regular(shown)),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file that must not exist; a link of that name counts as existing.
    pub(super) fn create_new(dir: &Dir, name: &OsStr, private: bool) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if private { 0o600 } else { 0o666 };
        let file: OwnedFd = rustix::fs::openat(&dir.handle, name, flags, Mode::from_raw_mode(mode))?;
        Ok(file.into())
    }

    pub(super) fn rename(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&dir.handle, from, &dir.handle, to)?)
    }

    pub(super) fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&dir.handle, name, AtFlags::empty())?)
    }

    pub(super) fn open_self(dir: &Dir) -> io::Result<File> {
        // The handle itself may be one for lookups only.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&dir.handle, ".", flags, Mode::empty())?.into())
    }

    /// The bits of a file's mode.
    pub(crate) type Permissions = Mode;

    pub(crate) fn set_permissions(file: &File, permissions: Permissions) -> io::Result<()> {
        Ok(rustix::fs::fchmod(file, permissions)?)
    }

    pub(super) fn permissions_of(dir: &Dir, name: &OsStr) -> Option<Permissions> {
        let found = rustix::fs::statat(&dir.handle, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_regular = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        is_regular.then(|| Mode::from_raw_mode(found.st_mode))
    }
}

#[cfg(not(unix))]
pub(crate) mod sys {
    use super::*;

    pub(super) fn open_dir(path: &Path) -> io::Result<Dir> {
        if path.metadata()?.is_dir() {
            return Ok(Dir { path: path.to_path_buf() });
        }
        Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a directory", path.display())))
    }

    pub(super) fn enter(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
        let path = dir.path.join(name);
        if path.symlink_metadata()?.is_symlink() { Err(is_link(&path)) } else { open_dir(&path) }
    }

    pub(super) fn open_file(dir: &Dir, name: &OsStr, links: Links) -> io::Result<File> {
        open(&dir.path.join(name), links)
    }

    pub(crate) fn open(path: &Path, links: Links) -> io::Result<File> {
        if links == Links::Refuse && !path.symlink_metadata()?.is_file() {
            return Err(not_regular(path));
        }
        File::open(path)
    }

    pub(super) fn create_new(dir: &Dir, name: &OsStr, _private: bool) -> io::Result<File> {
        File::options().write(true).create_new(true).open(dir.path.join(name))
    }

    pub(super) fn rename(dir: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(dir.path.join(from), dir.path.join(to))
    }

    pub(super) fn remove(dir: &Dir, name: &OsStr) -> io::Result<()> {
        std::fs::remove_file(dir.path.join(name))
    }

    pub(super) fn open_self(dir: &Dir) -> io::Result<File> {
        File::open(&dir.path)
    }

    pub(crate) use std::fs::Permissions;

    pub(crate) fn set_permissions(file: &File, permissions: Permissions) -> io::Result<()> {
        file.set_permissions(permissions)
    }

    pub(super) fn permissions_of(dir: &Dir, name: &OsStr) -> Option<Permissions> {
        let found = dir.path.join(name).symlink_metadata().ok()?;
        found.is_file().then(|| found.permissions())
    }
}
