//! Finders for passwords on command lines and in netrc files.

use super::LiteralHit;
use super::secret_shapes::{is_name, value_end};
use super::secret_values::is_placeholder;

/// How far an option may be from its program.
const MAX_COMMAND_BYTES: usize = 256;

/// `curl -u user:password`
pub(super) fn curl_user(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    if !place.line_before().iter().any(|piece| piece.contains("curl")) {
        return None;
    }
    let (from, stop) = argument(text.as_bytes(), end);
    let colon = from + text[from..stop].find(':')? + 1;
    (colon < stop && !is_placeholder(&text[colon..stop])).then_some((colon, stop))
}

/// `mysql -pPASSWORD`; with a blank after `-p` the client asks for the password.
pub(super) fn mysql_client(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -p")
}

/// `sshpass -p PASSWORD`, with or without a blank.
pub(super) fn sshpass(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    // `-P` is the prompt.
    if !text[..end].ends_with('p') {
        return None;
    }
    let (from, stop) = argument(text.as_bytes(), end + usize::from(text.as_bytes().get(end) == Some(&b' ')));
    (from < stop && !is_placeholder(&text[from..stop])).then_some((from, stop))
}

/// `redis-cli -a PASSWORD`
pub(super) fn redis_cli(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -a ")
}

/// `docker login -p PASSWORD`
pub(super) fn docker_login(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -p ")
}

/// `sqlcmd -P PASSWORD`
pub(super) fn capital_p(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -P ")
}

/// `mongosh -p PASSWORD`
pub(super) fn small_p(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -p ")
}

/// `ldapsearch -w PASSWORD`
pub(super) fn small_w(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    option_value(place, " -w ")
}

/// `kubectl create secret --from-literal=NAME=VALUE`
pub(super) fn from_literal(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let name = text.as_bytes()[end..].iter().take_while(|b| is_name(**b)).count();
    let (from, stop) = argument(text.as_bytes(), text[end + name..].starts_with('=').then_some(end + name + 1)?);
    (from < stop && !is_placeholder(&text[from..stop])).then_some((from, stop))
}

/// The value after `option` in the command that the literal begins.
fn option_value(place: &LiteralHit<'_>, option: &str) -> Option<(usize, usize)> {
    let &LiteralHit { text, end, .. } = place;
    let bytes = text.as_bytes();
    // An option may follow the literal's trailing space.
    let begin = end - usize::from(bytes[end - 1] == b' ');
    let ends_command = |b: &u8| matches!(b, b'\n' | b';' | b'|');
    let command = bytes[begin..].iter().take(MAX_COMMAND_BYTES).take_while(|b| !ends_command(b)).count();
    let at = begin + memchr::memmem::find(&bytes[begin..begin + command], option.as_bytes())? + option.len();
    let (from, stop) = argument(bytes, at);
    (from < stop && !is_placeholder(&text[from..stop])).then_some((from, stop))
}

/// The argument of a command line at `at`, without its quotes.
fn argument(bytes: &[u8], at: usize) -> (usize, usize) {
    match bytes.get(at) {
        Some(quote @ (b'"' | b'\'')) => {
            (at + 1, at + 1 + bytes[at + 1..].iter().take_while(|b| *b != quote && **b != b'\n').count())
        }
        _ => (at, value_end(bytes, at)),
    }
}

/// `machine HOST login USER password PASSWORD`, on one line or several.
pub(super) fn netrc(place: &LiteralHit<'_>) -> Option<(usize, usize)> {
    const MAX_FIELDS: usize = 4;
    let &LiteralHit { text, start, end, .. } = place;
    if place.before().is_ascii_alphanumeric() {
        return None;
    }
    let mut at = end;
    let mut token = || {
        let from = at + text[at..].bytes().take_while(u8::is_ascii_whitespace).count();
        at = from + text[from..].bytes().take_while(|b| !b.is_ascii_whitespace()).count();
        (from, at)
    };
    // The host, or the user after `default login`.
    token();
    let is_default = !text[start..end].eq_ignore_ascii_case("machine ");
    // "machine learning password" is prose.
    let mut has_login = is_default;
    for _ in 0..MAX_FIELDS {
        let (key_from, key_to) = token();
        let (from, to) = token();
        match &text[key_from..key_to] {
            "password" if has_login => return (from < to && !is_placeholder(&text[from..to])).then_some((from, to)),
            "login" => has_login = true,
            "account" | "port" => {}
            _ => return None,
        }
    }
    None
}
