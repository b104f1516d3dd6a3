//! The command line of a hook.

use super::InstallContext;

/// How agents call Belay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BelayCommand {
    /// A path in user settings, the bare name in project settings.
    pub program: String,
    /// Options after the subcommand: where state and configuration are, whatever the agent's environment says. None in
    /// project settings, whose users have different home directories.
    pub options: Vec<String>,
}

impl BelayCommand {
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), options: Vec::new() }
    }

    /// A shell command.
    pub(crate) fn to_shell(&self, subcommand: &str) -> String {
        let options = self.options.iter().map(|option| format!(" {}", quote(option)));
        format!("{} {subcommand}{}", quote(&self.program), options.collect::<String>())
    }

    /// A shell command that succeeds even without Belay. Agents treat a hook that cannot start, or that a signal killed,
    /// as a denial or an error: Copilot denies every tool, Gemini CLI sends no more requests.
    pub(crate) fn to_fail_open_shell(&self, subcommand: &str) -> String {
        let program = quote(&self.program);
        format!("command -v {program} >/dev/null 2>&1 || exit 0; {} || exit 0", self.to_shell(subcommand))
    }
}

/// The command of an installed hook.
pub(crate) fn hook_command(context: &InstallContext<'_>, agent: &str, event: Option<&str>) -> String {
    let event = event.map_or_else(String::new, |event| format!(" {event}"));
    context.belay.to_fail_open_shell(&format!("hook {agent}{event}"))
}

/// Quotes a text as one word of a POSIX shell, if necessary.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a command line calls Belay, in any version and from any directory.
pub(crate) fn is_belay_command(command: &str, agent: &str) -> bool {
    let call = format!(" hook {agent}");
    command.match_indices(&call).any(|(at, _)| {
        let after = &command[at + call.len()..];
        let program = command[..at].rsplit(['/', ' ']).next().unwrap_or_default();
        program.trim_matches('\'').starts_with("belay") && (after.is_empty() || after.starts_with([' ', ';']))
    })
}
