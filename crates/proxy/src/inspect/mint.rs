//! What we mint ourselves: times and ids.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use belay_core::Timestamp;

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Ids that nobody else makes: the millisecond, a count within it, and what this process drew once. Drawing for each of
/// them would ask the system every time.
pub(super) fn new_id() -> String {
    static PROCESS_RANDOM: OnceLock<u64> = OnceLock::new();
    static COUNTER: AtomicU16 = AtomicU16::new(0);
    let mut tail = [0; 10];
    tail[..2].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    tail[2..].copy_from_slice(&PROCESS_RANDOM.get_or_init(|| uuid::Uuid::now_v7().as_u64_pair().1).to_be_bytes());
    let millis = u64::try_from(now().millis()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn no_id_is_given_twice() {
        let ids: HashSet<String> = (0..3000).map(|_| super::new_id()).collect();
        assert_eq!(ids.len(), 3000);
        assert!(ids.iter().all(|id| uuid::Uuid::parse_str(id).is_ok_and(|id| id.get_version_num() == 7)));
    }
}
