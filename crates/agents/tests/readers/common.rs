//! Formats each event as one line, without the digests that core derives.

use std::path::{Path, PathBuf};

use belay_agents::{ReadStats, detect_format};
use belay_core::event::{Body, Event, Usage};

/// A fixture as the agent would have it on disk: a dump of a database becomes that database.
pub(crate) fn materialise(fixture: &Path, dir: &Path) -> PathBuf {
    if fixture.extension().is_none_or(|ext| ext != "sql") {
        return fixture.to_owned();
    }
    let path = dir.join(fixture.with_extension("db").file_name().expect("a name"));
    let database = rusqlite::Connection::open(&path).expect("a database");
    database.execute_batch(&std::fs::read_to_string(fixture).expect("readable")).expect("valid SQL");
    path
}

/// Reads a file with the reader that recognises it.
pub(crate) fn read(path: &Path) -> (Vec<Event>, ReadStats) {
    let format = detect_format(path).expect("readable").unwrap_or_else(|| panic!("nobody knows {}", path.display()));
    let mut events = Vec::new();
    let stats = format.read(path, &mut |event| events.push(event)).expect("readable");
    (events, stats)
}

/// All files under a directory, in order.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

pub(crate) fn render(events: &[Event], stats: &ReadStats) -> String {
    let mut text = String::new();
    let mut session = String::new();
    for event in events {
        let now = match &event.parent {
            Some(parent) => format!("== {} (of {parent})", event.session),
            None => format!("== {}", event.session),
        };
        if now != session {
            text.push_str(&format!("{now}\n"));
            session = now;
        }
        let at = event.at.to_string();
        let clock = at.get(11..19).unwrap_or("--:--:--");
        let batch = event.batch.as_ref().map(|batch| format!("  [{batch}]")).unwrap_or_default();
        text.push_str(&format!("{clock} {}{batch}\n", line(&event.body)));
    }
    text.push_str(&format!(
        "-- {} lines, {} broken, {} too long, {} binary, {} unknown\n",
        stats.lines, stats.broken, stats.too_long, stats.binary, stats.unknown
    ));
    text
}

fn line(body: &Body) -> String {
    let detail = match body {
        Body::SessionStarted(start) => {
            let parts = [&start.model, &start.agent_version, &start.project, &start.branch];
            let known: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            format!("{:?} {}", start.how, known.join(" "))
        }
        Body::Prompt(prompt) => format!("{:?} {}", prompt.by, short(prompt.text.as_str())),
        Body::ToolCalled(call) => {
            format!("{} {:?} {}", call.call.as_deref().unwrap_or("-"), call.tool.kind, call.tool.name)
        }
        Body::ToolReturned(result) => {
            let exit = result.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
            let id = result.call.as_deref().unwrap_or("-");
            format!("{id} {:?}{exit} {}", result.status, short(result.output.as_str()))
        }
        Body::ModelAnswered(answer) => format!(
            "{} {} {} calls {:?} stop {}{} {}",
            answer.response.as_deref().unwrap_or("-"),
            answer.model.as_deref().unwrap_or("-"),
            answer.usage.map_or("-".to_owned(), usage),
            answer.tool_calls,
            answer.stop.as_deref().unwrap_or("-"),
            if answer.auxiliary { " auxiliary" } else { "" },
            short(answer.text.as_str()),
        ),
        Body::ModelFailed(failed) => {
            format!("{:?} {} retry {:?}", failed.status, short(failed.message.as_str()), failed.retry_at)
        }
        Body::LimitHit(limit) => format!("{} resets {:?}", short(limit.what.as_str()), limit.resets_at),
        Body::TurnEnded(turn) => format!("{}{}", if turn.failed { "failed " } else { "" }, short(turn.text.as_str())),
        Body::Compacted(compacted) => format!("automatic {} before {:?}", compacted.automatic, compacted.before),
        Body::SubAgentStarted(sub) | Body::SubAgentEnded(sub) => {
            format!("{} {}", sub.child, sub.role.as_deref().unwrap_or("-"))
        }
        Body::FileChanged(change) => format!(
            "{} {:?} {} -> {}",
            change.path,
            change.change,
            change.before.map_or("-".to_owned(), |digest| digest.to_string()),
            change.after.map_or("-".to_owned(), |digest| digest.to_string())
        ),
        Body::Note(note) => short(note.text.as_str()),
        Body::Learned(fact) => {
            format!("{:?} exit {:?} {:?} {:?}", fact.call, fact.exit_code, fact.response, fact.usage.map(usage))
        }
        other => format!("{other:?}"),
    };
    format!("{} {detail}", body.kind()).trim_end().to_owned()
}

fn usage(usage: Usage) -> String {
    format!("{}+{}r+{}w/{}", usage.input, usage.cache_read, usage.cache_write, usage.output)
}

fn short(text: &str) -> String {
    let text: String = text.chars().take(72).collect();
    if text.is_empty() { text } else { format!("{text:?}") }
}
