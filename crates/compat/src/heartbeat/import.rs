//! heartbeat's settings: `.heartbeat.yml`, `HEARTBEAT_*` variables and pattern files.
//!
//! heartbeat reads its file line by line as `key: value`, not as YAML. This reader also handles comments, quotes and
//! spaces in values.

use std::io::ErrorKind;
use std::path::Path;

use belay_config::EnvSnapshot;
use belay_core::rules::CustomPattern;
use belay_fs::Dir;

use super::pattern::parse_pattern;
use crate::import::{ImportError, MAX_IMPORT_BYTES, MappedSetting};

/// The keys of its file. Variables have the same names in capitals, after the prefix.
const KEYS: &[&str] = &[
    "loop_threshold",
    "stall_timeout",
    "error_threshold",
    "context_pct",
    "max_nudges",
    "window_size",
    "dry_run",
    "allowlist",
    "webhook_url",
    "ci",
    "state_dir",
    "context_window",
];

const ENV_PREFIX: &str = "HEARTBEAT_";

const CONFIG_FILE: &str = ".heartbeat.yml";

const PATTERN_DIR: &str = ".heartbeat/patterns";

/// Reads all settings of a project and of the environment. The webhook of a project's file is mapped only with `webhook`.
pub fn settings(dir: &Path, env: &EnvSnapshot, webhook: bool) -> Result<Vec<MappedSetting>, ImportError> {
    let text = match Dir::open(dir).and_then(|dir| dir.read_regular_text(CONFIG_FILE, MAX_IMPORT_BYTES)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(source) => return Err(ImportError::Read { path: dir.join(CONFIG_FILE), source }),
    };
    let mut found: Vec<(String, String, String)> = Vec::new();
    for (key, value) in text.lines().filter_map(parse_line) {
        found.push((format!("{CONFIG_FILE}: {key} = {value}"), key.to_owned(), value.to_owned()));
    }
    for variable in env.names(ENV_PREFIX) {
        let key = variable[ENV_PREFIX.len()..].to_ascii_lowercase();
        if let Some(value) = env.text(variable) {
            // The environment overrides the file, as in heartbeat.
            found.retain(|(_, known, _)| *known != key);
            found.push((format!("{variable}={value}"), key, value.to_owned()));
        }
    }
    let mut mapped: Vec<MappedSetting> =
        found.into_iter().flat_map(|(from, key, value)| map(&from, &key, &value)).collect();
    for one in mapped.iter_mut().filter(|one| !one.from.starts_with(CONFIG_FILE)) {
        one.user = true;
    }
    for one in mapped.iter_mut().filter(|one| one.user && !webhook && one.from.starts_with(CONFIG_FILE)) {
        // The file came with the repository, so its author may not be the user.
        one.to = None;
        one.note = Some(
            "a project's file does not choose the receiver of your alerts; if you trust it: \
             belay import heartbeat --webhook"
                .to_owned(),
        );
    }
    mapped.dedup_by(|a, b| a.to.is_none() && a.from == b.from);
    mapped.extend(patterns(dir)?);
    Ok(mapped)
}

/// Parses `key: value` without comment and quotes.
fn parse_line(line: &str) -> Option<(&str, &str)> {
    let line = line.split(" #").next().unwrap_or_default();
    let (key, value) = line.split_once(':')?;
    let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']).trim());
    (!key.is_empty() && !key.starts_with('#') && !value.is_empty()).then_some((key, value))
}

fn map(from: &str, key: &str, value: &str) -> Vec<MappedSetting> {
    let one = |to: &str, value: String, note: Option<&str>| MappedSetting {
        from: from.to_owned(),
        to: Some((to.to_owned(), value)),
        user: false,
        note: note.map(str::to_owned),
    };
    let skipped = |reason: &str| vec![MappedSetting::skipped(from, reason)];
    let number = value.parse::<u64>();
    match (key, number) {
        ("loop_threshold", Ok(n)) => vec![one(
            "detect.ladder.nudge_at",
            n.max(2).to_string(),
            Some(
                "heartbeat: equal calls among the last 20; Belay: equal calls with equal results and no progress in between",
            ),
        )],
        ("error_threshold", Ok(n)) => vec![one("detect.patterns.error_cascade.nudge_at", n.max(2).to_string(), None)],
        ("stall_timeout", Ok(n)) => vec![one(
            "detect.patterns.stall.minutes",
            n.div_ceil(60).max(1).to_string(),
            Some("in whole minutes; a declared wait (`belay wait`) is not a stall"),
        )],
        ("context_pct", Ok(n)) => vec![one(
            "detect.patterns.context_nearly_full.notice_at",
            n.clamp(1, 100).to_string(),
            Some("of the model's real context window, by real token counts"),
        )],
        ("max_nudges", Ok(n)) => vec![one(
            "detect.max_nudges",
            n.to_string(),
            Some("per finding instead of per session; then the session is paused"),
        )],
        ("dry_run", _) => vec![one("detect.dry_run", (value == "1" || value == "true").to_string(), None)],
        ("allowlist", _) => allow_list(from, value),
        ("webhook_url", _) => {
            let user = |to: &str, value: &str| MappedSetting { user: true, ..one(to, value.to_owned(), None) };
            vec![user("webhook.url", value), user("webhook.format", "heartbeat")]
        }
        ("ci", _) => skipped("Belay reads the variable CI itself"),
        ("window_size", _) => skipped("each pattern has its own window"),
        ("state_dir", _) => skipped("Belay stores its state in one place: `belay config path`"),
        ("context_window", _) => skipped("Belay knows the context windows of the models and counts real tokens"),
        (_, Err(_)) if KEYS.contains(&key) => skipped(&format!("`{value}` is not a number")),
        _ => skipped("heartbeat does not know this key either"),
    }
}

/// heartbeat matches entries against `Tool:target`.
fn allow_list(from: &str, value: &str) -> Vec<MappedSetting> {
    let entries: Vec<String> = value
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| if entry.contains(':') { entry.to_owned() } else { format!("*:{entry}") })
        .collect();
    let list = toml::Value::from(entries).to_string();
    let note = "entries with spaces, which heartbeat never matches, work in Belay".to_owned();
    vec![MappedSetting {
        from: from.to_owned(),
        to: Some(("detect.allow.actions".to_owned(), list)),
        user: false,
        note: Some(note),
    }]
}

/// Reads the pattern files. heartbeat itself never evaluates them.
fn patterns(dir: &Path) -> Result<Vec<MappedSetting>, ImportError> {
    let dir = match Dir::open_below(dir, Path::new(PATTERN_DIR)) {
        Ok(dir) => dir,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ImportError::Read { path: dir.join(PATTERN_DIR), source }),
    };
    let Ok(entries) = std::fs::read_dir(dir.path()) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    files.retain(|name| name.ends_with(".json"));
    files.sort();
    let mut custom: Vec<CustomPattern> = Vec::new();
    let mut mapped = Vec::new();
    let mut names = Vec::new();
    for name in files {
        let text = match dir.read_regular_text(&name, MAX_IMPORT_BYTES) {
            Ok(text) => text,
            Err(source) => return Err(ImportError::Read { path: dir.path().join(name), source }),
        };
        match parse_pattern(&text) {
            Ok(pattern) if custom.iter().any(|known| known.name == pattern.name) => {
                let reason = format!("another file has a pattern of the same name: {}", pattern.name);
                mapped.push(MappedSetting::skipped(format!("{PATTERN_DIR}/{name}"), reason));
            }
            Ok(pattern) => {
                names.push(name);
                custom.push(pattern);
            }
            Err(error) => mapped.push(MappedSetting::skipped(format!("{PATTERN_DIR}/{name}"), error.to_string())),
        }
    }
    if !custom.is_empty() {
        let list = toml::Value::try_from(&custom)?;
        mapped.push(MappedSetting {
            from: format!("{PATTERN_DIR}: {}", names.join(", ")),
            to: Some(("detect.custom".to_owned(), list.to_string())),
            user: false,
            note: Some("equal calls with equal results, three among the last twenty".to_owned()),
        });
    }
    Ok(mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_comments_and_quotes() {
        assert_eq!(parse_line("loop_threshold: 4   # a little more"), Some(("loop_threshold", "4")));
        assert_eq!(parse_line("allowlist: \"Bash:npm test\""), Some(("allowlist", "Bash:npm test")));
        assert_eq!(parse_line("# a comment: yes"), None);
        assert_eq!(parse_line("empty:"), None);
    }

    #[test]
    fn settings_map_to_keys_of_the_same_meaning() {
        let to = |key: &str, value: &str| map("x", key, value).into_iter().filter_map(|one| one.to).collect::<Vec<_>>();
        let pair = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        assert_eq!(to("loop_threshold", "4"), pair("detect.ladder.nudge_at", "4"));
        assert_eq!(to("stall_timeout", "120"), pair("detect.patterns.stall.minutes", "2"));
        assert_eq!(to("dry_run", "1"), pair("detect.dry_run", "true"));
        assert_eq!(
            to("allowlist", "Bash:npm test, make*"),
            pair("detect.allow.actions", r#"["Bash:npm test", "*:make*"]"#)
        );
        assert_eq!(to("webhook_url", "https://x/y").len(), 2);
        assert_eq!(to("loop_threshold", "many"), []);
        assert_eq!(to("window_size", "20"), []);
    }
}
