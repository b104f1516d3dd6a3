//! The command line of a hook.

use super::{InstallContext, Scope};

/// How the installed hook calls us. In a project that others share it must not fail where Belay is
/// not installed; `guarded` says the same of agents that take a hook that cannot start for a "no".
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

/// A word for a POSIX shell.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a command line is one of ours, of whichever version and place.
pub(crate) fn is_belay_command(command: &str, agent: &str) -> bool {
    let call = format!(" hook {agent}");
    command.match_indices(&call).any(|(at, _)| {
        let after = &command[at + call.len()..];
        let program = command[..at].rsplit(['/', ' ']).next().unwrap_or_default();
        program.trim_matches('\'').starts_with("belay") && (after.is_empty() || after.starts_with([' ', ';']))
    })
}
