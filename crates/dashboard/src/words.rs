//! Numbers, money and times in the dashboard's words.

use belay_core::{Timestamp, format};
use jiff::Zoned;
use jiff::tz::TimeZone;

pub(crate) use belay_agents::display_name;
pub(crate) use belay_core::format::{capitalized, dollars, duration, grouped, list_of, pluralize, sentence};

/// "950", "214 k", "18.5 M"
pub(crate) fn tokens(number: u64) -> String {
    let compact = format::compact(number);
    match compact.find(|c: char| c.is_ascii_alphabetic()) {
        Some(unit) => format!("{} {}", &compact[..unit], &compact[unit..]),
        None => compact,
    }
}

/// "512 B", "14 KB", "2.1 MB"
pub(crate) fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{} KB", number / 1_000),
        _ => format!("{:.1} MB", number as f64 / 1e6),
    }
}

/// "$15", "$2.50": an amount that a person chose, without empty cents.
pub(crate) fn round_dollars(micros: u64) -> String {
    let text = dollars(micros);
    text.strip_suffix(".00").map(str::to_owned).unwrap_or(text)
}

/// "$1.20", or "about $3.40" if a part of it has no known price.
pub(crate) fn cost(micros: u64, unpriced_micros: u64) -> String {
    match unpriced_micros {
        0 => dollars(micros),
        _ => format!("about {}", dollars(micros.saturating_add(unpriced_micros))),
    }
}

/// The time in a zone; `None` outside the calendar.
pub(crate) fn local(at: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    Some(jiff::Timestamp::from_millisecond(at.millis()).ok()?.to_zoned(zone.clone()))
}

/// "13:30:57"
pub(crate) fn clock_seconds(at: Timestamp, zone: &TimeZone) -> String {
    local(at, zone).map(|at| at.strftime("%H:%M:%S").to_string()).unwrap_or_default()
}

/// "13:30"
pub(crate) fn clock(at: Timestamp, zone: &TimeZone) -> String {
    local(at, zone).map(|at| at.strftime("%H:%M").to_string()).unwrap_or_default()
}

/// "13:30" today, "Thu 09:00" within a week, "Nov 2", "2025-11-02".
pub(crate) fn moment(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (Some(then), Some(today)) = (local(at, zone), local(now, zone)) else { return String::new() };
    let days = (then.date() - today.date()).get_days();
    let format = match days {
        0 => "%H:%M",
        -6..=6 => "%a %H:%M",
        _ if then.year() == today.year() => "%b %-d",
        _ => "%Y-%m-%d",
    };
    then.strftime(format).to_string()
}

/// What a call does, without the lines that an edit replaces: `Edit src/cart.ts`.
pub(crate) fn action(what: &str) -> &str {
    let Some((action, lines)) = what.split_once(" --- ") else { return what };
    // Commands also contain dashes, and are shown in full. The new lines of an edit may be cut off.
    let names_file = action.split_once(' ').is_some_and(|(_, path)| path.contains(['/', '\\', '.']));
    let is_edit = names_file && (lines.contains(" +++ ") || lines.ends_with('…'));
    if is_edit { action } else { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_an_edit_are_left_out() {
        assert_eq!(action("Edit src/cart.ts --- let a = 1; +++ let a = 2;"), "Edit src/cart.ts");
        assert_eq!(action("Edit src/cart.ts --- let total = items.redu…"), "Edit src/cart.ts");
        for command in ["echo --- && rm -rf build", "cat a.txt --- && rm -rf build", "echo --- && echo +++ && ls"] {
            assert_eq!(action(command), command);
        }
    }

    #[test]
    fn amounts_are_short() {
        assert_eq!([950, 214_000, 18_500_000].map(tokens), ["950", "214 k", "18.5 M"]);
        assert_eq!([0, 4_000, 40_000, 9_370_000].map(dollars), ["$0", "<$0.01", "$0.04", "$9.37"]);
        assert_eq!([15_000_000, 2_500_000].map(round_dollars), ["$15", "$2.50"]);
        assert_eq!(cost(1_000_000, 500_000), "about $1.50");
    }

    #[test]
    fn a_moment_is_a_time_today_and_a_date_before() {
        let now = Timestamp::parse("2026-11-18T13:53:00Z").unwrap();
        let of = |text: &str| moment(Timestamp::parse(text).unwrap(), now, &TimeZone::UTC);
        assert_eq!(of("2026-11-18T00:10:00Z"), "00:10");
        assert_eq!(of("2026-11-19T09:00:00Z"), "Thu 09:00");
        assert_eq!(of("2026-11-02T09:00:00Z"), "Nov 2");
        assert_eq!(of("2025-11-02T09:00:00Z"), "2025-11-02");
    }
}
