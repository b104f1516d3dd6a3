//! A CLI in a terminal of its own: a detached tmux server that only this recorder uses.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::poll;

/// Time between two keys; measured to be enough for every CLI.
const BETWEEN_KEYS: Duration = Duration::from_millis(300);

/// A screen that does not change for this long is complete.
const STILL: Duration = Duration::from_millis(1_000);

/// Reached only if a CLI does not show what is typed.
const TYPING: Duration = Duration::from_secs(20);

/// A tmux server with one pane. Drop ends it with all that runs in it.
#[derive(Debug)]
pub(super) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Starts a command in a new terminal. The command brings its own environment.
    pub(super) fn start(socket: PathBuf, command: &Command) -> io::Result<Self> {
        let terminal = Self { socket };
        terminal.tmux(&["new-session", "-d", "-x", "110", "-y", "45", &shell_line(command)])?;
        Ok(terminal)
    }

    fn tmux(&self, args: &[&str]) -> io::Result<String> {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(args).env("TERM", "xterm-256color");
        let output = tmux.output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                Err(io::Error::other(format!("tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr).trim())))
            }
        }
    }

    pub(super) fn screen(&self) -> io::Result<String> {
        let screen = self.tmux(&["capture-pane", "-p"])?;
        Ok(screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    }

    /// Waits until the screen shows one of the texts, and returns which.
    pub(super) fn wait_for(&self, texts: &[&str], timeout: Duration) -> io::Result<usize> {
        let found = poll::until(timeout, || {
            let screen = self.screen()?;
            Ok(texts.iter().position(|text| screen.contains(text)))
        })?;
        let timed_out = || {
            let screen = self.screen().unwrap_or_default();
            let problem = format!("none of {texts:?} within {timeout:?}; the screen:\n{screen}");
            io::Error::new(io::ErrorKind::TimedOut, problem)
        };
        found.ok_or_else(timed_out)
    }

    /// Waits until the screen has not changed for a moment: a CLI that still draws ignores keys.
    pub(super) fn wait_until_still(&self, timeout: Duration) -> io::Result<()> {
        let mut last = (self.screen()?, Instant::now());
        poll::until(timeout, || {
            let screen = self.screen()?;
            if screen != last.0 {
                last = (screen, Instant::now());
            }
            Ok((last.1.elapsed() >= STILL).then_some(()))
        })
        .map(drop)
    }

    /// Presses keys by tmux's names.
    pub(super) fn press(&self, keys: &[&str]) -> io::Result<()> {
        for key in keys {
            self.tmux(&["send-keys", key])?;
            // No CLI shows that it has read a key, and one that reads several at once takes them for a paste, in which
            // Enter is a line break.
            std::thread::sleep(BETWEEN_KEYS);
        }
        Ok(())
    }

    /// Types a text and presses Enter.
    pub(super) fn enter(&self, text: &str) -> io::Result<()> {
        self.tmux(&["send-keys", "-l", text])?;
        // The screen shows what was typed before Enter is pressed. A long text may be broken into lines.
        let end = text.char_indices().rev().nth(7).map_or(text, |(at, _)| &text[at..]);
        self.wait_for(&[end], TYPING)?;
        std::thread::sleep(BETWEEN_KEYS);
        self.press(&["Enter"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// The command with its environment and nothing else, as one line for a shell. The pane stays after the exit.
fn shell_line(command: &Command) -> String {
    let quote = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"));
    let dir = command.get_current_dir().map(|dir| quote(dir.as_os_str())).unwrap_or_default();
    let variables =
        command.get_envs().filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quote(value?))));
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quote);
    let words: Vec<String> = variables.chain(words).collect();
    format!("cd {dir}; env -i {}; trap '' INT; echo the-cli-has-exited $?; exec cat", words.join(" "))
}
