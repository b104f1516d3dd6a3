//! The files of the repository, and rules for all of them.

#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod tests;

use std::process::Command;

use crate::shell;

/// Paths of all tracked files, relative to the root, sorted.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let output = Command::new("git").args(["ls-files", "-z", "--cached"]).current_dir(shell::root()).output();
    let output = output.map_err(|error| format!("cannot start git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let list = String::from_utf8_lossy(&output.stdout);
    // A deleted file is listed until the deletion is staged.
    let files = list.split_terminator('\0').filter(|file| shell::root().join(file).is_file());
    Ok(files.map(str::to_owned).collect())
}

/// The text of a tracked file; invalid UTF-8 is replaced.
pub(crate) fn read(file: &str) -> Result<String, String> {
    let bytes = std::fs::read(shell::root().join(file)).map_err(|error| format!("{file}: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
