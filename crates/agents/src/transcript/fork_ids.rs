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
    is_uuid.then(|| Digest::of(format!("session:{agent}:{id}")).0)
}

/// Hashes of the values of these fields.
pub(crate) fn of_fields(head: &[u8], fields: &[&str]) -> Vec<u64> {
    let mut ids = Vec::new();
    for field in fields {
        let name = format!("\"{field}\"");
        for at in memmem::find_iter(head, name.as_bytes()) {
            let rest = head[at + name.len()..].trim_ascii_start();
            let value = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(b"\""));
            let Some(value) = value else { continue };
            let Some(end) = memchr::memchr(b'"', &value[..value.len().min(128)]) else { continue };
            ids.push(Digest::of(&value[..end]).0);
            if ids.len() == MAX_IDS {
                return ids;
            }
        }
    }
    ids
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
    fn files_of_one_session_share_the_id_in_their_name() {
        let id = "972c35ba-da69-48f7-85ca-69d77b5f74a4";
        let one = of_name("codex", Path::new(&format!("rollout-2026-11-15T17-56-10-{id}.jsonl")));
        assert_eq!(one, of_name("codex", Path::new(&format!("copy/{id}.jsonl"))));
        assert!(one.is_some());
        assert_eq!(of_name("codex", Path::new("notes.jsonl")), None);
    }
}
