//! What reviewers and builders answer, and diffs: text that an agent chose.

use belay_review::Verdict;
use belay_review::diff::{ChangedLines, origin};
use belay_review::prompt::objections;
use belay_review::verdict::{Place, VerdictStatus};

/// A verdict is bounded, and never an approval that lists a defect.
pub(crate) fn verdict(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(verdict) = Verdict::parse(&text) {
        assert!(verdict.issues.len() <= 100);
        if verdict.status == VerdictStatus::Done {
            assert!(verdict.issues.iter().all(|issue| issue.severity == belay_review::Severity::Minor));
        }
        for place in verdict.issues.iter().filter_map(|issue| issue.place.as_ref()) {
            assert!(!place.file.starts_with('/') && !place.file.split('/').any(|part| part == ".."), "{place}");
        }
    }
    let unparsed = Verdict::unparsed(&text);
    assert!(unparsed.unparsed && unparsed.status == VerdictStatus::IssuesFound);
    assert!(objections(&text).iter().all(|(_, reason)| !reason.is_empty()));
}

/// A diff says where a line comes from, without an overflow.
pub(crate) fn diff(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let changes = ChangedLines::parse(&text);
    for file in changes.files().take(8) {
        for line in [None, Some(1), Some(u32::MAX)] {
            let place = Place { file: file.to_owned(), line };
            let _ = (changes.touches(&place), changes.before(&place));
            assert!(origin(&place, std::slice::from_ref(&changes)).is_none_or(|round| round == 1));
        }
    }
}
