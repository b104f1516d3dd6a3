use proptest::prelude::*;

use super::*;

fn event<'a>(identity: u64, at: i64, kind: &'static str, json: &'a str) -> NewEvent<'a> {
    let (identity, at, rules) = (Digest(identity), Timestamp::from_millis(at), Digest(identity ^ 7));
    NewEvent { seq: 1, identity, at, kind, rules, json }
}

proptest! {
    #[test]
    fn a_row_gives_back_what_went_into_it(
        given in prop::collection::vec((any::<u64>(), any::<i64>(), prop::sample::select(vec!["tick", "note", "é"]), ".{0,40}"), 1..20)
    ) {
        let mut pack = Pack::default();
        for round in 0..2 {
            for (identity, at, kind, json) in &given {
                pack.push(&event(*identity, *at, kind, json));
            }
            prop_assert_eq!(pack.count(), given.len() as u64);
            let (last, earlier) = pack.row().unwrap();
            let mut all = earlier.map_or_else(Vec::new, |earlier| unpack(earlier).unwrap());
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
}

#[test]
fn a_column_that_was_cut_short_is_noticed() {
    let mut pack = Pack::default();
    for identity in 1..=3 {
        pack.push(&event(identity, 2, "tick", "{}"));
    }
    let whole = pack.row().unwrap().1.unwrap();
    let one = whole.len() / 2;
    for cut in (1..whole.len()).filter(|cut| *cut != one) {
        assert_eq!(unpack(&whole[..cut]), None, "{cut}");
        assert_eq!(identities(&whole[..cut]).len(), cut / one, "what is whole can still be told");
    }
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
