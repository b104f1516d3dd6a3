use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;

fn temp_dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn make_fifo(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

#[test]
fn a_regular_file_is_read_up_to_its_limit() {
    let temp_dir = temp_dir();
    let path = temp_dir.path().join("file");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read_regular(&path, Links::Refuse, 5).unwrap(), b"12345");
    let error = read_regular(&path, Links::Refuse, 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(error.to_string().ends_with("is larger than 4 bytes"), "{error}");
}

#[test]
fn a_link_is_refused_unless_it_is_to_be_followed() {
    let temp_dir = temp_dir();
    let (secret, link) = (temp_dir.path().join("secret"), temp_dir.path().join("link"));
    std::fs::write(&secret, "key").unwrap();
    symlink(&secret, &link).unwrap();
    let error = read_regular(&link, Links::Refuse, 10).unwrap_err();
    assert!(error.to_string().ends_with("is a symbolic link, which is not followed"), "{error}");
    assert_eq!(read_regular(&link, Links::Follow, 10).unwrap(), b"key");
}

/// Without O_NONBLOCK, this test would hang.
#[test]
fn a_fifo_a_device_and_a_dir_are_refused_at_once() {
    let temp_dir = temp_dir();
    let fifo = temp_dir.path().join("fifo");
    make_fifo(&fifo);
    let socket = temp_dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [fifo.as_path(), temp_dir.path(), Path::new("/dev/zero"), socket.as_path()] {
        for links in [Links::Refuse, Links::Follow] {
            let error = open_regular(path, links).unwrap_err();
            assert!(error.to_string().ends_with("is not a regular file"), "{}: {error}", path.display());
        }
    }
}

#[test]
fn replacing_a_link_leaves_its_target_alone() {
    let temp_dir = temp_dir();
    let (target, link, dangling) =
        (temp_dir.path().join("target"), temp_dir.path().join("link"), temp_dir.path().join("dangling"));
    std::fs::write(&target, "untouched").unwrap();
    symlink(&target, &link).unwrap();
    symlink(temp_dir.path().join("missing"), &dangling).unwrap();
    for path in [&link, &dangling] {
        replace_file(path, b"new", FileMode::Keep).unwrap();
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(std::fs::read(path).unwrap(), b"new");
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"untouched");
    assert!(!temp_dir.path().join("missing").exists());
}

#[test]
fn replacing_a_fifo_does_not_block() {
    let temp_dir = temp_dir();
    let fifo = temp_dir.path().join("fifo");
    make_fifo(&fifo);
    replace_file(&fifo, b"new", FileMode::Keep).unwrap();
    assert_eq!(std::fs::read(&fifo).unwrap(), b"new");
}

#[test]
fn a_failed_replacement_leaves_nothing_behind() {
    let temp_dir = temp_dir();
    let taken = temp_dir.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    assert!(replace_file(&taken, b"new", FileMode::Keep).is_err());
    let left: Vec<_> = temp_dir.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["taken"]);
}

#[test]
fn the_users_configuration_stays_where_its_link_leads() {
    let temp_dir = temp_dir();
    let (real, link) = (temp_dir.path().join("dotfiles/settings"), temp_dir.path().join("settings"));
    symlink(&real, &link).unwrap();
    atomic_write(&link, b"new", FileMode::Private).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let temp_dir = temp_dir();
    let path = temp_dir.path().join("file");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    replace_file(&path, b"new", FileMode::Keep).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

/// The content of a private file must not be readable by others while it is written.
#[test]
fn the_file_that_replaces_another_is_private_until_it_is_complete() {
    let temp_dir = temp_dir();
    let dir = Dir::open(temp_dir.path()).unwrap();
    let name = std::ffi::OsStr::new("file");
    std::fs::write(temp_dir.path().join(name), "old").unwrap();
    for mode in [0o600, 0o644] {
        std::fs::set_permissions(temp_dir.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        let replacement = write::Replacement::begin(&dir, name, FileMode::Keep).unwrap();
        let temporary = temp_dir.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let temporary = temporary.into_iter().find(|path| path.file_name() != Some(name)).unwrap();
        assert_eq!(temporary.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        replacement.finish(b"new").unwrap();
        assert_eq!(temp_dir.path().join(name).metadata().unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn a_link_below_the_root_is_refused_and_one_above_is_followed() {
    let temp_dir = temp_dir();
    let (root, outside) = (temp_dir.path().join("root"), temp_dir.path().join("outside"));
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir_all(outside.join("b")).unwrap();
    std::fs::write(root.join("a/b/file"), "inside").unwrap();
    std::fs::write(outside.join("b/file"), "outside").unwrap();
    symlink(&outside, root.join("linked")).unwrap();
    symlink(&root, temp_dir.path().join("alias")).unwrap();
    for root in [&root, &temp_dir.path().join("alias")] {
        let dir = Dir::open_below(root, Path::new("a/./b")).unwrap();
        assert_eq!(dir.read_regular("file", 10).unwrap(), b"inside");
    }
    for below in ["linked", "linked/b"] {
        let error = Dir::open_below(&root, Path::new(below)).unwrap_err();
        assert!(error.to_string().ends_with("linked is a symbolic link, which is not followed"), "{error}");
    }
    for below in ["..", "a/../../outside", "/"] {
        let error = Dir::open_below(&root, Path::new(below)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{below}: {error}");
    }
}

#[test]
fn an_open_directory_stays_the_same_when_its_path_changes() {
    let temp_dir = temp_dir();
    let (real, moved) = (temp_dir.path().join("real"), temp_dir.path().join("moved"));
    std::fs::create_dir(&real).unwrap();
    let dir = Dir::open(&real).unwrap();
    std::fs::rename(&real, &moved).unwrap();
    std::fs::create_dir(temp_dir.path().join("victim")).unwrap();
    symlink(temp_dir.path().join("victim"), &real).unwrap();
    dir.replace_file("file".as_ref(), b"new", FileMode::Keep).unwrap();
    assert_eq!(std::fs::read(moved.join("file")).unwrap(), b"new");
    assert!(!temp_dir.path().join("victim/file").exists());
}

#[test]
fn a_name_cannot_leave_its_directory() {
    let temp_dir = temp_dir();
    std::fs::create_dir(temp_dir.path().join("inner")).unwrap();
    std::fs::write(temp_dir.path().join("secret"), "key").unwrap();
    let dir = Dir::open(&temp_dir.path().join("inner")).unwrap();
    for name in ["../secret", "/etc/passwd", "a/b", "..", ".", ""] {
        assert!(dir.read_regular(name, 10).is_err(), "{name}");
        assert!(dir.replace_file(name.as_ref(), b"new", FileMode::Keep).is_err(), "{name}");
    }
    assert_eq!(std::fs::read(temp_dir.path().join("secret")).unwrap(), b"key");
}
