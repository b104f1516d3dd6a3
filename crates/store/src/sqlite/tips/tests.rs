use super::*;

const SESSION: SessionId = SessionId(1);

fn identities(range: std::ops::Range<u32>) -> Vec<Digest> {
    range.map(|n| Digest::of(n.to_le_bytes())).collect()
}

#[test]
fn what_was_filed_is_never_called_new_and_nearly_all_else_is() {
    let mut tips = Tips::default();
    for seq in 0..=u64::from(IN_A_ROW) {
        assert!(!tips.wants_filter(SESSION) && !tips.is_new(SESSION, Digest(7)), "nothing is known yet: {seq}");
        tips.set(SESSION, seq, 1, true, None);
    }
    assert!(tips.wants_filter(SESSION));
    tips.learn(SESSION, &identities(0..900), Vec::new());
    identities(900..1000).into_iter().for_each(|identity| tips.add(SESSION, identity));
    tips.set(SESSION, 1100, 1100, true, None);
    assert!(identities(0..1000).iter().all(|identity| !tips.is_new(SESSION, *identity)));
    let called_new = identities(1000..11_000).iter().filter(|identity| tips.is_new(SESSION, **identity)).count();
    assert!(called_new > 9_995, "{called_new}");
}

#[test]
fn where_another_process_wrote_nothing_is_known_any_more() {
    let mut tips = Tips::default();
    tips.set(SESSION, 5, 50, true, None);
    tips.learn(SESSION, &identities(0..5), Vec::new());
    assert_eq!((tips.before(SESSION, 6), tips.before(SESSION, 8)), (Some(50), None));
    tips.set(SESSION, 8, 80, false, None);
    assert!(!tips.wants_filter(SESSION) && !tips.is_new(SESSION, Digest(7)));
}

#[test]
fn a_filter_that_has_become_too_small_is_made_anew_and_larger() {
    let mut tips = Tips::default();
    for seq in 0..=u64::from(IN_A_ROW) {
        tips.set(SESSION, seq, 1, true, None);
    }
    tips.learn(SESSION, &identities(0..5), Vec::new());
    identities(5..3000).into_iter().for_each(|identity| tips.add(SESSION, identity));
    assert!(!tips.wants_filter(SESSION), "until the transaction is over");
    tips.set(SESSION, 3000, 3000, true, None);
    assert!(tips.wants_filter(SESSION));
    tips.learn(SESSION, &identities(0..3000), Vec::new());
    tips.set(SESSION, 3001, 3001, true, None);
    assert!(identities(0..3000).iter().all(|identity| !tips.is_new(SESSION, *identity)));
    let called_new = identities(3000..13_000).iter().filter(|identity| tips.is_new(SESSION, **identity)).count();
    assert!(called_new > 9_995, "{called_new}");
}
