//! Loop Watchdog's settings and sessions: `LOOP_WATCHDOG_*` variables and the file its server keeps.
//!
//! A project's `.env` is looked at, but nothing is taken from it: whoever wrote the repository does not
//! decide where your keys and news go.

use std::path::{Path, PathBuf};

use belay_config::EnvSnapshot;
use belay_core::event::loop_watchdog::LoopWatchdogEvent;
use belay_core::event::{Note, OperatorDecision};
use belay_core::{Body, Event, Excerpt, SessionKey, Source, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::MappedSetting;
use crate::error::CommandError;

const ENV_PREFIX: &str = "LOOP_WATCHDOG_";
/// Where its server keeps sessions, below a folder.
const STATE_FILE: &str = ".loop_watchdog/state.json";
/// The agent under which sessions known by its ids only are kept.
const LEGACY: &str = "legacy";

/// Its variables that say something we can use or should explain.
const KNOWN_VARIABLES: &[&str] = &[
    "UPSTREAM_BASE_URL",
    "UPSTREAM_AUTH_MODE",
    "UPSTREAM_API_KEY",
    "UPSTREAM_TIMEOUT_SECONDS",
    "PROVIDER_HEADER_NAME",
    "ALERT_WEBHOOK_URL",
    "ALERT_HMAC_SECRET",
    "PERSISTENCE_PATH",
    "SESSION_TTL_SECONDS",
    "PAUSE_SCORE_THRESHOLD",
    "REQUEST_SIMILARITY_THRESHOLD",
    "STRATEGY_SIMILARITY_THRESHOLD",
    "FILE_REPEAT_THRESHOLD",
    "RECENT_WINDOW",
    "MAX_EVENTS_PER_SESSION",
    "REDACT_PAYLOADS",
    "CODEX_EXECUTABLE",
];

/// The settings.
pub(super) fn settings(folder: &Path, env: &EnvSnapshot) -> Vec<MappedSetting> {
    let mut mapped = Vec::new();
    for name in KNOWN_VARIABLES {
        let variable = format!("{ENV_PREFIX}{name}");
        if let Some(value) = env.text(&variable) {
            mapped.extend(map(env, name, value));
        }
    }
    let dotenv = std::fs::read_to_string(folder.join(".env")).unwrap_or_default();
    for line in dotenv.lines().map(str::trim).filter(|line| line.starts_with(ENV_PREFIX)) {
        let name = line.split('=').next().unwrap_or_default();
        mapped.push(left_out(
            &format!(".env: {name}"),
            "a project's file does not decide where your keys and news go; if it is yours, export it and import again",
        ));
    }
    mapped
}

fn left_out(from: &str, why: &str) -> MappedSetting {
    MappedSetting { from: from.to_owned(), to: None, user: true, note: Some(why.to_owned()) }
}

fn map(env: &EnvSnapshot, name: &str, value: &str) -> Vec<MappedSetting> {
    let from = format!("{ENV_PREFIX}{name}={value}");
    let secret = format!("{ENV_PREFIX}{name}");
    let to = |key: &str, value: &str, note: Option<&str>| MappedSetting {
        from: from.clone(),
        to: Some((key.to_owned(), value.to_owned())),
        user: true,
        note: note.map(str::to_owned),
    };
    let key_env = || to("proxy.upstreams.openai.key_env", &format!("{ENV_PREFIX}UPSTREAM_API_KEY"), None);
    match name {
        "UPSTREAM_BASE_URL" => {
            vec![to("proxy.upstreams.openai.url", value.trim_end_matches('/'), Some("other model APIs have their own"))]
        }
        "UPSTREAM_AUTH_MODE" => match value {
            "bearer" => vec![to("proxy.upstreams.openai.auth", "bearer", None), key_env()],
            "x-api-key" => {
                let header = env.text("LOOP_WATCHDOG_PROVIDER_HEADER_NAME").unwrap_or("x-api-key");
                let header = to("proxy.upstreams.openai.header", header, None);
                vec![to("proxy.upstreams.openai.auth", "header", None), header, key_env()]
            }
            _ => vec![left_out(&from, "the agent's own credential is passed on anyway")],
        },
        "UPSTREAM_TIMEOUT_SECONDS" => match value.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds >= 1.0 => {
                vec![to("proxy.upstreams.openai.idle_timeout", &format!("{}s", seconds.ceil() as u64), None)]
            }
            _ => vec![left_out(&from, "it is no time in seconds")],
        },
        "ALERT_WEBHOOK_URL" => vec![to("webhook.url", value, Some("what is posted has Belay's own shape"))],
        "UPSTREAM_API_KEY" => vec![left_out(&secret, "keys stay in the environment; `key_env` names the variable")],
        "ALERT_HMAC_SECRET" => vec![left_out(&secret, "put it into a file and name that: webhook.secret_file")],
        "PROVIDER_HEADER_NAME" => Vec::new(),
        "PERSISTENCE_PATH" => vec![left_out(&from, "Belay keeps its state in one place: `belay config path`")],
        "SESSION_TTL_SECONDS" => {
            vec![left_out(&from, "nothing is forgotten while it is held; `store.max_age` limits history")]
        }
        "REDACT_PAYLOADS" => vec![left_out(&from, "secrets never reach the store")],
        "CODEX_EXECUTABLE" => vec![left_out(&from, "say it where you need it: belay run PATH")],
        _ => vec![left_out(
            &from,
            "Belay asks for the same call with the same result instead of adding up scores: `detect`",
        )],
    }
}

/// Its file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateFile {
    sessions: Vec<Value>,
}

/// A session with what it is to become here.
#[derive(Debug)]
pub(super) struct StoredSession {
    pub(super) key: SessionKey,
    pub(super) events: Vec<Event>,
    pub(super) decisions: Vec<(OperatorDecision, String)>,
}

/// The sessions of its state file: where it was told to keep it, in the project, or at home.
pub(super) fn sessions(
    folder: &Path,
    env: &EnvSnapshot,
    home: Option<&Path>,
) -> Result<Vec<StoredSession>, CommandError> {
    let told = env.text("LOOP_WATCHDOG_PERSISTENCE_PATH").map(PathBuf::from);
    let places = told.into_iter().chain([folder.join(STATE_FILE)]).chain(home.map(|home| home.join(STATE_FILE)));
    let Some(file) = places.into_iter().find(|place| place.is_file()) else { return Ok(Vec::new()) };
    let unreadable = || CommandError::new(format!("{} cannot be read", file.display()));
    let text = std::fs::read(&file).map_err(|error| unreadable().cause(error))?;
    let state: StateFile = serde_json::from_slice(&text).map_err(|error| unreadable().cause(error))?;
    Ok(state.sessions.iter().filter_map(kept).collect())
}

fn kept(session: &Value) -> Option<StoredSession> {
    let id = session["session_id"].as_str().filter(|id| !id.is_empty())?;
    let key = SessionKey::new(LEGACY, id);
    let time = |value: &Value| value.as_str().and_then(Timestamp::parse);
    let begun = time(&session["created_at"]).unwrap_or_default();
    let stored: Vec<(&Value, LoopWatchdogEvent)> = session["events"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|event| Some((event, LoopWatchdogEvent::from_value(event).ok()?)))
        .collect();
    let started = stored.first().map(|(_, event)| event.started()).unwrap_or_default();
    let tell = |id: String, at: Timestamp, body: Body| Event::new(id, key.clone(), Source::Api, at, body);
    let mut events = vec![tell(format!("import-{id}"), begun, Body::SessionStarted(started))];
    for (stored, event) in &stored {
        // As remarks: what is over is not judged again.
        let text = Excerpt::new(&format!("{}: {}", event.kind, event.summary));
        let id = stored["event_id"].as_str().map_or_else(|| format!("import-{id}-{}", events.len()), str::to_owned);
        events.push(tell(id, time(&stored["created_at"]).unwrap_or(begun), Body::Note(Note { text })));
    }
    let incident = &session["incident"];
    let reasons: Vec<&str> = incident["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut decisions = Vec::new();
    if incident.is_object() {
        let killed = incident["score"].as_f64().is_some_and(|score| score >= 999.0);
        let decision = if killed { OperatorDecision::Kill } else { OperatorDecision::Pause };
        decisions.push((decision, format!("held by Loop Watchdog: {}", reasons.join(" "))));
    }
    if session["archived"] == true {
        decisions.push((OperatorDecision::Archive, String::new()));
    }
    Some(StoredSession { key, events, decisions })
}
