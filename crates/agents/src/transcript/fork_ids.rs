//! Ids near the start of a file that identify copies of one conversation.

use std::path::Path;

use belay_core::Digest;
use memchr::memmem;

/// Maximum number of ids per file; a copy shares the first ones.
const MAX_IDS: usize = 64;

/// The hash of the session id at the end of a file name.
pub(crate) fn of_name(agent: &str, path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    let is_uuid = id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uuid.then(|| Digest::from_bytes(format!("session:{agent}:{id}")).0)
}

/// The hash of the first session id that a file states. Copies may have any name.
pub(crate) fn of_session_field(agent: &str, head: &[u8]) -> Vec<u64> {
    let ids = ["sessionId", "sessionID", "session_id"].into_iter().find_map(|field| first_session(agent, head, field));
    ids.into_iter().collect()
}

/// The hash of the session id that a field of this name has first.
pub(crate) fn first_session(agent: &str, head: &[u8], field: &str) -> Option<u64> {
    of_session_id(agent, str::from_utf8(values(head, field).next()?).ok()?)
}

/// The hash of a session id; `None` for one that is too short to be unique.
pub(crate) fn of_session_id(agent: &str, id: &str) -> Option<u64> {
    const MIN_ID_BYTES: usize = 8;
    (id.len() >= MIN_ID_BYTES).then(|| Digest::from_bytes(format!("session:{agent}:{id}")).0)
}

/// Hashes of the values of these fields.
pub(crate) fn of_fields(head: &[u8], fields: &[&str]) -> Vec<u64> {
    let mut ids = Vec::new();
    for value in fields.iter().flat_map(|field| values(head, field)) {
        ids.push(Digest::from_bytes(value).0);
        if ids.len() == MAX_IDS {
            return ids;
        }
    }
    ids
}

/// The texts that a field of this name has, in order.
fn values<'a>(head: &'a [u8], field: &str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
    let name = format!("\"{field}\"").into_bytes();
    let places: Vec<usize> = memmem::find_iter(head, &name).map(|at| at + name.len()).collect();
    places.into_iter().filter_map(move |at| {
        let rest = head[at..].trim_ascii_start().strip_prefix(b":")?;
        let value = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', &value[..value.len().min(128)])?;
        Some(&value[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_shares_ids_with_its_original() {
        let original = of_fields(br#"{"uuid":"a-1","x":1}"#, &["uuid"]);
        let copy = of_fields(br#"{"sessionId":"other", "uuid" : "a-1"}"#, &["uuid"]);
        assert_eq!(original, copy);
        assert_ne!(original, of_fields(br#"{"uuid":"b-2"}"#, &["uuid"]));
    }

    #[test]
    fn copies_under_other_names_share_the_id_of_their_session() {
        let head = br#"{"type":"session.start","sessionId":"s-0123-4567","id":"e1"}"#;
        assert_eq!(of_session_field("copilot", head).len(), 1);
        assert_eq!(of_session_field("copilot", head), of_session_field("copilot", br#"{"sessionId": "s-0123-4567"}"#));
        assert_ne!(of_session_field("copilot", head), of_session_field("gemini", head));
        assert_eq!(of_session_field("copilot", br#"{"sessionId":""}"#), Vec::<u64>::new(), "an empty id is none");
    }

    #[test]
    fn files_of_one_session_share_the_id_in_their_name() {
        let id = "972c35ba-da69-48f7-85ca-69d77b5f74a4";
        let one = of_name("codex", Path::new(&format!("rollout-2026-11-15T17-56-10-{id}.jsonl")));
        assert_eq!(one, of_name("codex", Path::new(&format!("copy/{id}.jsonl"))));
        assert!(one.is_some());
        assert_eq!(of_name("codex", Path::new("notes.jsonl")), None);
    }
}
