use super::*;

fn held(id: usize) -> CachedSession {
    let key = SessionKey::new("codex", id.to_string());
    CachedSession { id: SessionId(1), version: 1, snapshot: 0, listed: Timestamp::UNKNOWN, session: Session::new(key) }
}

#[test]
fn evicts_the_least_recently_used_and_stays_bounded() {
    for capacity in [1, 2, 7, 64] {
        let mut cache = SessionCache::new(capacity);
        for id in 0..500 {
            cache.put(held(id));
            assert!(cache.sessions.len() <= capacity);
            assert!(cache.peek(&held(id).session.key).is_some(), "{id} of {capacity}");
            let favourite = cache.take(&held(0).session.key).unwrap_or_else(|| held(0));
            cache.put(favourite);
        }
        let newest = (0..500).filter(|id| cache.peek(&held(*id).session.key).is_some()).count();
        assert_eq!(newest, capacity);
        assert!(cache.peek(&held(0).session.key).is_some());
    }
}
