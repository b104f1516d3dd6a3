//! Rotating log files with secrets redacted. Write errors are ignored.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A log file that is rotated when it grows too large: `serve.log`, `serve.log.1`, ...
#[derive(Debug)]
pub struct RotatingLogFile {
    path: PathBuf,
    max_bytes: u64,
    keep: u16,
    file: Option<File>,
    size: u64,
}

impl RotatingLogFile {
    /// Retains `max_files` files of at most `max_bytes` plus one line each.
    pub fn new(path: impl Into<PathBuf>, max_bytes: u64, keep: u16) -> Self {
        Self { path: path.into(), max_bytes, keep: keep.max(1), file: None, size: 0 }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            if let Some(dir) = self.path.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(0o600);
            let file = options.open(&self.path)?;
            self.size = file.metadata().map_or(0, |found| found.len());
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("no log file"))
    }

    fn rotated_path(&self, number: u16) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn rotate(&mut self) {
        self.file = None;
        for number in (1..self.keep.saturating_sub(1)).rev() {
            // Fails if the file does not exist yet.
            let _ = std::fs::rename(self.rotated_path(number), self.rotated_path(number + 1));
        }
        let _ = match self.keep {
            1 => std::fs::remove_file(&self.path),
            _ => std::fs::rename(&self.path, self.rotated_path(1)),
        };
    }
}

impl Write for RotatingLogFile {
    /// Writes complete lines, as the formatter provides them. On a full disk the line is lost.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.size >= self.max_bytes {
            self.rotate();
        }
        let text = String::from_utf8_lossy(line);
        let clean = belay_core::redact::redact(&text);
        if let Ok(file) = self.open()
            && file.write_all(clean.as_bytes()).is_ok()
        {
            self.size += clean.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
