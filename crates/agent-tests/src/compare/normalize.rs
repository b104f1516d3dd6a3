//! Normalises runs before they are compared.

use std::collections::BTreeMap;
use std::path::Path;

use belay_scripted_model::Recorded;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::transcript::Transcript;

/// Fields that differ in every run, besides times.
const VOLATILE_KEYS: &[&str] = &[
    // Processes and machines.
    "pid",
    "process_id",
    "device_id",
    // Offsets and sizes in files with hook records and times.
    "ordinal",
    "eventsFileSizeBytes",
    // Digests and token estimates of texts with ids.
    "requestDigest",
    "shapeHash",
    "tail",
    "currentTokens",
    "systemTokens",
    "context_current_tokens",
];

/// Records that Claude Code repeats whenever it flushes its file; the number depends on timing.
const MARKERS: &[&str] = &["atis-latch", "last-prompt"];

/// Headers that differ from request to request or describe only the transport.
const VOLATILE_HEADERS: &[&str] = &["content-length", "host", "traceparent"];

/// Patterns in texts, with their placeholders.
const VOLATILE_TEXTS: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\b(ses|msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14}\b", "<id>"),
    (r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d([:-]\d\d)?(\.\d+)?Z?", "<time>"),
    (r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, [A-Z][a-z]+ \d{1,2}, \d{4}", "<date>"),
    (r"\b\d{4}[-/]\d\d[-/]\d\d\b", "<date>"),
    (r"127\.0\.0\.1:\d+", "<model>"),
    (r"Chunk ID: [0-9a-f]+", "Chunk ID: <id>"),
    (r"Wall time: [0-9.]+ seconds", "Wall time: <time>"),
    (r"Process Group PGID: \d+", "Process Group PGID: <id>"),
];

/// Gemini CLI lists its skills in the order in which it happens to have read them: beginning, separator and end of a list.
const SKILL_LISTS: &[(&str, &str, &str)] =
    &[("<available_skills>", "</skill>", "</available_skills>"), ("(Available: ", ", ", ")")];

pub(super) struct Normal {
    /// The bench as a path, and as Claude Code spells it in directory names.
    bench: [String; 2],
    texts: Vec<(Regex, &'static str)>,
}

impl Normal {
    pub(super) fn new(bench: &Path) -> Self {
        let path = bench.display().to_string();
        let slug = path.replace(['/', '.', '_'], "-");
        let compile = |(pattern, mark): &(&str, &'static str)| Some((Regex::new(pattern).ok()?, *mark));
        Self { bench: [path, slug], texts: VOLATILE_TEXTS.iter().filter_map(compile).collect() }
    }

    pub(super) fn request(&self, request: &Recorded) -> Value {
        let headers = request.headers.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !VOLATILE_HEADERS.contains(&name.as_str())
        });
        let headers: Map<String, Value> =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), self.text(value))).collect();
        json!({
            "method": request.method, "path": self.text(&request.path), "headers": headers,
            "body": self.value(&request.json()),
        })
    }

    /// Agents write records of different types from different tasks: order counts only within a type.
    pub(super) fn transcript(&self, transcript: &Transcript) -> BTreeMap<String, Vec<Value>> {
        let mut by_type = BTreeMap::<String, Vec<Value>>::new();
        for line in transcript.lines.iter().filter(|line| !is_hook_record(line)) {
            let names = [&line["type"], &line["payload"]["type"]].into_iter().filter_map(Value::as_str);
            by_type.entry(names.collect::<Vec<_>>().join(" ")).or_default().push(self.value(line));
        }
        for marker in MARKERS {
            by_type.entry((*marker).to_owned()).or_default().dedup();
        }
        by_type
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                let stable = fields.iter().filter(|(key, _)| !is_volatile(key));
                let fields = stable.map(|(key, value)| (self.plain(key), self.field(key, value)));
                Value::Object(fields.collect())
            }
            other => other.clone(),
        }
    }

    fn field(&self, key: &str, value: &Value) -> Value {
        let mut value = self.value(value);
        // The choices of a parameter, such as the names of skills.
        if let (Value::Array(choices), "enum") = (&mut value, key) {
            choices.sort_by_key(Value::to_string);
        }
        value
    }

    /// Some agents put JSON into texts; its fields are volatile, too.
    fn text(&self, text: &str) -> Value {
        match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => self.value(&inner),
            _ => Value::String(self.plain(text)),
        }
    }

    fn plain(&self, text: &str) -> String {
        let text = self.bench.iter().fold(text.to_owned(), |text, bench| text.replace(bench, "<bench>"));
        let text = self.texts.iter().fold(text, |text, (pattern, mark)| pattern.replace_all(&text, *mark).into_owned());
        SKILL_LISTS.iter().fold(text, |text, list| with_sorted_list(&text, list).unwrap_or(text))
    }
}

fn with_sorted_list(text: &str, (begin, separator, end): &(&str, &str, &str)) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (list, after) = rest.split_once(end)?;
    let mut items: Vec<&str> = list.split(separator).collect();
    items.sort_unstable();
    Some([before, begin, &items.join(separator), end, after].concat())
}

fn is_volatile(key: &str) -> bool {
    let names_time = key.ends_with("_ms") || key.ends_with("Ms") || key.ends_with("_at");
    let key = key.to_ascii_lowercase();
    let names_time = names_time || key.ends_with("time") || key.contains("timestamp") || key.contains("duration");
    names_time || VOLATILE_KEYS.iter().any(|volatile| volatile.eq_ignore_ascii_case(&key))
}

/// Agents log hooks in separate records.
fn is_hook_record(line: &Value) -> bool {
    let names = [&line["type"], &line["subtype"], &line["attachment"]["type"], &line["payload"]["type"]];
    names.iter().filter_map(|name| name.as_str()).any(|name| name.to_ascii_lowercase().contains("hook"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_skills_does_not_count() {
        let normal = Normal::new(Path::new("/bench"));
        let body = |first: &str, second: &str| {
            let skills = [first, second].map(|name| format!("\n<skill>{name}</skill>")).concat();
            let text =
                format!("Skills: <available_skills>{skills}</available_skills> (Available: '{first}', '{second}').");
            normal.value(&json!({ "text": text, "enum": [first, second] }))
        };
        assert_eq!(body("a", "b"), body("b", "a"));
        assert_ne!(body("a", "b"), body("a", "c"));
    }
}
