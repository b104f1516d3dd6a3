//! Formatting and parsing of timestamps.

use proptest::prelude::*;

use super::*;

#[test]
fn a_time_is_written_in_rfc_3339() {
    assert_eq!(Timestamp::UNKNOWN.to_string(), "1970-01-01T00:00:00.000Z");
    assert_eq!(Timestamp::from_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
    assert_eq!(Timestamp::from_millis(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
    assert_eq!(
        serde_json::to_string(&Timestamp::from_millis(1_790_000_000_123)).unwrap(),
        "\"2026-09-21T14:13:20.123Z\""
    );
    assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), format!("{}ms", i64::MAX));
}

proptest! {
    #[test]
    fn every_timestamp_matches_the_calendar_and_round_trips(
        millis in prop_oneof![-62_167_219_200_000i64..253_402_300_000_000, -100_000_000_000i64..100_000_000_000],
    ) {
        let time = Timestamp::from_millis(millis);
        let stamp = jiff::Timestamp::from_millisecond(millis).unwrap();
        prop_assert_eq!(time.to_string(), format!("{stamp:.3}"));
        prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
    }
}
