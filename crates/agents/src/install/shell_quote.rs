//! The command line of a hook.

use super::InstallContext;

/// The command of an installed hook.
pub(crate) fn hook_command(context: &InstallContext<'_>, agent: &str, event: Option<&str>) -> String {
    let event = event.map_or_else(String::new, |event| format!(" {event}"));
    fail_open_command(context.belay, &format!("hook {agent}{event}"))
}

/// A shell command that calls Belay and succeeds even without it. Agents treat a hook that cannot start, or that a
/// signal killed, as a denial or an error: Copilot denies every tool, Gemini CLI sends no more requests.
pub(crate) fn fail_open_command(belay: &str, arguments: &str) -> String {
    let belay = quote(belay);
    format!("command -v {belay} >/dev/null 2>&1 || exit 0; {belay} {arguments} || exit 0")
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
