//! Errors of commands, printed as Error, Caused by and Hint.

use std::io;

use anstyle::{AnsiColor, Style};
use belay_compat::import::ImportError;
use belay_config::{ConfigError, EditError, PathError};
use belay_core::printable::{escape_json, printable};
use belay_drive::launch::LaunchError;
use belay_engine::EngineError;
use belay_ipc::{ClientError, ErrorBody};
use belay_server::ServeError;
use belay_store::StoreError;
use serde_json::json;

use crate::exit_status::ExitStatus;

/// An error with its causes, hints and exit status.
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

    /// The message without causes and hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Message, causes and hints on one line.
    pub(crate) fn to_line(&self) -> String {
        let causes = self.causes.iter().fold(self.message.clone(), |line, cause| format!("{line}: {cause}"));
        self.hints.iter().fold(causes, |line, hint| format!("{line}; {hint}"))
    }

    /// Prints the error to stderr.
    pub(crate) fn report(&self, as_json: bool) -> ExitStatus {
        use std::io::Write;
        // The reader closed the pipe (`| head`), which is not a failure.
        if self.exit == ExitStatus::Done {
            return self.exit;
        }
        let mut err = anstream::stderr();
        // If stderr is closed, there is no other place to report to.
        let _ = if as_json {
            let error = json!({ "message": self.message, "causes": self.causes, "hints": self.hints });
            writeln!(err, "{}", escape_json(&json!({ "error": error }).to_string()))
        } else {
            err.write_all(self.text().as_bytes())
        };
        self.exit
    }

    fn text(&self) -> String {
        let (red, cyan) = (label(AnsiColor::Red), label(AnsiColor::Cyan));
        let mut text = format!("{red}Error:{red:#} {}\n", printable(&self.message));
        for cause in &self.causes {
            text.push_str(&format!("Caused by: {}\n", printable(cause)));
        }
        for hint in &self.hints {
            text.push_str(&format!("{cyan}Hint:{cyan:#} {}\n", printable(hint)));
        }
        text
    }
}

fn label(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(color.into())).bold()
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { exit: ExitStatus::Done, ..Self::new("stdout is closed") },
            _ => Self::new(error.to_string()),
        }
    }
}

impl From<ImportError> for CommandError {
    fn from(error: ImportError) -> Self {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        cause.into_iter().fold(Self::new(error.to_string()), Self::cause)
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
            EngineError::DecisionRefused { refusal, .. } => Self::new(error.to_string()).hint(refusal.hint()),
            EngineError::Refused(_) => Self::new(error.to_string()),
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
            ClientError::Untrusted { .. } => {
                Self::new(error.to_string()).hint("only you may own and write to the directory of the socket")
            }
            ClientError::Io(_) | ClientError::InvalidResponse(_) => {
                Self::new(error.to_string()).hint("run `belay doctor`, or restart it: `belay stop`, then `belay serve`")
            }
        }
    }
}

impl From<PathError> for CommandError {
    fn from(error: PathError) -> Self {
        let hint = match &error {
            PathError::NoHome => "set HOME, or pass a directory with --home",
            PathError::Io { .. } | PathError::Foreign { .. } | PathError::SocketTooLong { .. } => {
                "use another directory: --home DIR or BELAY_HOME"
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
                "use another port: `belay serve --listen {}:{}`, or no HTTP: `belay serve --no-http`",
                addr.ip(),
                addr.port().checked_add(1).unwrap_or(8787)
            )),
            ServeError::Listen(_, ref cause) => Self::new(error.to_string()).hint(cause.hint()),
            ServeError::Place(error) => error.into(),
            ServeError::Upstream(_) | ServeError::Relay(_) => {
                Self::new(error.to_string()).hint("run `belay config explain proxy.upstreams`")
            }
            ServeError::Socket { .. } | ServeError::Start(_) | ServeError::AlreadyRunning(_) => {
                Self::new(error.to_string()).hint("run `belay doctor`")
            }
        }
    }
}
