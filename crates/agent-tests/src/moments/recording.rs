//! What a recorded session consists of: its events as Belay recorded them, and labelled moments between them.

use std::fs;
use std::io;
use std::path::Path;

use belay_core::Event;
use belay_core::status::{StatusValue, WaitingFor};
use serde_json::{Value, json};

/// The true status at a moment, known from what the scenario did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) value: StatusValue,
    pub(super) waiting_for: Option<WaitingFor>,
}

impl From<StatusValue> for Label {
    fn from(value: StatusValue) -> Self {
        Self { value, waiting_for: None }
    }
}

impl From<WaitingFor> for Label {
    fn from(waiting_for: WaitingFor) -> Self {
        Self { value: StatusValue::Waiting, waiting_for: Some(waiting_for) }
    }
}

/// What the process table showed.
#[derive(Clone, Debug)]
pub(super) struct ProcessSight {
    pub(super) state: &'static str,
    /// Starts of the direct children that are not hooks, in milliseconds since the epoch.
    pub(super) children: Vec<i64>,
}

/// A labelled moment.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) kind: &'static str,
    /// How many events were recorded before it.
    pub(super) events: usize,
    /// Milliseconds since the epoch.
    pub(super) at: i64,
    pub(super) process: ProcessSight,
    pub(super) label: Label,
}

/// Writes a session as JSON lines: a head, then events and moments in their order.
pub(super) fn write(
    file: &Path,
    head: &Value,
    events: &[Value],
    moments: &[Moment],
    replace: &[(String, &str)],
) -> io::Result<()> {
    let first = events.first().map(parse).transpose()?.map_or(0, |event| event.at.millis());
    let mut lines = vec![head.to_string()];
    for number in 0..=events.len() {
        if let Some(event) = number.checked_sub(1).and_then(|index| events.get(index)) {
            let mut event = event.clone();
            event["id"] = format!("e{number}").into();
            // The path names directories of this machine.
            if let Some(fields) = event.as_object_mut() {
                fields.remove("transcript");
                if let Some(pid) = fields.get_mut("pid") {
                    *pid = PID.into();
                }
            }
            lines.push(json!({ "event": event }).to_string());
        }
        for moment in moments.iter().filter(|moment| moment.events == number) {
            let mut line = json!({
                "moment": moment.kind,
                "at_ms": moment.at - first,
                "process": moment.process.state,
                "expect": moment.label.value,
            });
            if let Some(waiting_for) = moment.label.waiting_for {
                line["waiting_for"] = json!(waiting_for);
            }
            let children: Vec<i64> = moment.process.children.iter().map(|start| start - first).collect();
            if !children.is_empty() {
                line["children_ms"] = json!(children);
            }
            lines.push(line.to_string());
        }
    }
    let mut text = lines.join("\n") + "\n";
    for (from, to) in replace {
        text = text.replace(from, to);
    }
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    fs::write(file, text)
}

/// Stands for the agent's process id.
const PID: u32 = 4242;

fn parse(event: &Value) -> io::Result<Event> {
    serde_json::from_value(event.clone()).map_err(io::Error::other)
}
