//! Values with units.

use belay_config::{ByteSize, DurationSetting};
use proptest::prelude::*;

proptest! {
    #[test]
    fn spans_read_back(millis in 0u64..10_000_000_000) {
        let span = DurationSetting::new(std::time::Duration::from_millis(millis));
        prop_assert_eq!(span.to_string().parse::<DurationSetting>().unwrap(), span);
    }

    #[test]
    fn sizes_read_back(bytes in any::<u64>()) {
        let size = ByteSize::from_bytes(bytes);
        prop_assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
    }

    #[test]
    fn nonsense_is_refused_not_panicked_on(text in "\\PC{0,12}") {
        let _ = text.parse::<DurationSetting>();
        let _ = text.parse::<ByteSize>();
        let _ = text.parse::<belay_config::ListenAddr>();
    }
}

#[test]
fn people_write_them_in_many_ways() {
    assert_eq!("2GiB".parse::<ByteSize>().unwrap().get(), Some(2 << 30));
    assert_eq!("5 MB".parse::<ByteSize>().unwrap().get(), Some(5_000_000));
    assert_eq!("unlimited".parse::<ByteSize>().unwrap().get(), None);
    assert_eq!("never".parse::<DurationSetting>().unwrap(), DurationSetting::NEVER);
    assert_eq!("localhost:80".parse::<belay_config::ListenAddr>().unwrap().to_string(), "127.0.0.1:80");
    for wrong in ["", "5", "m", "5x", "-5m", "99999999999999999999d"] {
        assert!(wrong.parse::<DurationSetting>().is_err(), "{wrong}");
    }
}
