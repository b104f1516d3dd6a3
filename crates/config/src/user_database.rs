//! What the system knows about the current user, and no environment variable changes.

use std::path::PathBuf;

/// The home directory that tests have instead of the user's. Release builds ignore it.
const TEST_HOME: &str = "__BELAY_TEST_USER_HOME";

/// The home directory of the current user; `None` if the database has no entry for them.
pub(crate) fn home_dir() -> Option<PathBuf> {
    let of_test = std::env::var_os(TEST_HOME).filter(|_| cfg!(debug_assertions));
    of_test.map(PathBuf::from).or_else(read_home_dir)
}

#[cfg(unix)]
fn read_home_dir() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;

    /// Longer entries than any real one.
    const MAX_ENTRY_BYTES: usize = 64 * 1024;
    let mut buffer = vec![0; MAX_ENTRY_BYTES];
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    #[expect(unsafe_code, reason = "every pointer is valid for the call, and `buffer` outlives what `entry` refers to")]
    let home = unsafe {
        let (entry, text) = (entry.as_mut_ptr(), buffer.as_mut_ptr());
        let failed = libc::getpwuid_r(libc::geteuid(), entry, text, buffer.len(), &raw mut found);
        if failed != 0 || found.is_null() || (*found).pw_dir.is_null() {
            return None;
        }
        CStr::from_ptr((*found).pw_dir)
    };
    let home = PathBuf::from(OsStr::from_bytes(home.to_bytes()));
    home.is_absolute().then_some(home)
}

#[cfg(not(unix))]
fn read_home_dir() -> Option<PathBuf> {
    std::env::home_dir()
}

/// The directory that systemd makes for the user's sockets.
#[cfg(unix)]
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;

    let uid = rustix::process::geteuid().as_raw();
    let dir = PathBuf::from(format!("/run/user/{uid}"));
    let found = dir.symlink_metadata().ok()?;
    (found.is_dir() && found.uid() == uid).then_some(dir)
}

#[cfg(not(unix))]
pub(crate) fn runtime_dir() -> Option<PathBuf> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn finds_the_home_directory_of_the_current_user() {
        let id = rustix::process::geteuid().as_raw().to_string();
        let entries = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = entries.lines().find(|line| line.split(':').nth(2) == Some(&id));
        let expected = own.and_then(|line| line.split(':').nth(5)).map(Into::into);
        assert_eq!(super::home_dir(), expected);
    }
}
