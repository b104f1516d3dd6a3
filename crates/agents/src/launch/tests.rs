use super::*;

/// A launch in a temporary home, formatted with one line per argument and variable.
fn shown(agent: &str, files: &[(&str, &str)], lookup: fn(&str) -> Option<OsString>, args: &[&str]) -> String {
    let home = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let user = UserDirs { home: home.path().to_path_buf(), lookup };
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let context = LaunchContext {
        proxy: Some("http://127.0.0.1:8787/"),
        agent,
        run: "0190-run",
        belay: Some(&BelayCommand::new("/usr/bin/belay")),
        user: &user,
        args: &args,
        dir: &home.path().join("project"),
        scratch: Path::new("/state/runs/0190-run"),
    };
    let launch = launch(&context);
    let mut lines: Vec<String> = launch.args.iter().map(|arg| format!("arg {}", arg.to_string_lossy())).collect();
    lines.extend(launch.env.iter().map(|(name, value)| format!("env {name}={value}")));
    lines.extend(
        launch
            .files
            .iter()
            .map(|(path, content)| format!("file {}: {}", path.display(), content.lines().next().unwrap_or_default())),
    );
    lines.extend(launch.session.iter().map(|session| format!("session {session}")));
    lines.extend(launch.upstreams.iter().map(|(name, url)| format!("upstream {name} {url}")));
    lines.extend(launch.notes.iter().map(|note| format!("note {note}")));
    lines.join("\n")
}

/// The dialog that a start in the project shows first.
fn dialog(agent: &str, file: (&str, &str), lookup: fn(&str) -> Option<OsString>, args: &[&str]) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let (path, content) = (home.path().join(file.0), file.1.replace("{home}", &home.path().display().to_string()));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    let user = UserDirs { home: home.path().to_path_buf(), lookup };
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let context = LaunchContext {
        proxy: None,
        agent,
        run: "0190-run",
        belay: None,
        user: &user,
        args: &args,
        dir: &home.path().join("project"),
        scratch: Path::new("/state/runs/0190-run"),
    };
    launch(&context).dialog.map(|text| text.replace(&home.path().display().to_string(), "~"))
}

#[test]
fn the_first_dialog_of_claude_code_is_known_from_its_state_file() {
    let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-ant-0123456789abcdefghij".into());
    let of = |state: &str, lookup: fn(&str) -> Option<OsString>, args: &[&str]| {
        dialog("claude-code", (".claude.json", state), lookup, args)
    };
    assert!(of("{}", nothing, &[]).unwrap().contains("login"));
    let trusts = |dir: &str| {
        format!(r#"{{"hasCompletedOnboarding":true,"projects":{{"{dir}":{{"hasTrustDialogAccepted":true}}}}}}"#)
    };
    assert_eq!(of(&trusts("/elsewhere"), nothing, &[]).unwrap(), "does Claude Code trust ~/project?");
    assert_eq!(of(&trusts("/elsewhere"), nothing, &["-p", "Fix it"]), None, "without a terminal it asks nothing");
    assert_eq!(of(&trusts("{home}/project"), nothing, &[]), None);
    assert_eq!(of(&trusts("{home}"), nothing, &[]), None, "a directory above it");
    assert!(of(&trusts("{home}"), key, &[]).unwrap().contains("ANTHROPIC_API_KEY"));
    let answers = r#""customApiKeyResponses":{"approved":["0123456789abcdefghij"]},"projects""#;
    assert_eq!(of(&trusts("{home}").replace(r#""projects""#, answers), key, &[]), None);
    assert_eq!(of("not JSON", nothing, &[]), None, "unknown");
}

#[test]
fn the_trust_dialog_of_gemini_cli_is_known_from_its_files() {
    let dirs = |rules: &str, args: &[&str]| dialog("gemini-cli", (".gemini/trustedFolders.json", rules), nothing, args);
    assert_eq!(dirs("{}", &[]).unwrap(), "does Gemini CLI trust ~/project?");
    assert_eq!(dirs("{}", &["--skip-trust"]), None);
    assert_eq!(dirs(r#"{"{home}":"TRUST_FOLDER"}"#, &[]), None);
    assert_eq!(dirs(r#"{"{home}/other":"TRUST_PARENT"}"#, &[]), None);
    assert_eq!(dirs(r#"{"{home}/project":"DO_NOT_TRUST"}"#, &[]), None, "it was answered");
    assert!(dirs(r#"{"{home}":"DO_NOT_TRUST"}"#, &[]).is_some());
    let off = r#"{"security":{"folderTrust":{"enabled":false}}}"#;
    assert_eq!(dialog("gemini-cli", (".gemini/settings.json", off), nothing, &[]), None);
}

fn nothing(_: &str) -> Option<OsString> {
    None
}

#[test]
fn claude_code() {
    insta::assert_snapshot!(shown("claude-code", &[], nothing, &["-p", "Fix it"]));
}

#[test]
fn claude_code_that_takes_up_a_session_keeps_it() {
    let shown = shown("claude-code", &[], nothing, &["--continue"]);
    assert!(!shown.contains("--session-id") && !shown.contains("session claude-code"), "{shown}");
}

#[test]
fn a_gateway_of_the_users_own_stays_the_one_that_is_asked() {
    let lookup = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "https://llm.corp/anthropic".into());
    let shown = shown("claude-code", &[], lookup, &[]);
    assert!(shown.contains("upstream anthropic https://llm.corp/anthropic"), "{shown}");
    assert!(shown.contains("env ANTHROPIC_BASE_URL=http://127.0.0.1:8787/s/claude-code:0190-run/anthropic"), "{shown}");
}

#[test]
fn a_gateway_in_claudes_settings_stays_the_one_that_is_asked() {
    let user = |url: &str| format!(r#"{{"env":{{"ANTHROPIC_BASE_URL":"{url}","ANTHROPIC_AUTH_TOKEN":"t"}}}}"#);
    let (own, project) = (user("https://user.corp"), user("https://project.corp"));
    let own = (".claude/settings.json", own.as_str());
    let project = ("project/.claude/settings.local.json", project.as_str());
    let typed = user("https://typed.corp");
    let environment = |name: &str| (name == "ANTHROPIC_BASE_URL").then(|| "https://environment.corp".into());
    for (files, args, asked) in [
        (&[][..], &[][..], "https://environment.corp"),
        (&[own], &[], "https://user.corp"),
        (&[own, project], &["--settings", &typed], "https://typed.corp"),
        (&[own, project], &["--setting-sources", "user"], "https://user.corp"),
    ] {
        let shown = shown("claude-code", files, environment, args);
        assert!(shown.contains(&format!("upstream anthropic {asked}\n")) || shown.ends_with(asked), "{asked}: {shown}");
        assert!(shown.contains(r#""ANTHROPIC_BASE_URL":"http://127.0.0.1:8787/s/"#), "{shown}");
    }
    let bedrock = (".claude/settings.json", r#"{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}"#);
    assert!(shown("claude-code", &[bedrock], nothing, &[]).contains("note CLAUDE_CODE_USE_BEDROCK is set"));
}

/// Claude Code asks whether a project is trusted before it applies its settings. A key that it sent before that would
/// go to a host that an untrusted repository names.
#[test]
fn no_key_goes_where_a_project_of_claudes_says() {
    let names = r#"{"env":{"ANTHROPIC_BASE_URL":"https://evil.example"}}"#;
    for file in ["project/.claude/settings.json", "project/.claude/settings.local.json"] {
        let own = (".claude/settings.json", r#"{"env":{"ANTHROPIC_BASE_URL":"https://user.corp"}}"#);
        let shown = shown("claude-code", &[own, (file, names)], nothing, &[]);
        assert!(!shown.contains("upstream") && !shown.contains("evil.example"), "{shown}");
        assert!(!shown.contains("127.0.0.1:8787") && shown.contains("do not pass the proxy"), "{shown}");
        assert!(shown.contains("belay hook"), "hooks watch all the same: {shown}");
    }
    // A home directory that is a work tree still belongs to the user.
    let home = shown("claude-code", &[(".git/HEAD", ""), (".claude/settings.local.json", names)], nothing, &[]);
    assert!(home.contains("upstream anthropic https://evil.example"), "{home}");
}

#[test]
fn settings_for_claude_that_were_typed_go_along_with_ours() {
    let own = r#"{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"bell"}]}]}}"#;
    for args in [
        &["--settings", "own.json", "-p", "x"][..],
        &["--settings=own.json", "-p", "x"],
        &["--settings", "{}", "--settings", own, "-p", "x"],
    ] {
        let shown = shown("claude-code", &[("project/own.json", own)], nothing, args);
        let settings: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("arg {")).collect();
        let [settings] = settings.as_slice() else { panic!("one set of settings: {shown}") };
        assert!(settings.contains(r#""model":"opus""#), "{settings}");
        assert!(
            settings.contains(r#""Stop":[{"hooks":[{"command":"bell""#) && settings.contains("belay hook"),
            "{settings}"
        );
        assert_eq!(shown.matches("arg --settings").count(), 1, "{shown}");
        assert!(shown.contains("arg -p\narg x\n"), "{shown}");
    }
    let broken = shown("claude-code", &[("project/own.json", "{")], nothing, &["--settings", "own.json"]);
    assert!(broken.contains("arg --settings\narg own.json"), "Claude Code is the one to say so: {broken}");
}

/// Base URLs as set by an outer run.
fn within(name: &str) -> Option<OsString> {
    let base = "http://127.0.0.1:8787/s/claude-code:0189-outer";
    match name {
        "ANTHROPIC_BASE_URL" => Some(format!("{base}/anthropic").into()),
        "OPENAI_BASE_URL" => Some(format!("{base}/openai").into()),
        "GOOGLE_GEMINI_BASE_URL" => Some(format!("{base}/gemini").into()),
        "BELAY_UPSTREAMS" => Some(r#"{"anthropic":"https://llm.corp/a","openai":"https://llm.corp/v1"}"#.into()),
        _ => None,
    }
}

#[test]
fn a_run_within_a_run_asks_whom_the_outer_one_asks() {
    for agent in ["claude-code", "codex", "qwen", "aider"] {
        let shown = shown(agent, &[], within, &[]);
        let (name, asked) = match agent {
            "claude-code" => ("anthropic", "https://llm.corp/a"),
            _ => ("openai", "https://llm.corp/v1"),
        };
        assert!(shown.contains(&format!("upstream {name} {asked}")), "{agent}: {shown}");
        assert!(!shown.contains("0189-outer"), "{agent}: {shown}");
        let noted = r#"env BELAY_UPSTREAMS={"anthropic":"https://llm.corp/a","openai":"https://llm.corp/v1"}"#;
        assert!(shown.contains(noted), "{agent}: {shown}");
    }
    let usual = shown("gemini", &[], within, &[]);
    assert!(!usual.contains("upstream gemini"), "the outer one asks the usual one: {usual}");
}

#[test]
fn requests_to_us_do_not_go_through_a_companys_gateway() {
    let lookup = |name: &str| match name {
        "HTTPS_PROXY" => Some("http://proxy.corp:3128".into()),
        "no_proxy" => Some("internal.corp,.lan".into()),
        _ => None,
    };
    let straight = shown("codex", &[], lookup, &[]);
    for variable in ["NO_PROXY", "no_proxy"] {
        assert!(straight.contains(&format!("env {variable}=internal.corp,.lan,127.0.0.1")), "{straight}");
    }
    assert!(!shown("codex", &[], nothing, &[]).contains("NO_PROXY"), "where there is none, nothing is set");
}

#[test]
fn codex() {
    insta::assert_snapshot!(shown("codex", &[], nothing, &["exec", "Fix it"]));
}

#[test]
fn codex_with_a_provider_of_the_users_own() {
    let config = "model_provider = \"corp\"\n[model_providers.corp]\nbase_url = \"https://llm.corp/v1\"\n";
    let shown = shown("codex", &[(".codex/config.toml", config)], nothing, &["exec"]);
    assert!(shown.contains("model_providers.corp.base_url=\"http://127.0.0.1:8787/s/codex:0190-run/corp\""), "{shown}");
    assert!(shown.contains("upstream corp https://llm.corp/v1"), "{shown}");
    assert!(!shown.contains("openai_base_url"), "{shown}");
}

#[test]
fn codex_with_a_profile_asks_whom_the_profile_names() {
    let config = "openai_base_url = \"https://usual.corp/v1\"\n";
    let provider = "model_provider = \"corp\"\n[model_providers.corp]\nbase_url = \"https://llm.corp/v1\"\n";
    let files = [
        (".codex/config.toml", config),
        (".codex/work.config.toml", provider),
        (".codex/play.config.toml", "openai_base_url = \"https://play.corp/v1\"\n"),
    ];
    for (args, asked) in [
        (&["exec"][..], "upstream openai https://usual.corp/v1"),
        (&["exec", "-p", "work"], "upstream corp https://llm.corp/v1"),
        (&["--profile=play", "exec"], "upstream openai https://play.corp/v1"),
    ] {
        let shown = shown("codex", &files, nothing, args);
        assert!(shown.contains(asked), "{args:?}: {shown}");
    }
}

#[test]
fn codex_with_a_provider_given_on_the_command_line() {
    let args = ["exec", "-c", "model_provider=x", "-c", "model_providers.x.base_url=\"http://127.0.0.1:1/v1\""];
    let shown = shown("codex", &[], nothing, &args);
    assert!(shown.contains("upstream x http://127.0.0.1:1/v1"), "{shown}");
}

#[test]
fn gemini() {
    insta::assert_snapshot!(shown("gemini", &[], nothing, &["-p", "Fix it"]));
}

#[test]
fn copilot() {
    let lookup = |name: &str| (name == "COPILOT_PROVIDER_BASE_URL").then(|| "http://127.0.0.1:11434/v1".into());
    insta::assert_snapshot!(shown("copilot", &[], lookup, &["-p", "Fix it"]));
}

#[test]
fn copilot_with_githubs_models_is_watched_by_hooks() {
    let shown = shown("copilot", &[], nothing, &[]);
    assert!(shown.contains("note Copilot uses GitHub's models"), "{shown}");
    assert!(!shown.contains("COPILOT_PROVIDER_BASE_URL"), "{shown}");
}

#[test]
fn opencode() {
    let config = r#"{"provider":{"mine":{"options":{"baseURL":"{env:MY_URL}/v1"}}}}"#;
    let lookup = |name: &str| (name == "MY_URL").then(|| "https://llm.corp".into());
    insta::assert_snapshot!(shown(
        "opencode",
        &[(".config/opencode/opencode.json", config)],
        lookup,
        &["run", "Fix it"]
    ));
}

#[test]
fn a_gateway_in_opencodes_files_stays_the_one_that_is_asked() {
    let config = |url: &str| {
        format!(
            "{{\n  // Ours.\n  \"provider\": {{ \"anthropic\": {{ \"options\": {{ \"baseURL\": \"{url}\" }} }} }},\n}}"
        )
    };
    let (root, here) = (config("https://root.corp/v1"), config("https://here.corp/v1"));
    let (git, root) = ((".git/HEAD", ""), ("opencode.jsonc", root.as_str()));
    let above = shown("opencode", &[git, root], nothing, &[]);
    assert!(above.contains("upstream anthropic https://root.corp/v1"), "{above}");
    let nearest = shown("opencode", &[git, root, ("project/opencode.jsonc", &here)], nothing, &[]);
    assert!(nearest.contains("upstream anthropic https://here.corp/v1"), "{nearest}");
}

#[test]
fn a_gateway_in_a_file_of_variables_stays_the_one_that_is_asked() {
    for (agent, dir, variable, name) in
        [("gemini", ".gemini", "GOOGLE_GEMINI_BASE_URL", "gemini"), ("qwen", ".qwen", "OPENAI_BASE_URL", "openai")]
    {
        let own = format!("# Ours.\nKEY=x\nexport {variable} = \"https://llm.corp/v1\" # the gateway\n");
        let (file, project) = (format!("{dir}/.env"), "project/.env");
        let users = shown(agent, &[(&file, &own)], nothing, &[]);
        assert!(users.contains(&format!("upstream {name} https://llm.corp/v1")), "{users}");
        assert!(
            users.contains(&format!("env {variable}=http://127.0.0.1:8787/s/{agent}:0190-run/{name}\n")),
            "{users}"
        );
        // Only the agent knows whether it trusts the project and its file.
        let projects = shown(agent, &[(&file, &own), (project, &own)], nothing, &[]);
        assert!(!projects.contains("upstream") && !projects.contains(&format!("env {variable}")), "{projects}");
        assert!(projects.contains("requests do not pass the proxy"), "{projects}");
        let other = shown(agent, &[(project, "PORT=8080\n")], nothing, &[]);
        assert!(other.contains(&format!("env {variable}=http://127.0.0.1:8787/s/")), "{other}");
    }
}

#[test]
fn qwen_gets_its_session_from_us_and_asks_whom_its_settings_name() {
    let auth = r#"{ /* Ours. */ "security": { "auth": { "baseUrl": "https://llm.corp/v1" } } }"#;
    let env = r#"{"env":{"OPENAI_BASE_URL":"https://llm.corp/v1"}}"#;
    for settings in [auth, env] {
        let users = shown("qwen", &[(".qwen/settings.json", settings)], nothing, &["-p", "x"]);
        assert!(users.starts_with("arg --session-id\narg 0190-run\narg -p"), "{users}");
        assert!(users.contains("session qwen:0190-run\nupstream openai https://llm.corp/v1"), "{users}");
        assert!(users.contains("env OPENAI_BASE_URL=http://127.0.0.1:8787/s/qwen:0190-run/openai\n"), "{users}");
        let projects = shown("qwen", &[("project/.qwen/settings.json", settings)], nothing, &[]);
        assert!(!projects.contains("env OPENAI_BASE_URL") && projects.contains("do not pass the proxy"), "{projects}");
    }
    let resumed = shown("qwen", &[], nothing, &["--continue"]);
    assert!(!resumed.contains("--session-id"), "{resumed}");
}

#[test]
fn any_other_command_gets_the_usual_variables() {
    insta::assert_snapshot!(shown("aider", &[], nothing, &["--message", "Fix it"]));
}

/// aider prefers `OPENAI_BASE_URL`: set to `.../v1` beside the user's `OPENAI_API_BASE`, it made `/v1/v1/...`.
#[test]
fn a_base_url_of_an_unknown_command_is_replaced_under_its_own_name_only() {
    let only_one = |name: &str| (name == "OPENAI_API_BASE").then(|| "https://llm.corp/v1".into());
    let text = shown("aider", &[], only_one, &[]);
    assert!(!text.contains("OPENAI_BASE_URL"), "{text}");
    assert!(text.contains("env OPENAI_API_BASE=http://127.0.0.1:8787/s/aider:0190-run/openai\n"), "{text}");
    assert!(text.contains("upstream openai https://llm.corp/v1"), "{text}");
    let both = |name: &str| match name {
        "OPENAI_BASE_URL" => Some("https://one.corp/v1".into()),
        "OPENAI_API_BASE" => Some("https://two.corp/v1".into()),
        _ => None,
    };
    let text = shown("aider", &[], both, &[]);
    assert!(text.contains("env OPENAI_BASE_URL=http://127.0.0.1:8787/s/aider:0190-run/openai\n"), "{text}");
    assert!(text.contains("env OPENAI_API_BASE=http://127.0.0.1:8787/s/aider:0190-run/openai_api_base\n"), "{text}");
    assert!(text.contains("upstream openai https://one.corp/v1"), "{text}");
    assert!(text.contains("upstream openai_api_base https://two.corp/v1"), "{text}");
}

#[test]
fn shell_words_are_quoted_when_needed() {
    assert_eq!(crate::install::quote("/usr/bin/belay"), "/usr/bin/belay");
    assert_eq!(crate::install::quote("/my tools/be'lay"), r"'/my tools/be'\''lay'");
}
