//! Numbers, money and time as people write them.

use std::time::Duration;

use belay_core::Timestamp;
pub(super) use belay_core::detect::tokens;
use jiff::tz::TimeZone;

/// 18,204
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// $1,204.18
pub(super) fn money(micros: u64) -> String {
    match micros {
        0 => "$0".to_owned(),
        1..10_000 => "<$0.01".to_owned(),
        _ => {
            let cents = (micros + 5_000) / 10_000;
            format!("${}.{:02}", count(cents / 100), cents % 100)
        }
    }
}

/// The price of so many tokens; nothing is claimed where it is not known.
pub(super) fn money_or_dash(micros: u64, tokens: u64) -> String {
    if micros == 0 && tokens > 0 { "?".to_owned() } else { money(micros) }
}

/// 1.2 GB
pub(super) fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} bytes"),
        1_000..1_000_000 => format!("{:.0} kB", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", number as f64 / 1e6),
        _ => format!("{:.1} GB", number as f64 / 1e9),
    }
}

/// 3 min, 4.6 h
pub(super) fn time(millis: u64) -> String {
    let seconds = Duration::from_millis(millis).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{:.1} h", seconds as f64 / 3_600.0),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// 2.2 %
pub(super) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "0 %".to_owned(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}

/// 1 loop, 2 loops
pub(super) fn pluralize(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// 2026-11-15
pub(super) fn day(at: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.millis()) {
        Ok(stamp) if at.is_known() => stamp.to_zoned(zone.clone()).date().to_string(),
        _ => "an unknown day".to_owned(),
    }
}

/// 2026-11-15 to 2026-11-17
pub(super) fn duration(from: Timestamp, to: Timestamp, zone: &TimeZone) -> String {
    let (from, to) = (day(from, zone), day(to, zone));
    if from == to { from } else { format!("{from} to {to}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([count(0), count(999), count(1_000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([tokens(950), tokens(12_345), tokens(4_500_000)], ["950", "12.3k", "4.5M"]);
        assert_eq!([money(0), money(9_000), money(1_204_184_000)], ["$0", "<$0.01", "$1,204.18"]);
        assert_eq!([money_or_dash(0, 10), money_or_dash(0, 0), money_or_dash(50_000, 10)], ["?", "$0", "$0.05"]);
        assert_eq!([time(59_000), time(600_000), time(16_560_000)], ["59 s", "10 min", "4.6 h"]);
        assert_eq!([percent(1, 3), percent(0, 0)], ["33.3 %", "0 %"]);
        assert_eq!([pluralize(1, "loop"), pluralize(1_200, "loop")], ["1 loop", "1,200 loops"]);
    }
}
