//! Times and paths as the commands print them; numbers and money are in `belay_core::format`.

use belay_core::{Timestamp, format};

/// Time since `at` in its largest unit, such as `5m ago`.
pub(crate) fn relative_past(at: Timestamp, now: Timestamp) -> String {
    if !at.is_known() {
        return "-".to_owned();
    }
    format::ago(now.saturating_since(at))
}

/// Time until `at` in its largest unit, such as `in 5m`.
pub(crate) fn relative_future(at: Timestamp, now: Timestamp) -> String {
    format::from_now(at.saturating_since(now))
}

/// Date and time in the local time zone.
pub(crate) fn local_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.millis()) {
        Ok(stamp) if at.is_known() => {
            stamp.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        _ => "-".to_owned(),
    }
}

/// The last two components of a path.
pub(crate) fn short_path(path: Option<&str>) -> String {
    let Some(path) = path else { return "-".to_owned() };
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let keep = parts.len().saturating_sub(2);
    parts.drain(..keep);
    parts.join("/")
}
