//! The command line of a hook.

use super::{InstallContext, Scope};

/// The command of an installed hook. In a shared project it must not fail on machines without Belay; `guarded`
/// gives the same protection for agents that treat a hook that cannot start as a denial.
pub(crate) fn hook_command(setting: &InstallContext<'_>, agent: &str, event: Option<&str>, guarded: bool) -> String {
    let belay = quote(setting.belay);
    let event = event.map_or_else(String::new, |event| format!(" {event}"));
    let call = format!("{belay} hook {agent}{event}");
    match setting.scope {
        Scope::Project => format!("command -v {belay} >/dev/null 2>&1 || exit 0; exec {call}"),
        Scope::User if guarded => format!("[ -x {belay} ] || exit 0; exec {call}"),
        Scope::User => call,
    }
}

/// Quotes a text as one word of a POSIX shell.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a command line calls Belay, in any version and from any folder.
pub(crate) fn is_belay_command(command: &str, agent: &str) -> bool {
    let call = format!(" hook {agent}");
    command.match_indices(&call).any(|(at, _)| {
        let after = &command[at + call.len()..];
        let program = command[..at].rsplit(['/', ' ']).next().unwrap_or_default();
        program.trim_matches('\'').starts_with("belay") && (after.is_empty() || after.starts_with([' ', ';']))
    })
}
