//! A notification on the desktop of whoever sits there.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::alert::{Alert, AlertKind};

/// What shows notifications here.
pub const NOTIFIER: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };

/// A notifier that takes longer hangs.
const NOTIFIER_TIMEOUT: Duration = Duration::from_secs(5);

/// Shows news, if there is a desktop. Tells why not, for the log.
pub fn show(news: &Alert) -> Result<(), String> {
    let mut command = command(news);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let deadline = Instant::now() + NOTIFIER_TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{:?} ended with {status}", command.get_program())),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // Ours, and it had its time.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{:?} did not end", command.get_program()));
            }
        }
    }
}

/// Texts go as arguments of their own: nothing in them is ever read as a script.
pub fn command(news: &Alert) -> Command {
    let (title, text) = (news.title(), news.text());
    if cfg!(target_os = "macos") {
        let mut command = Command::new(NOTIFIER);
        command.args(["-e", "on run argv"]);
        command.args(["-e", "display notification (item 2 of argv) with title (item 1 of argv)"]);
        command.args(["-e", "end run", "--", &title, &text]);
        return command;
    }
    let urgency = if matches!(news.kind, AlertKind::Paused | AlertKind::Killed | AlertKind::NeedsAttention) {
        "critical"
    } else {
        "normal"
    };
    let mut command = Command::new(NOTIFIER);
    command.args(["--app-name=Belay", &format!("--urgency={urgency}"), "--", &title, &plain(&text)]);
    command
}

/// Desktops read a text as markup, with links and pictures: what an agent ran must not become any.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
