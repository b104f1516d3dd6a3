//! Random names: UUIDs and files in temporary directories.

/// End of a UUID at `at`.
pub(super) fn uuid(bytes: &[u8], at: usize) -> Option<usize> {
    let candidate = bytes.get(at..at + 36)?;
    let fits = candidate.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    });
    (fits && !bytes.get(at + 36).is_some_and(u8::is_ascii_alphanumeric)).then_some(at + 36)
}

const TEMP_ROOTS: [&str; 5] = ["/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/", "/run/user/"];
const MACOS_TEMP_ROOTS: [&str; 2] = ["/var/folders/", "/private/var/folders/"];

/// End of a path in a temporary directory that begins with the slash at `at`.
pub(super) fn temp_path(bytes: &[u8], at: usize) -> Option<usize> {
    // Fast path: most slashes do not start a temporary directory.
    if !matches!(bytes.get(at + 1), Some(b't' | b'v' | b'p' | b'd' | b'r')) {
        return None;
    }
    if at > 0 && (super::is_word(bytes[at - 1]) || matches!(bytes[at - 1], b'.' | b'~' | b'*' | b'-' | b'>')) {
        return None;
    }
    let rest = &bytes[at..];
    TEMP_ROOTS.iter().chain(&MACOS_TEMP_ROOTS).find(|root| rest.starts_with(root.as_bytes()))?;
    Some(at + rest.iter().position(|b| ends_path(*b)).unwrap_or(rest.len()))
}

fn ends_path(b: u8) -> bool {
    b.is_ascii_whitespace()
        || matches!(
            b,
            b'"' | b'\'' | b'`' | b':' | b',' | b';' | b')' | b']' | b'}' | b'<' | b'>' | b'|' | b'(' | b'=' | b'&'
        )
}

/// Whether a temporary path contains no random name.
pub(super) fn is_normalized(path: &str) -> bool {
    !MACOS_TEMP_ROOTS.iter().any(|root| path.starts_with(root)) && !path.split('/').any(is_made_up)
}

/// The line with random names in temporary paths replaced by stars.
pub(super) fn normalize_path(line: &str) -> String {
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let (mut at, mut copied) = (0, 0);
    while let Some(slash) = memchr::memchr(b'/', &bytes[at..]) {
        let start = at + slash;
        at = match temp_path(bytes, start) {
            Some(end) => {
                out.push_str(&line[copied..start]);
                write(&line[start..end], &mut out);
                copied = end;
                end
            }
            None => start + 1,
        };
    }
    out.push_str(&line[copied..]);
    out
}

fn write(path: &str, out: &mut String) {
    let path = match MACOS_TEMP_ROOTS.iter().find_map(|root| path.strip_prefix(root)) {
        // /var/folders/xx/yyyyyyyy/T/name: two random folders and a fixed one.
        Some(rest) => {
            out.push_str("/tmp");
            rest.splitn(4, '/').nth(3).unwrap_or_default()
        }
        None => path.trim_start_matches('/'),
    };
    for part in path.split('/') {
        out.push('/');
        out.push_str(if is_made_up(part) { "*" } else { part });
    }
}

/// Whether a file name looks random: `tmpx7f3k2`, `tmp.Ab12Cd34Ef`, `pytest-17`, a hash, a number of four or
/// more digits.
fn is_made_up(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    if name.len() > 5 && name.starts_with("tmp.") {
        return true;
    }
    if stem.len() >= 7 && stem.starts_with("tmp") {
        return true;
    }
    if let Some(number) = stem.strip_prefix("pytest-").filter(|rest| !rest.is_empty()) {
        return number.bytes().all(|b| b.is_ascii_digit());
    }
    let mut digits_in_a_row = 0;
    let (mut turns, mut last, mut letters, mut digits) = (0, 0u8, 0, 0);
    let (mut upper, mut lower) = (0, 0);
    for b in stem.bytes() {
        let class = match b {
            b'0'..=b'9' => 1,
            b'a'..=b'z' | b'A'..=b'Z' => 2,
            _ => 0,
        };
        upper += usize::from(b.is_ascii_uppercase());
        lower += usize::from(b.is_ascii_lowercase());
        if class == 1 {
            digits += 1;
            digits_in_a_row += 1;
            if digits_in_a_row >= 4 {
                return true;
            }
        } else {
            digits_in_a_row = 0;
            letters += usize::from(class == 2);
        }
        if class != last && class != 0 && last != 0 {
            turns += 1;
        }
        last = class;
    }
    // Alternating letters and digits, or all three classes in one word.
    (letters > 0 && digits > 0 && turns >= 3) || (upper > 1 && lower > 1 && digits > 0 && stem.len() >= 6)
}
