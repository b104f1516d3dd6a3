//! What a person is told when a command fails: Error, Caused by, Hint.

use std::io;

use anstyle::{AnsiColor, Style};
use belay_config::{ConfigError, EditError, PathError};
use belay_drive::launch::LaunchError;
use belay_engine::EngineError;
use belay_ipc::{ClientError, ErrorBody};
use belay_server::ServeError;
use belay_store::StoreError;
use serde_json::json;

use crate::exit_status::ExitStatus;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: ExitStatus,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit: ExitStatus::Failed, message: message.into(), causes: Vec::new(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: ExitStatus::Usage, ..Self::new(message) }
    }

    #[must_use]
    pub(crate) fn cause(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    fn hint_from(self, error: &LaunchError) -> Self {
        error.hint().into_iter().fold(self, Self::hint)
    }

    /// What happened, without causes and hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Says it on stderr.
    pub(crate) fn report(&self, as_json: bool) -> ExitStatus {
        use std::io::Write;
        // Nothing has failed, and whoever wrote `| head` knows why we are done.
        if self.exit == ExitStatus::Done {
            return self.exit;
        }
        let mut err = anstream::stderr();
        // There is nobody left to tell when stderr is gone.
        let _ = if as_json {
            let error = json!({ "message": self.message, "causes": self.causes, "hints": self.hints });
            writeln!(err, "{}", json!({ "error": error }))
        } else {
            err.write_all(self.text().as_bytes())
        };
        self.exit
    }

    fn text(&self) -> String {
        let (red, cyan) = (label(AnsiColor::Red), label(AnsiColor::Cyan));
        let mut text = format!("{red}Error:{red:#} {}\n", self.message);
        for cause in &self.causes {
            text.push_str(&format!("Caused by: {cause}\n"));
        }
        for hint in &self.hints {
            text.push_str(&format!("{cyan}Hint:{cyan:#} {hint}\n"));
        }
        text
    }
}

fn label(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(color.into())).bold()
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        // Whoever read our output has enough: that is no failure.
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { exit: ExitStatus::Done, ..Self::new("nobody reads the output") },
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Refused { .. } => Self::new(error.to_string()),
        }
    }
}

impl From<ErrorBody> for CommandError {
    fn from(refusal: ErrorBody) -> Self {
        let error = Self::new(refusal.message);
        refusal.hint.into_iter().fold(error, Self::hint)
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(refusal) => refusal.into(),
            ClientError::NotRunning(_) => Self::new(error.to_string()).hint("start it with `belay serve`"),
            ClientError::Io(_) | ClientError::InvalidResponse(_) => Self::new(error.to_string())
                .hint("see what it is doing with `belay doctor`, or restart it with `belay stop`"),
        }
    }
}

impl From<PathError> for CommandError {
    fn from(error: PathError) -> Self {
        let hint = match &error {
            PathError::NoHome => "set HOME, or name a folder with --home",
            PathError::Io { .. } | PathError::Foreign { .. } | PathError::SocketTooLong { .. } => {
                "name another folder with --home or BELAY_HOME"
            }
        };
        Self::new(error.to_string()).hint(hint)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        error.hints().into_iter().fold(Self::new(error.to_string()), Self::hint)
    }
}

impl From<EditError> for CommandError {
    fn from(error: EditError) -> Self {
        let hint = error.hint().map(str::to_owned);
        hint.into_iter().fold(Self::new(error.to_string()), Self::hint)
    }
}

impl From<LaunchError> for CommandError {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::NoCommand => Self::usage(error.to_string()).hint_from(&error),
            LaunchError::Paths(error) => error.into(),
            LaunchError::Config(error) => error.into(),
            LaunchError::Ipc(error) => error.into(),
            LaunchError::Io(error) => error.into(),
            LaunchError::NotAnswering(_) | LaunchError::Autostart(_) => Self::new(error.to_string()).hint_from(&error),
            _ => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                cause.into_iter().fold(Self::new(error.to_string()), Self::cause).hint_from(&error)
            }
        }
    }
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::PortTaken(addr) => Self::new(error.to_string()).hint(format!(
                "choose another port: `belay serve --listen {}:{}`, or none: `belay serve --no-http`",
                addr.ip(),
                addr.port().checked_add(1).unwrap_or(8787)
            )),
            ServeError::Listen(..) => Self::new(error.to_string()).hint("choose another address with --listen"),
            ServeError::Place(error) => error.into(),
            ServeError::Upstream(_) | ServeError::Relay(_) => {
                Self::new(error.to_string()).hint("`belay config explain proxy.upstreams` tells what can be set")
            }
            ServeError::Socket { .. } | ServeError::Start(_) | ServeError::AlreadyRunning(_) => {
                Self::new(error.to_string()).hint("`belay doctor` looks for the cause")
            }
        }
    }
}
