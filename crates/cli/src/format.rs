//! Times, counts and money as people say them.

use belay_core::Timestamp;

/// Now, in UTC.
pub(crate) fn now() -> Timestamp {
    use belay_engine::Clock;
    belay_engine::SystemClock::default().now()
}

/// How long ago, in the largest unit that fits.
pub(crate) fn relative_past(at: Timestamp, now: Timestamp) -> String {
    if !at.is_known() {
        return "-".to_owned();
    }
    let seconds = now.saturating_since(at).as_secs();
    match seconds {
        0..5 => "just now".to_owned(),
        5..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// How long from now.
pub(crate) fn relative_future(at: Timestamp, now: Timestamp) -> String {
    let seconds = at.saturating_since(now).as_secs();
    match seconds {
        0..60 => format!("in {seconds}s"),
        60..3600 => format!("in {}m", seconds / 60),
        _ => format!("in {}h", seconds / 3600),
    }
}

/// Local time of day with its date.
pub(crate) fn local_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.millis()) {
        Ok(stamp) if at.is_known() => {
            stamp.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        _ => "-".to_owned(),
    }
}

pub(crate) use belay_core::detect::tokens as count;

/// So many of something: one call, two calls.
pub(crate) fn pluralize(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Dollars and cents; a dash where the price is not known.
pub(crate) fn money(micros: u64) -> String {
    match micros {
        0 => "-".to_owned(),
        1..10_000 => "<$0.01".to_owned(),
        _ => format!("${:.2}", micros as f64 / 1e6),
    }
}

/// The end of a long path, which tells more than its beginning.
pub(crate) fn short_path(path: Option<&str>) -> String {
    let Some(path) = path else { return "-".to_owned() };
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let keep = parts.len().saturating_sub(2);
    parts.drain(..keep);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    #[test]
    fn one_of_a_kind_is_told_as_one() {
        assert_eq!([0, 1, 2].map(|number| pluralize(number, "call")), ["0 calls", "1 call", "2 calls"]);
    }
}
