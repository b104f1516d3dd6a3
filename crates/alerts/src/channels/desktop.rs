//! Desktop notifications: `notify-send` or `osascript`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_config::{Config, EnvSnapshot};
use belay_core::Timestamp;
use belay_core::printable::{printable, single_line};

use crate::alert::{Alert, AlertKind};
use crate::channel::{Channel, ChannelProblem, DeliveryError};

/// The program that shows notifications.
const NOTIFIER: &str = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };

/// A notifier that takes longer is killed.
const NOTIFIER_TIMEOUT: Duration = Duration::from_secs(5);

/// Older alerts are not shown: hours later they would only confuse.
const MAX_AGE: Duration = Duration::from_secs(900);

#[derive(Debug)]
pub(crate) struct Desktop {
    /// `PATH`.
    search_path: OsString,
    /// Whether there is a session bus, as far as the environment shows.
    has_session_bus: bool,
}

pub(super) fn from_config(config: &Config, env: &EnvSnapshot) -> Option<Box<dyn Channel>> {
    // An unattended run has no desktop.
    if !config.notify.desktop || env.is_ci() {
        return None;
    }
    let bus_socket = || env.get("XDG_RUNTIME_DIR").is_some_and(|dir| PathBuf::from(dir).join("bus").exists());
    // With a display, the bus is started on demand.
    let has_session_bus = cfg!(target_os = "macos")
        || env.get("DBUS_SESSION_BUS_ADDRESS").is_some()
        || env.get("DISPLAY").is_some()
        || bus_socket();
    Some(Box::new(Desktop { search_path: env.get("PATH").unwrap_or_default().to_owned(), has_session_bus }))
}

impl Desktop {
    fn notifier(&self) -> Option<PathBuf> {
        std::env::split_paths(&self.search_path).map(|dir| dir.join(NOTIFIER)).find(|file| file.is_file())
    }
}

impl Channel for Desktop {
    fn name(&self) -> &'static str {
        "desktop"
    }

    fn describe(&self) -> String {
        match self.notifier() {
            Some(path) => path.display().to_string(),
            None => NOTIFIER.to_owned(),
        }
    }

    fn problem(&self) -> Option<ChannelProblem> {
        if self.notifier().is_none() {
            return Some(ChannelProblem {
                misconfigured: false,
                reason: format!("{NOTIFIER} is not on the PATH"),
                fix: "install it (Debian: libnotify-bin), or set a webhook: belay config set webhook.url URL"
                    .to_owned(),
            });
        }
        (!self.has_session_bus).then(|| ChannelProblem {
            misconfigured: false,
            reason: format!("{NOTIFIER} needs a D-Bus session, and this environment has none"),
            fix: "set a webhook: belay config set webhook.url URL".to_owned(),
        })
    }

    fn accepts(&self, alert: &Alert, now: Timestamp) -> bool {
        self.notifier().is_some()
            && now.saturating_since(alert.at) <= MAX_AGE
            && alert.kind != AlertKind::Updated
            && !alert.is_operator_decision()
    }

    fn deliver(&self, alert: &Alert, _now: Timestamp) -> Result<(), DeliveryError> {
        let Some(notifier) = self.notifier() else {
            return Err(DeliveryError(format!("{NOTIFIER} is not on the PATH")));
        };
        run(&mut command(&notifier, alert))
    }
}

fn run(command: &mut Command) -> Result<(), DeliveryError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| DeliveryError(format!("cannot run {NOTIFIER}: {error}")))?;
    match belay_process::wait_timeout(&mut child, NOTIFIER_TIMEOUT) {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => Err(DeliveryError(format!("{NOTIFIER} failed: {status}"))),
        Ok(None) => Err(DeliveryError(format!("{NOTIFIER} timed out after {} s", NOTIFIER_TIMEOUT.as_secs()))),
        Err(error) => Err(DeliveryError(format!("cannot wait for {NOTIFIER}: {error}"))),
    }
}

/// Title and text are separate arguments, so nothing in them is parsed as a script.
fn command(notifier: &std::path::Path, alert: &Alert) -> Command {
    let (title, text) = (single_line(&alert.title()).into_owned(), printable(&alert.text()).into_owned());
    let mut command = Command::new(notifier);
    if cfg!(target_os = "macos") {
        command.args(["-e", "on run argv"]);
        command.args(["-e", "display notification (item 2 of argv) with title (item 1 of argv)"]);
        command.args(["-e", "end run", "--", &title, &text]);
        return command;
    }
    let urgency = match alert.kind {
        AlertKind::Paused
        | AlertKind::Killed
        | AlertKind::NeedsAttention
        | AlertKind::ReviewNeedsAttention
        | AlertKind::ReviewFailed => "critical",
        AlertKind::Nudged | AlertKind::Updated | AlertKind::ReviewDone | AlertKind::Test => "normal",
    };
    command.args(["--app-name=Belay", &format!("--urgency={urgency}"), "--", &title, &escape_markup(&text)]);
    command
}

/// Desktops parse the text as markup with links and images. A command that an agent ran must not become either.
fn escape_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
