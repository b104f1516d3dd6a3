//! Loop Watchdog's settings and sessions: `LOOP_WATCHDOG_*` variables and the state file of its server.
//!
//! A project's `.env` is read, but none of its settings are imported: the author of a repository must not choose where
//! the user's keys and alerts go.

use std::path::{Path, PathBuf};

use belay_config::EnvSnapshot;
use belay_core::event::{Note, OperatorDecision};
use belay_core::{Body, Event, Excerpt, SessionKey, Source, Timestamp};
use belay_fs::{Dir, Links};
use serde::Deserialize;
use serde_json::Value;

use super::event::PostedEvent;
use super::{AGENT_ID, KILL_SCORE};
use crate::import::{ImportError, MAX_IMPORT_BYTES, MappedSetting};

const ENV_PREFIX: &str = "LOOP_WATCHDOG_";
/// The state file, relative to a project or to the user's home.
const STATE_DIR: &str = ".loop_watchdog";
const STATE_FILE: &str = "state.json";

/// The variables that the import maps, or skips with a reason.
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

/// Reads the settings of the environment.
pub fn settings(dir: &Path, env: &EnvSnapshot) -> Vec<MappedSetting> {
    let mut mapped = Vec::new();
    for name in KNOWN_VARIABLES {
        let variable = format!("{ENV_PREFIX}{name}");
        if let Some(value) = env.text(&variable) {
            mapped.extend(map(env, name, value));
        }
    }
    let dotenv = Dir::open(dir).and_then(|dir| dir.read_regular_text(".env", MAX_IMPORT_BYTES)).unwrap_or_default();
    for line in dotenv.lines().map(str::trim).filter(|line| line.starts_with(ENV_PREFIX)) {
        let name = line.split('=').next().unwrap_or_default();
        mapped.push(skipped(
            &format!(".env: {name}"),
            "a project's file does not choose where your keys and alerts go; if it is yours, export it and import again",
        ));
    }
    mapped
}

fn skipped(from: &str, reason: &str) -> MappedSetting {
    MappedSetting::skipped(from, reason).for_user()
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
            vec![to(
                "proxy.upstreams.openai.url",
                value.trim_end_matches('/'),
                Some("other model APIs have their own URLs"),
            )]
        }
        "UPSTREAM_AUTH_MODE" => match value {
            "bearer" => vec![to("proxy.upstreams.openai.auth", "bearer", None), key_env()],
            "x-api-key" => {
                let header = env.text("LOOP_WATCHDOG_PROVIDER_HEADER_NAME").unwrap_or("x-api-key");
                let header = to("proxy.upstreams.openai.header", header, None);
                vec![to("proxy.upstreams.openai.auth", "header", None), header, key_env()]
            }
            _ => vec![skipped(&from, "the agent's own credential is passed on anyway")],
        },
        "UPSTREAM_TIMEOUT_SECONDS" => match value.parse::<f64>() {
            Ok(seconds) if seconds.is_finite() && seconds >= 1.0 => {
                vec![to("proxy.upstreams.openai.idle_timeout", &format!("{}s", seconds.ceil() as u64), None)]
            }
            _ => vec![skipped(&from, "it is not a number of seconds")],
        },
        "ALERT_WEBHOOK_URL" => vec![to("webhook.url", value, Some("the body has Belay's own format"))],
        "UPSTREAM_API_KEY" => vec![skipped(&secret, "keys stay in the environment; `key_env` names the variable")],
        "ALERT_HMAC_SECRET" => vec![skipped(&secret, "write it to a file and set webhook.secret_file")],
        "PROVIDER_HEADER_NAME" => Vec::new(),
        "PERSISTENCE_PATH" => vec![skipped(&from, "Belay stores its state in one place: `belay config path`")],
        "SESSION_TTL_SECONDS" => {
            vec![skipped(&from, "held sessions are always retained; `store.max_age` limits the history")]
        }
        "REDACT_PAYLOADS" => vec![skipped(&from, "secrets never reach the store")],
        "CODEX_EXECUTABLE" => vec![skipped(&from, "name it when you run it: belay run PATH")],
        _ => vec![skipped(&from, "Belay compares calls and results instead of adding up scores: `detect`")],
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateFile {
    sessions: Vec<Value>,
}

/// A session of the state file, as events and decisions of Belay.
#[derive(Debug)]
pub struct ImportedSession {
    pub key: SessionKey,
    /// A start, then one note per event of the file.
    pub events: Vec<Event>,
    /// Each decision with its note.
    pub decisions: Vec<(OperatorDecision, String)>,
}

/// Reads the sessions of the state file at its configured path, in the project, or in the user's home.
pub fn sessions(dir: &Path, env: &EnvSnapshot, home: Option<&Path>) -> Result<Vec<ImportedSession>, ImportError> {
    let configured = env.text("LOOP_WATCHDOG_PERSISTENCE_PATH").map(PathBuf::from);
    let own = [configured, home.map(|home| home.join(STATE_DIR).join(STATE_FILE))];
    let [configured, at_home] = own.map(|path| path.filter(|path| path.is_file()));
    let in_project = dir.join(STATE_DIR).join(STATE_FILE);
    let (path, read) = match (configured, in_project.symlink_metadata().is_ok(), at_home) {
        (None, true, _) => {
            let dir = Dir::open_below(dir, Path::new(STATE_DIR));
            (in_project, dir.and_then(|dir| dir.read_regular(STATE_FILE, MAX_IMPORT_BYTES)))
        }
        (Some(own), ..) | (None, false, Some(own)) => {
            let read = belay_fs::read_regular(&own, Links::Follow, MAX_IMPORT_BYTES);
            (own, read)
        }
        (None, false, None) => return Ok(Vec::new()),
    };
    let json = match read {
        Ok(json) => json,
        Err(source) => return Err(ImportError::Read { path, source }),
    };
    match serde_json::from_slice::<StateFile>(&json) {
        Ok(state) => Ok(state.sessions.iter().filter_map(parse_session).collect()),
        Err(source) => Err(ImportError::Parse { path, source }),
    }
}

fn parse_session(session: &Value) -> Option<ImportedSession> {
    let id = session["session_id"].as_str().filter(|id| !id.is_empty())?;
    let key = SessionKey::new(AGENT_ID, id);
    let time = |value: &Value| value.as_str().and_then(Timestamp::parse);
    let started_at = time(&session["created_at"]).unwrap_or_default();
    let stored: Vec<(&Value, PostedEvent)> = session["events"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|event| Some((event, PostedEvent::from_value(event).ok()?)))
        .collect();
    let started = stored.first().map(|(_, event)| event.started()).unwrap_or_default();
    let event = |id: String, at: Timestamp, body: Body| Event::new(id, key.clone(), Source::Api, at, body);
    let mut events = vec![event(format!("import-{id}"), started_at, Body::SessionStarted(started))];
    for (stored, posted) in &stored {
        // Notes, because detectors must not evaluate events of the past.
        let text = Excerpt::new(&format!("{}: {}", posted.kind, posted.summary));
        let id = stored["event_id"].as_str().map_or_else(|| format!("import-{id}-{}", events.len()), str::to_owned);
        events.push(event(id, time(&stored["created_at"]).unwrap_or(started_at), Body::Note(Note { text })));
    }
    let incident = &session["incident"];
    let reasons: Vec<&str> = incident["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut decisions = Vec::new();
    if incident.is_object() {
        let killed = incident["score"].as_f64().is_some_and(|score| score >= KILL_SCORE);
        let decision = if killed { OperatorDecision::Kill } else { OperatorDecision::Pause };
        decisions.push((decision, format!("held by Loop Watchdog: {}", reasons.join(" "))));
    }
    if session["archived"] == true {
        decisions.push((OperatorDecision::Archive, String::new()));
    }
    Some(ImportedSession { key, events, decisions })
}
