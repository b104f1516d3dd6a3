//! Compares two runs, and checks whether a message reached the model.
//!
//! A run is described by its requests and transcripts. Everything that differs between any two runs of the same agent
//! is replaced by a placeholder or dropped: ids, times, the paths of the test environment, the port of the model, and
//! the agents' records of hooks. Everything else must be equal.

mod normalize;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use belay_scripted_model::{Kind, Recorded};
use serde_json::Value;

use crate::transcript::Transcript;
use crate::workbench::Workbench;
use normalize::Normal;

/// A run, reduced to what must not change.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalizedRun {
    /// The requests that took a turn, in order.
    pub turns: Vec<Value>,
    /// Auxiliary requests, sorted: their order varies.
    pub auxiliary: Vec<Value>,
    /// Per transcript, its records by type.
    pub transcripts: Vec<BTreeMap<String, Vec<Value>>>,
}

impl NormalizedRun {
    pub fn from_records(bench: &Workbench, requests: &[Recorded], transcripts: &[Transcript]) -> Self {
        let normal = Normal::new(bench.root());
        let (turns, auxiliary): (Vec<_>, Vec<_>) =
            requests.iter().partition(|request| matches!(request.kind, Kind::Turn(_)));
        let normalized =
            |requests: Vec<&Recorded>| requests.into_iter().map(|request| normal.request(request)).collect();
        let mut auxiliary: Vec<Value> = normalized(auxiliary);
        auxiliary.sort_by_key(Value::to_string);
        let transcripts = transcripts.iter().map(|transcript| normal.transcript(transcript)).collect();
        Self { turns: normalized(turns), auxiliary, transcripts }
    }

    /// The differences to another run; empty if there are none.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        compare_lists("turns", &self.turns, &other.turns, &mut found);
        compare_lists("auxiliary", &self.auxiliary, &other.auxiliary, &mut found);
        let (ours, theirs) = (self.transcripts.len(), other.transcripts.len());
        if ours != theirs {
            found.push(format!("transcripts: {ours} files here, {theirs} there"));
        }
        for (number, (ours, theirs)) in self.transcripts.iter().zip(&other.transcripts).enumerate() {
            let types: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for kind in types {
                let [ours, theirs] = [ours, theirs].map(|records| records.get(kind).map_or(&[][..], Vec::as_slice));
                compare_lists(&format!("transcripts/{number}/{kind}"), ours, theirs, &mut found);
            }
        }
        found
    }
}

fn compare_lists(place: &str, ours: &[Value], theirs: &[Value], found: &mut Vec<String>) {
    if ours.len() != theirs.len() {
        found.push(format!("{place}: {} here, {} there", ours.len(), theirs.len()));
    }
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        compare(&format!("{place}/{number}"), ours, theirs, found);
    }
}

fn compare(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(our_fields), Value::Object(their_fields)) => {
            let keys = our_fields.keys().chain(their_fields.keys().filter(|key| !our_fields.contains_key(*key)));
            for key in keys {
                compare(&format!("{place}/{key}"), &ours[key], &theirs[key], found);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => compare_lists(place, ours, theirs, found),
        _ if ours == theirs => {}
        _ => found.push(format!("{place}: {} here, {} there", excerpt(ours), excerpt(theirs))),
    }
}

fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Whether the conversation in this request contains the text. Whitespace is collapsed, because agents wrap text.
pub fn contains(request: &Recorded, text: &str) -> bool {
    value_contains(&request.json(), &one_blank(text))
}

/// The first of these requests whose conversation contains the text.
pub fn first_seen(requests: &[Recorded], text: &str) -> Option<usize> {
    requests.iter().position(|request| contains(request, text))
}

fn value_contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => one_blank(string).contains(text),
        Value::Array(values) => values.iter().any(|value| value_contains(value, text)),
        Value::Object(fields) => fields.values().any(|value| value_contains(value, text)),
        _ => false,
    }
}

fn one_blank(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
