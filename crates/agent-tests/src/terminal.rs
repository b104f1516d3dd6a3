//! A terminal for interactive CLIs: a tmux server of its own.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::workbench::Workbench;

/// A terminal with one command in it. Drop ends it.
#[derive(Debug)]
pub struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Whether tmux is installed.
    pub fn is_available() -> bool {
        Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
    }

    /// Runs a command with its arguments, environment and directory, and nothing of this process's.
    pub fn start(bench: &Workbench, command: &Command) -> io::Result<Self> {
        // Socket paths are short, so it is not below the workbench.
        let socket = tempfile::Builder::new().prefix("belay-tmux-").tempdir()?.keep().join("socket");
        let terminal = Self { socket };
        let variables = command.get_envs().filter_map(|(name, value)| {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value?);
            Some(pair)
        });
        let words = variables.chain([command.get_program().to_owned()]);
        let words = words.chain(command.get_args().map(OsStr::to_owned));
        let quoted: Vec<String> = words.map(|word| quote(&word.to_string_lossy())).collect();
        let line = format!("exec env -i {}", quoted.join(" "));
        let mut tmux = terminal.tmux();
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-s", "agent"]);
        let output = tmux.arg("-c").arg(bench.work()).arg(line).output()?;
        match output.status.success() {
            true => Ok(terminal),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// The text on the screen.
    pub fn screen(&self) -> String {
        let output = self.tmux().args(["capture-pane", "-p", "-t", "agent"]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    /// Presses a key, by tmux's name for it.
    pub fn press(&self, key: &str) -> io::Result<()> {
        self.tmux().args(["send-keys", "-t", "agent", key]).status().map(drop)
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).env_remove("TMUX");
        tmux
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
        let _ = self.socket.parent().map(std::fs::remove_dir_all);
    }
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
