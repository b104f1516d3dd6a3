use super::*;

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, text).expect("written");
}

const CLAUDE: &str = "{\"type\":\"user\",\"isSidechain\":false,\"sessionId\":\"s\",\"message\":{}}\n";
const CODEX: &str = "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"t\"}}\n";

#[test]
fn every_agent_of_the_user_is_found_by_its_own_dirs() {
    let home = tempfile::tempdir().expect("a temporary directory");
    write(home.path().join(".claude/projects/-p/one.jsonl"), CLAUDE);
    write(home.path().join(".claude/projects/-p/one/subagents/agent-a.jsonl"), CLAUDE);
    write(home.path().join(".claude/projects/-p/one/subagents/agent-a.meta.json"), "{}");
    write(home.path().join(".codex/sessions/2026/01/01/rollout-x.jsonl"), CODEX);
    write(home.path().join("elsewhere/rollout-y.jsonl"), CODEX);
    let place = SearchScope::User { dirs: UserDirs::with_home(home.path()), here: home.path().to_owned() };
    let agents =
        |only: SearchFilter| -> Vec<&str> { find(&place, only).sources.iter().map(|s| s.format.agent()).collect() };
    assert_eq!(agents(SearchFilter::default()), ["claude-code", "claude-code", "codex"]);
    assert_eq!(agents(SearchFilter { agent: Some("codex"), ..SearchFilter::default() }), ["codex"]);
    let far_future = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(u32::MAX));
    assert!(agents(SearchFilter { since: Some(far_future), ..SearchFilter::default() }).is_empty());
}

#[cfg(unix)]
#[test]
fn a_file_reached_twice_is_one_file_and_a_link_in_a_circle_ends() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    write(dir.path().join("a/one.jsonl"), CLAUDE);
    std::os::unix::fs::symlink(dir.path(), dir.path().join("a/up")).expect("linked");
    let paths = vec![dir.path().to_owned(), dir.path().join("a/one.jsonl")];
    assert_eq!(find(&SearchScope::Paths(paths), SearchFilter::default()).sources.len(), 1);
}

#[test]
fn in_a_named_dir_content_decides_and_what_is_left_out_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    write(dir.path().join("copied.txt"), CODEX);
    write(dir.path().join("without_extension"), CLAUDE);
    write(dir.path().join("package.json"), "{\"name\": \"shop\"}");
    for n in 0..7 {
        write(dir.path().join(format!("metrics{n}.jsonl")), "{\"cpu\": 1}\n");
    }
    let found = find(&SearchScope::Paths(vec![dir.path().to_owned()]), SearchFilter::default());
    let agents: Vec<&str> = found.sources.iter().map(|source| source.format.agent()).collect();
    assert_eq!(agents, ["codex", "claude-code"]);
    assert_eq!((found.left_out_count, found.left_out.len()), (7, MAX_LEFT_OUT));
    assert!(found.left_out.iter().all(|path| path.extension().is_some_and(|ext| ext == "jsonl")));
}
