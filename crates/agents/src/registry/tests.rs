use std::path::Path;

use super::*;

#[test]
fn find_ignores_case_and_accepts_aliases() {
    assert_eq!(find("claude").map(|a| a.id), Some("claude-code"));
    assert_eq!(find("Claude-Code").map(|a| a.id), Some("claude-code"));
    assert_eq!(find("codex").map(|a| a.display_name), Some("Codex"));
    assert!(find("clippy").is_none());
    assert_eq!((canonical_id("Claude"), canonical_id("clippy")), ("claude-code", "clippy"));
}

#[test]
fn transcript_roots_follow_the_agents_environment_variables() {
    let dirs = UserDirs::with_home("/home/user");
    let claude = find("claude").expect("known");
    assert_eq!(claude.transcript_roots(&dirs)[0], Path::new("/home/user/.claude/projects"));
    let moved = UserDirs { lookup: |name| (name == "CODEX_HOME").then(|| "/data/codex".into()), ..dirs };
    let codex = find("codex").expect("known");
    assert_eq!(codex.transcript_roots(&moved)[0], Path::new("/data/codex/sessions"));
}
