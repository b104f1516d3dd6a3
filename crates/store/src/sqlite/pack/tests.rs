use proptest::prelude::*;

use super::*;

fn event<'a>(identity: u64, at: i64, kind: &'static str, json: &'a str) -> NewEvent<'a> {
    let (identity, at, rules) = (Digest(identity), Time::from_millis(at), Digest(identity ^ 7));
    NewEvent { seq: 1, identity, at, kind, rules, json }
}

/// What stands in the columns, as it is read again.
fn opened(earlier: Option<Earlier<'_>>) -> Vec<u8> {
    let squeezed = earlier.and_then(|earlier| earlier.squeezed).map(|len| i64::try_from(len).unwrap());
    open(earlier.map(|earlier| earlier.bytes), squeezed).unwrap().into_owned()
}

proptest! {
    #[test]
    fn a_row_gives_back_what_went_into_it(
        given in prop::collection::vec((any::<u64>(), any::<i64>(), prop::sample::select(vec!["tick", "note", "é"]), ".{0,40}|(step ){90}"), 1..20)
    ) {
        let mut pack = Pack::default();
        for round in 0..2 {
            for (identity, at, kind, json) in &given {
                pack.push(&event(*identity, *at, kind, json));
            }
            prop_assert_eq!(pack.count(), given.len() as u64);
            let (last, earlier) = pack.row().unwrap();
            let earlier = opened(earlier);
            let mut all = unpack(&earlier).unwrap();
            all.push(last);
            let told: Vec<_> = all.iter().map(|e| (e.identity.0, e.at.millis(), e.kind, e.json.to_owned())).collect();
            prop_assert_eq!(&told, &given, "in round {}", round);
            prop_assert!(all.iter().all(|e| e.rules.0 == e.identity.0 ^ 7));
            pack.clear();
            prop_assert!(pack.row().is_none());
        }
    }

    #[test]
    fn whatever_stands_in_the_column_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let read = unpack(&bytes);
        prop_assert!(read.is_none_or(|events| events.len() == identities(&bytes).len()));
    }

    #[test]
    fn whatever_was_squeezed_is_opened_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), len in any::<i64>()) {
        for len in [len, len % 300] {
            let opened = open(Some(&bytes), Some(len));
            prop_assert!(opened.is_none_or(|opened| i64::try_from(opened.len()) == Ok(len)));
        }
    }
}

#[test]
fn a_column_that_was_cut_short_is_noticed() {
    let mut pack = Pack::default();
    for identity in 1..=3 {
        pack.push(&event(identity, 2, "tick", "{}"));
    }
    let whole = opened(pack.row().unwrap().1);
    let one = whole.len() / 2;
    for cut in (1..whole.len()).filter(|cut| *cut != one) {
        assert_eq!(unpack(&whole[..cut]), None, "{cut}");
        assert_eq!(identities(&whole[..cut]).len(), cut / one, "what is whole can still be told");
    }
}

#[test]
fn events_that_say_much_the_same_take_little_room() {
    let mut pack = Pack::default();
    let json: Vec<String> =
        (0..20).map(|n| format!(r#"{{"kind":"tool_called","call":"call_{n}","tool":"bash"}}"#)).collect();
    for json in &json {
        pack.push(&event(1, 2, "tool_called", json));
    }
    let (_, earlier) = pack.row().unwrap();
    let Earlier { bytes, squeezed } = earlier.unwrap();
    assert!(bytes.len() * 4 < squeezed.unwrap(), "{} of {squeezed:?}", bytes.len());
    // A figure or a byte that is wrong is noticed.
    let len = i64::try_from(squeezed.unwrap()).unwrap();
    for wrong in [len - 1, len + 1, -1, i64::MAX, 0] {
        assert_eq!(open(Some(bytes), Some(wrong)), None, "{wrong}");
    }
    assert_eq!(open(Some(&bytes[1..]), Some(len)), None);
    assert_eq!(open(Some(&bytes[..bytes.len() - 1]), Some(len)), None);
}

#[test]
fn rows_stay_of_a_size_that_can_be_read_for_one_event() {
    let fill = |json: &str| {
        let mut pack = Pack::default();
        while !pack.is_full() {
            pack.push(&event(1, 2, "tick", json));
        }
        pack.count()
    };
    assert_eq!(fill("{}"), MOST);
    assert_eq!(fill(&"x".repeat(ENOUGH)), 1, "a long one is alone");
}
