//! Timestamps and durations in the formats programs use.

use super::{is_word, word_end};

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

/// Whether the byte after the number at `at` allows a timestamp, duration or rate.
pub(super) fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let len = digits(bytes, at);
    match bytes.get(at + len) {
        // The last two start the micro sign, in either of its encodings.
        Some(b':' | b'-' | b'/' | b' ' | b'.' | b'A'..=b'Z' | b'a'..=b'z' | 0xc2 | 0xce) => true,
        _ => is_epoch(len),
    }
}

/// Whether a number of this many digits may be a Unix timestamp.
fn is_epoch(digits: usize) -> bool {
    matches!(digits, 10 | 13 | 16 | 19)
}

/// End of a date, a time of day or an epoch that begins with the digit at `at`.
pub(super) fn timestamp(bytes: &[u8], at: usize) -> Option<usize> {
    iso(bytes, at)
        .or_else(|| time_of_day(bytes, at).map(|end| zone(bytes, end)))
        .or_else(|| hours_and_minutes(bytes, at))
        .or_else(|| day_first(bytes, at))
        .or_else(|| epoch(bytes, at))
}

/// End of a date that begins with the name of a day or month at `at`.
pub(super) fn calendar(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 3)?;
    if bytes.get(at + 3).is_some_and(|b| is_word(*b)) {
        return None;
    }
    if DAYS.contains(&word) {
        let mut next = at + 3;
        if bytes.get(next) == Some(&b',') {
            next += 1;
        }
        next = spaces(bytes, next, 2)?;
        return month_first(bytes, next).or_else(|| day_first(bytes, next));
    }
    month_first(bytes, at)
}

fn digits(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count()
}

fn value(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().fold(0, |sum: u64, b| sum.wrapping_mul(10).wrapping_add(u64::from(b - b'0')))
}

/// Exactly `len` digits at `at` with a value in the range.
fn field(bytes: &[u8], at: usize, len: usize, range: std::ops::RangeInclusive<u64>) -> Option<usize> {
    (digits(bytes, at) == len && range.contains(&value(bytes, at, len))).then_some(at + len)
}

fn spaces(bytes: &[u8], at: usize, most: usize) -> Option<usize> {
    let count = bytes.get(at..)?.iter().take(most).take_while(|b| **b == b' ').count();
    (count > 0).then_some(at + count)
}

fn word_ends(bytes: &[u8], at: usize) -> bool {
    !bytes.get(at).is_some_and(|b| is_word(*b))
}

/// `2024-05-01`, `2024/05/01`, with a time and a zone after `T` or a blank; `20240501T101112Z`.
fn iso(bytes: &[u8], at: usize) -> Option<usize> {
    if digits(bytes, at) == 8 && bytes.get(at + 8) == Some(&b'T') && digits(bytes, at + 9) == 6 {
        return Some(zone(bytes, at + 15));
    }
    let year = field(bytes, at, 4, 1970..=2200)?;
    let separator = *bytes.get(year).filter(|b| matches!(b, b'-' | b'/'))?;
    let month = field(bytes, year + 1, 2, 1..=12)?;
    let day = (bytes.get(month) == Some(&separator)).then(|| field(bytes, month + 1, 2, 1..=31)).flatten()?;
    let with_time = match bytes.get(day) {
        Some(b'T' | b't' | b' ' | b'_' | b'-') => time_of_day(bytes, day + 1).or_else(|| minutes(bytes, day + 1)),
        _ => None,
    };
    match with_time {
        Some(end) => Some(zone(bytes, end)),
        None => word_ends(bytes, day).then_some(day),
    }
}

/// `10:11:12`, with a fraction.
fn time_of_day(bytes: &[u8], at: usize) -> Option<usize> {
    let hour = digits(bytes, at);
    if !(1..=2).contains(&hour) || value(bytes, at, hour) > 24 {
        return None;
    }
    let minute = (bytes.get(at + hour) == Some(&b':')).then(|| field(bytes, at + hour + 1, 2, 0..=59)).flatten()?;
    let mut end = (bytes.get(minute) == Some(&b':')).then(|| field(bytes, minute + 1, 2, 0..=60)).flatten()?;
    if matches!(bytes.get(end), Some(b'.' | b',')) {
        let fraction = digits(bytes, end + 1);
        // In `6:03:03,6:03:04` the comma only separates.
        if fraction > 0 && bytes.get(end + 1 + fraction) != Some(&b':') {
            end += 1 + fraction;
        }
    }
    // `1:22:33:44` is not a time, and must not become one when its last part is replaced.
    let goes_on = bytes.get(end + 1).is_some_and(|b| b.is_ascii_digit() || *b == b'<');
    (bytes.get(end) != Some(&b':') || !goes_on).then_some(end)
}

/// `10:11`, only where nothing but a time is possible.
fn minutes(bytes: &[u8], at: usize) -> Option<usize> {
    let hour = field(bytes, at, 2, 0..=24)?;
    let end = (bytes.get(hour) == Some(&b':')).then(|| field(bytes, hour + 1, 2, 0..=59)).flatten()?;
    word_ends(bytes, end).then_some(end)
}

/// `[10:11]` and `9:05 PM`.
fn hours_and_minutes(bytes: &[u8], at: usize) -> Option<usize> {
    let hour = digits(bytes, at);
    if !(1..=2).contains(&hour) || bytes.get(at + hour) != Some(&b':') {
        return None;
    }
    let end = field(bytes, at + hour + 1, 2, 0..=59)?;
    if let Some(end) = half_of_day(bytes, end) {
        return Some(end);
    }
    (at > 0 && bytes[at - 1] == b'[' && bytes.get(end) == Some(&b']')).then_some(end)
}

fn half_of_day(bytes: &[u8], at: usize) -> Option<usize> {
    let next = if bytes.get(at) == Some(&b' ') { at + 1 } else { at };
    let half = bytes.get(next..next + 2)?;
    let fits = matches!(half, b"AM" | b"PM" | b"am" | b"pm") && word_ends(bytes, next + 2);
    fits.then_some(next + 2)
}

/// `Z`, `+02:00`, ` +0200`, ` UTC`, ` PM` after a time; `at` where there is none.
fn zone(bytes: &[u8], at: usize) -> usize {
    if let Some(end) = half_of_day(bytes, at) {
        return end;
    }
    if matches!(bytes.get(at), Some(b'Z' | b'z')) && word_ends(bytes, at + 1) {
        return at + 1;
    }
    let next = if bytes.get(at) == Some(&b' ') { at + 1 } else { at };
    if matches!(bytes.get(next), Some(b'+' | b'-')) {
        if digits(bytes, next + 1) == 4 {
            return next + 5;
        }
        if digits(bytes, next + 1) == 2 && bytes.get(next + 3) == Some(&b':') && digits(bytes, next + 4) == 2 {
            return next + 6;
        }
    }
    let (end, _) = word_end(bytes, next);
    if next > at
        && matches!(&bytes[next..end], b"UTC" | b"GMT" | b"CET" | b"CEST" | b"EST" | b"EDT" | b"PST" | b"PDT" | b"BST")
    {
        return end;
    }
    at
}

/// `Nov 18 23:47`, `Oct 24  2024`, `Dec 25 02:12:29 2025 +0000`, `Dec 25, 2025`.
fn month_first(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 3)?;
    if !MONTHS.contains(&word) || bytes.get(at + 3) != Some(&b' ') {
        return None;
    }
    let day = spaces(bytes, at + 3, 2)?;
    let len = digits(bytes, day);
    if !(1..=2).contains(&len) || value(bytes, day, len) > 31 {
        return None;
    }
    let mut next = day + len;
    if bytes.get(next) == Some(&b',') {
        next += 1;
    }
    let next = spaces(bytes, next, 2)?;
    if let Some(end) = field(bytes, next, 4, 1970..=2200).filter(|end| word_ends(bytes, *end)) {
        let with_time = spaces(bytes, end, 1).and_then(|next| time_of_day(bytes, next));
        return Some(with_time.map_or(end, |end| zone(bytes, end)));
    }
    let end = time_of_day(bytes, next).or_else(|| minutes(bytes, next))?;
    let with_year =
        spaces(bytes, end, 1).and_then(|next| field(bytes, next, 4, 1970..=2200)).filter(|end| word_ends(bytes, *end));
    Some(zone(bytes, with_year.unwrap_or(end)))
}

/// `25 Dec 2025 02:12:29 GMT`, `25/Dec/2025:02:12:29 +0000`.
fn day_first(bytes: &[u8], at: usize) -> Option<usize> {
    let len = digits(bytes, at);
    if !(1..=2).contains(&len) {
        return None;
    }
    let separator = *bytes.get(at + len).filter(|b| matches!(b, b' ' | b'/' | b'-'))?;
    let month = at + len + 1;
    if !MONTHS.contains(&bytes.get(month..month + 3)?) || bytes.get(month + 3) != Some(&separator) {
        return None;
    }
    let year = field(bytes, month + 4, 4, 1970..=2200)?;
    if matches!(bytes.get(year), Some(b' ' | b':'))
        && let Some(end) = time_of_day(bytes, year + 1)
    {
        return Some(zone(bytes, end));
    }
    word_ends(bytes, year).then_some(year)
}

/// Seconds, milli-, micro- or nanoseconds since 1970, from 2017 on.
fn epoch(bytes: &[u8], at: usize) -> Option<usize> {
    let len = digits(bytes, at);
    if !is_epoch(len) || bytes[at] != b'1' || !matches!(bytes[at + 1], b'5'..=b'9') {
        return None;
    }
    let mut end = at + len;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(bytes, end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    word_ends(bytes, end).then_some(end)
}

/// `12 ms`, `0.25s`, `3 minutes`, `1h2m3s`.
pub(super) fn duration(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = number_end(bytes, at);
    if bytes.get(end) == Some(&b' ') {
        let unit_end = unit(bytes, end + 1, true)?;
        return word_ends(bytes, unit_end).then_some(unit_end);
    }
    // Units may follow each other without spaces.
    loop {
        end = unit(bytes, end, false)?;
        if word_ends(bytes, end) {
            return Some(end);
        }
        let more = number_end(bytes, end);
        if more == end {
            return None;
        }
        end = more;
    }
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let whole = at + digits(bytes, at);
    if whole > at && bytes.get(whole) == Some(&b'.') {
        let fraction = digits(bytes, whole + 1);
        if fraction > 0 {
            return whole + 1 + fraction;
        }
    }
    whole
}

fn unit(bytes: &[u8], at: usize, apart: bool) -> Option<usize> {
    const LONG_UNITS: &[&str] = &[
        "milliseconds",
        "millisecond",
        "microseconds",
        "seconds",
        "second",
        "minutes",
        "minute",
        "hours",
        "hour",
        "secs",
        "sec",
        "mins",
        "min",
        "msec",
        "\u{b5}s",
        "\u{3bc}s",
        "ms",
        "us",
        "ns",
        "s",
    ];
    let rest = bytes.get(at..)?;
    if let Some(unit) = LONG_UNITS.iter().find(|unit| rest.starts_with(unit.as_bytes())) {
        return Some(at + unit.len());
    }
    // A single letter separated from its number could be anything.
    (!apart && matches!(rest.first(), Some(b'm' | b'h' | b'd'))).then_some(at + 1)
}

/// `1.2 MB/s`, `35.1it/s`.
pub(super) fn rate(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut end = number_end(bytes, at);
    if bytes.get(end) == Some(&b' ') {
        end += 1;
    }
    let letters = bytes.get(end..)?.iter().take(6).take_while(|b| b.is_ascii_alphabetic()).count();
    let end = end + letters;
    (letters > 0 && bytes.get(end..)?.starts_with(b"/s") && word_ends(bytes, end + 2)).then_some(end + 2)
}
