//! Number formats that only the reports use; the others are in `belay_core::format`.

use belay_core::Timestamp;
use belay_core::effect::Spend;
use belay_core::format::{dollars, grouped};
use jiff::tz::TimeZone;

/// The cost of tokens; empty if the price is unknown.
pub(super) fn money_or_dash(micros: u64, tokens: u64) -> String {
    if micros == 0 && tokens > 0 { "?".to_owned() } else { dollars(micros) }
}

/// The price of what was spent. Tokens without a known price do not cost $0.
pub(super) fn money(spent: &Spend) -> String {
    if spent.cost_micros == 0 && spent.usage.total() > 0 { "unknown".to_owned() } else { dollars(spent.cost_micros) }
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

/// 2.2 %
pub(super) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "0 %".to_owned(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}

/// 2026-11-15
pub(super) fn day(at: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.millis()) {
        Ok(stamp) if at.is_known() => stamp.to_zoned(zone.clone()).date().to_string(),
        _ => "an unknown day".to_owned(),
    }
}

/// 2026-11-15 to 2026-11-17
pub(super) fn date_range(from: Timestamp, to: Timestamp, zone: &TimeZone) -> String {
    let (from, to) = (day(from, zone), day(to, zone));
    if from == to { from } else { format!("{from} to {to}") }
}

/// That transcripts report too little output.
pub(super) fn under_reported(responses: u64) -> String {
    let responses = match responses {
        1 => "one response reports".to_owned(),
        number => format!("{} responses report", grouped(number)),
    };
    format!("{responses} fewer output tokens than the text has: output and money are higher than shown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_is_marked() {
        assert_eq!([money_or_dash(0, 10), money_or_dash(0, 0), money_or_dash(50_000, 10)], ["?", "$0", "$0.05"]);
    }

    #[test]
    fn a_share_of_nothing_is_zero() {
        assert_eq!([percent(1, 3), percent(0, 0)], ["33.3 %", "0 %"]);
    }
}
