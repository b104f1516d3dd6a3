//! Opening regular files without following links and without blocking.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::dir::{not_regular, sys};

/// What to do if the last component of a path is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Follow,
    Refuse,
}

/// Opens a regular file for reading. Anything else is an error: a FIFO, a socket, a device, a directory.
pub fn open_regular(path: &Path, links: Links) -> io::Result<File> {
    let file = open(path, links)?;
    // Checked on the open file: the path may refer to another file by now.
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular(path)) }
}

/// Reads a regular file of at most `max_bytes`. A larger one is an error ([`io::ErrorKind::FileTooLarge`]).
pub fn read_regular(path: &Path, links: Links, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_bounded(open_regular(path, links)?, path, max_bytes)
}

/// Like [`read_regular`], for UTF-8 text.
pub fn read_regular_text(path: &Path, links: Links, max_bytes: u64) -> io::Result<String> {
    text_of(read_regular(path, links, max_bytes)?, path)
}

pub(crate) fn read_bounded(file: File, path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let message = format!("{} is larger than {max_bytes} bytes", path.display());
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    };
    let length = file.metadata()?.len();
    if length > max_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // The file may grow while it is read.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(too_large()) } else { Ok(bytes) }
}

pub(crate) fn text_of(bytes: Vec<u8>, path: &Path) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{} is not valid UTF-8", path.display())))
}

#[cfg(unix)]
fn open(path: &Path, links: Links) -> io::Result<File> {
    sys::open_at(rustix::fs::CWD, path, path, links)
}

#[cfg(not(unix))]
fn open(path: &Path, links: Links) -> io::Result<File> {
    sys::open(path, links)
}
