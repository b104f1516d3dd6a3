//! heartbeat's settings. Its file is no real YAML: `key: value` line by line, blanks in values
//! dropped, unknown keys passed. We read it a little better than it did: comments and quotes count.

use std::path::Path;

use belay_config::EnvSnapshot;
use belay_core::rules::{CustomPattern, parse_heartbeat_pattern};

use super::MappedSetting;
use crate::error::CommandError;

/// heartbeat's name for a setting in its file and, in capitals, after `HEARTBEAT_`.
const KEY_MAP: &[&str] = &[
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

/// Begins the names of its variables.
const ENV_PREFIX: &str = "HEARTBEAT_";

/// What a project carries.
const CONFIG_FILE: &str = ".heartbeat.yml";

/// How to take over a webhook.
const WEBHOOK_HINT: &str = "belay import heartbeat --webhook";

pub(super) fn read(folder: &Path, env: &EnvSnapshot, webhook: bool) -> Result<Vec<MappedSetting>, CommandError> {
    let file = folder.join(CONFIG_FILE);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CommandError::new(format!("{} cannot be read", file.display())).cause(error)),
    };
    let mut found: Vec<(String, String, String)> = Vec::new();
    for (key, value) in text.lines().filter_map(setting) {
        found.push((format!("{CONFIG_FILE}: {key} = {value}"), key.to_owned(), value.to_owned()));
    }
    for variable in env.names(ENV_PREFIX) {
        let key = variable[ENV_PREFIX.len()..].to_ascii_lowercase();
        if let Some(value) = env.text(variable) {
            // The environment wins, as it did there.
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
        // The file came with the repository, whoever wrote it.
        one.to = None;
        one.note = Some(format!("a project's file does not say where your news goes; if you know it: {WEBHOOK_HINT}"));
    }
    mapped.dedup_by(|a, b| a.to.is_none() && a.from == b.from);
    mapped.extend(patterns(folder)?);
    Ok(mapped)
}

/// `key: value`, without comment and quotes.
fn setting(line: &str) -> Option<(&str, &str)> {
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
    let left_out =
        |note: String| vec![MappedSetting { from: from.to_owned(), to: None, user: false, note: Some(note) }];
    let number = value.parse::<u64>();
    match (key, number) {
        ("loop_threshold", Ok(n)) => vec![one(
            "detect.ladder.nudge_at",
            n.max(2).to_string(),
            Some(
                "there: equal calls among the last 20; here: equal calls with equal results and nothing new in between",
            ),
        )],
        ("error_threshold", Ok(n)) => vec![one("detect.patterns.error_cascade.nudge_at", n.max(2).to_string(), None)],
        ("stall_timeout", Ok(n)) => vec![one(
            "detect.patterns.stall.minutes",
            n.div_ceil(60).max(1).to_string(),
            Some("in whole minutes; a declared wait (`belay wait`) is no stall"),
        )],
        ("context_pct", Ok(n)) => vec![one(
            "detect.patterns.context_cliff.notice_at",
            n.clamp(1, 100).to_string(),
            Some("of the model's real window, from real token counts"),
        )],
        ("max_nudges", Ok(n)) => vec![one(
            "detect.max_nudges",
            n.to_string(),
            Some("per finding instead of per session; after that the session is paused"),
        )],
        ("dry_run", _) => vec![one("detect.dry_run", (value == "1" || value == "true").to_string(), None)],
        ("allowlist", _) => allow_list(from, value),
        ("webhook_url", _) => {
            let user = |to: &str, value: &str| MappedSetting { user: true, ..one(to, value.to_owned(), None) };
            vec![user("webhook.url", value), user("webhook.format", "heartbeat")]
        }
        ("ci", _) => left_out("Belay goes by the variable CI itself".to_owned()),
        ("window_size", _) => left_out("each pattern looks back as far as it needs".to_owned()),
        ("state_dir", _) => left_out("Belay keeps its state in one place: `belay config path`".to_owned()),
        ("context_window", _) => left_out("Belay knows the models' windows and their real token counts".to_owned()),
        (_, Err(_)) if KEY_MAP.contains(&key) => left_out(format!("`{value}` is no number")),
        _ => left_out("heartbeat does not know this key either".to_owned()),
    }
}

/// Entries were matched against `Tool:target`; an edit had a hash behind it, so its entry never fitted.
fn allow_list(from: &str, value: &str) -> Vec<MappedSetting> {
    let entries: Vec<String> = value
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| if entry.contains(':') { entry.to_owned() } else { format!("*:{entry}") })
        .collect();
    let list = toml::Value::from(entries).to_string();
    let note = "entries with blanks, which heartbeat could never match, count here".to_owned();
    vec![MappedSetting {
        from: from.to_owned(),
        to: Some(("detect.allow.actions".to_owned(), list)),
        user: false,
        note: Some(note),
    }]
}

/// Its pattern files were inert; here they trigger.
fn patterns(folder: &Path) -> Result<Vec<MappedSetting>, CommandError> {
    let folder = folder.join(".heartbeat/patterns");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "json"));
    files.sort();
    let mut custom: Vec<CustomPattern> = Vec::new();
    let mut mapped = Vec::new();
    let mut names = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| CommandError::new(format!("{} cannot be read", path.display())).cause(error))?;
        match parse_heartbeat_pattern(&text) {
            Ok(pattern) => {
                names.push(name);
                custom.push(pattern);
            }
            Err(error) => mapped.push(MappedSetting {
                from: format!(".heartbeat/patterns/{name}"),
                to: None,
                user: false,
                note: Some(error.to_string()),
            }),
        }
    }
    if !custom.is_empty() {
        let list = toml::Value::try_from(&custom).map_err(|error| CommandError::new(error.to_string()))?;
        mapped.push(MappedSetting {
            from: format!(".heartbeat/patterns: {}", names.join(", ")),
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
    fn lines_as_people_write_them() {
        assert_eq!(setting("loop_threshold: 4   # a little more"), Some(("loop_threshold", "4")));
        assert_eq!(setting("allowlist: \"Bash:npm test\""), Some(("allowlist", "Bash:npm test")));
        assert_eq!(setting("# a comment: yes"), None);
        assert_eq!(setting("empty:"), None);
    }

    #[test]
    fn meanings_are_kept() {
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
