//! Verifies that a socket and its process belong to this user.
//!
//! A client sends agents' payloads and acts on the response, so it must not connect to a process of another user. The
//! directory of the socket is checked before connecting, the peer afterwards.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Permission bits that let other users create or replace a socket.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Checks that only this user can create sockets in a directory. The inner error is the reason why others can.
pub fn check_directory(directory: &Path) -> io::Result<Result<(), String>> {
    let me = rustix::process::geteuid().as_raw();
    let mut found = std::fs::symlink_metadata(directory)?;
    // Another user can make a link to any directory, but not one that belongs to this user.
    if found.is_symlink() && found.uid() == me {
        found = std::fs::metadata(directory)?;
    }
    Ok(if found.is_symlink() {
        Err(format!("{} is a link of another user (uid {})", directory.display(), found.uid()))
    } else if !found.is_dir() {
        Err(format!("{} is not a directory", directory.display()))
    } else if found.uid() != me {
        Err(format!("{} belongs to another user (uid {})", directory.display(), found.uid()))
    } else if found.mode() & WRITABLE_BY_OTHERS != 0 {
        let mode = found.mode() & 0o777;
        Err(format!("{} is writable by other users (mode {mode:o}); run chmod 700", directory.display()))
    } else {
        Ok(())
    })
}

/// The user of the process at the other end.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// The user of the process at the other end.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    use std::os::fd::AsRawFd;
    let (mut uid, mut gid): (libc::uid_t, libc::gid_t) = (0, 0);
    #[expect(unsafe_code, reason = "getpeereid only writes to the two variables")]
    let result = unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut uid, &raw mut gid) };
    if result == 0 { Ok(uid) } else { Err(io::Error::last_os_error()) }
}

/// The process at the other end when it connected, where the system tells.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer_pid(stream: &UnixStream) -> Option<u32> {
    let pid = rustix::net::sockopt::socket_peercred(stream).ok()?.pid.as_raw_nonzero();
    u32::try_from(pid.get()).ok()
}

/// The process at the other end when it connected, where the system tells.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn peer_pid(_stream: &UnixStream) -> Option<u32> {
    None
}

/// Whether the process at the other end runs as this user. Root counts as another user.
pub fn is_same_user(stream: &UnixStream) -> bool {
    peer_uid(stream).is_ok_and(|uid| uid == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn problem(directory: &Path) -> String {
        check_directory(directory).unwrap().err().unwrap_or_default()
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("run");
        std::fs::create_dir(&directory).unwrap();
        for (mode, refused) in [(0o700, false), (0o755, false), (0o770, true), (0o777, true), (0o1777, true)] {
            std::fs::set_permissions(&directory, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(problem(&directory).contains("writable by other users"), refused, "{mode:o}");
        }
    }

    #[test]
    fn files_and_missing_directories_are_refused_and_own_links_followed() {
        let parent = tempfile::tempdir().unwrap();
        let link = parent.path().join("link");
        assert_eq!(check_directory(&link).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::os::unix::fs::symlink("file", &link).unwrap();
        std::fs::write(parent.path().join("file"), "").unwrap();
        assert!(problem(&link).contains("is not a directory"));
        std::fs::remove_file(parent.path().join("file")).unwrap();
        std::fs::create_dir(parent.path().join("file")).unwrap();
        assert_eq!(problem(&link), "");
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            assert!(problem(Path::new("/")).contains("belongs to another user"));
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(parent.path(), Some(65_534), None).unwrap();
        assert!(problem(parent.path()).contains("belongs to another user"));
        let link = parent.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
        assert!(problem(&link).contains("link of another user"));
    }

    #[test]
    fn the_peer_of_a_pair_is_the_same_user() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(is_same_user(&one));
    }
}
