use super::*;

#[test]
fn an_agent_is_found_by_id_and_alias_whatever_the_case() {
    assert_eq!(find("claude").map(|a| a.id), Some("claude-code"));
    assert_eq!(find("Claude-Code").map(|a| a.id), Some("claude-code"));
    assert_eq!(find("codex").map(|a| a.name), Some("Codex"));
    assert!(find("clippy").is_none());
}

#[test]
fn no_name_means_two_agents() {
    let mut names: Vec<&str> = AGENTS.iter().flat_map(|a| a.aliases.iter().copied().chain([a.id])).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn sessions_follow_the_agents_own_variables() {
    let dirs = UserDirs::with_home("/home/user");
    let claude = find("claude").expect("known");
    assert_eq!((claude.sessions)(&dirs)[0], Path::new("/home/user/.claude/projects"));
    let moved = UserDirs { lookup: |name| (name == "CODEX_HOME").then(|| "/data/codex".into()), ..dirs };
    let codex = find("codex").expect("known");
    assert_eq!((codex.sessions)(&moved)[0], Path::new("/data/codex/sessions"));
}
