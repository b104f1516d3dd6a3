//! The thresholds of the built-in rules, read from `rules.toml`, and their neighbours.

use std::collections::BTreeMap;
use std::fs;

use crate::shell;

const RULES: &str = "crates/core/src/rules.toml";

/// Patterns whose limits are amounts of money or time, or facts that no session of a corpus contains.
const UNMEASURED: &[&str] =
    &["budget", "spend_without_progress", "context_nearly_full", "outage", "stall", "hung_tool", "permission_prompt"];

/// The fields of a pattern that change when it intervenes, with the field each inherits from.
const STEPS: &[&str] = &["nudge_at", "nudge_weak_at", "nudge_faint_at", "pause_at"];

/// One threshold of one pattern, with the values of its section.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Threshold {
    pub pattern: String,
    pub field: &'static str,
    pub value: f64,
    /// All steps of the pattern as they are in effect. They are written out together, because one inherits from another.
    steps: BTreeMap<&'static str, f64>,
}

impl Threshold {
    /// One step towards more alarms.
    pub(super) fn looser(&self) -> f64 {
        match self.field {
            "similarity" => (self.value - 0.05).max(0.0),
            "window" => (self.value * 1.25).ceil().min(64.0),
            "pause_at" => (self.value - 1.0).max(2.0),
            _ => (self.value - 1.0).max(1.0),
        }
    }

    /// One step towards fewer alarms.
    pub(super) fn stricter(&self) -> f64 {
        match self.field {
            "similarity" => (self.value + 0.05).min(1.0),
            "window" => (self.value * 0.75).floor().max(2.0),
            _ => self.value + 1.0,
        }
    }

    /// Where this threshold is, as in messages: `cycle.nudge_at`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.pattern, self.field)
    }

    /// The configuration that sets this threshold to another value.
    pub(super) fn config(&self, value: f64) -> String {
        let mut lines = format!("[detect.patterns.{}]\n", self.pattern);
        if STEPS.contains(&self.field) {
            for (field, current) in &self.steps {
                lines += &format!("{field} = {}\n", if *field == self.field { value } else { *current });
            }
        } else {
            lines += &format!("{} = {value}\n", self.field);
        }
        lines
    }
}

/// Every measured threshold, in the order of the file.
pub(super) fn all() -> Result<Vec<Threshold>, String> {
    let path = shell::root().join(RULES);
    let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Vec<Threshold> {
    let sections = sections(text);
    let ladder = sections.iter().find(|(name, _)| name == "ladder").map(|(_, values)| values.clone());
    let ladder = ladder.unwrap_or_default();
    let mut found = Vec::new();
    for (section, values) in &sections {
        let Some(pattern) = section.strip_prefix("patterns.") else { continue };
        if UNMEASURED.contains(&pattern) {
            continue;
        }
        let steps = steps(values, &ladder);
        let mut add = |field: &'static str, value: f64| {
            found.push(Threshold { pattern: pattern.to_owned(), field, value, steps: steps.clone() });
        };
        for (field, value) in &steps {
            // 0 means never: there is no step below it.
            if *value > 0.0 {
                add(field, *value);
            }
        }
        for field in ["window", "similarity"] {
            if let Some(value) = values.get(field) {
                add(field, *value);
            }
        }
    }
    found
}

/// The steps in effect: a pattern's own, or inherited as `Ladder::for_pattern` does.
fn steps(own: &BTreeMap<String, f64>, ladder: &BTreeMap<String, f64>) -> BTreeMap<&'static str, f64> {
    let of = |name: &str| own.get(name).copied();
    let default = |name: &str| ladder.get(name).copied().unwrap_or(0.0);
    let weak = of("nudge_weak_at").or(of("nudge_at"));
    BTreeMap::from([
        ("nudge_at", of("nudge_at").unwrap_or_else(|| default("nudge_at"))),
        ("nudge_weak_at", weak.unwrap_or_else(|| default("nudge_weak_at"))),
        ("nudge_faint_at", of("nudge_faint_at").or(weak).unwrap_or_else(|| default("nudge_faint_at"))),
        ("pause_at", of("pause_at").unwrap_or_else(|| default("pause_at"))),
    ])
}

/// The numbers of a TOML file by section, in order.
fn sections(text: &str) -> Vec<(String, BTreeMap<String, f64>)> {
    let mut sections: Vec<(String, BTreeMap<String, f64>)> = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push((name.to_owned(), BTreeMap::new()));
        } else if let Some((key, value)) = line.split_once('=')
            && let Ok(value) = value.trim().replace('_', "").parse()
            && let Some((_, values)) = sections.last_mut()
        {
            values.insert(key.trim().to_owned(), value);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "[ladder]\nnudge_at = 3\nnudge_weak_at = 4\nnudge_faint_at = 8\npause_at = 6\n\
                         [patterns.cycle]\nwindow = 40\n[patterns.monologue]\nnudge_at = 5 # why\npause_at = 0\n";

    #[test]
    fn a_pattern_inherits_what_it_does_not_say() {
        let found = parse(RULES);
        let value = |name: &str| found.iter().find(|one| one.name() == name).map(|one| one.value);
        assert_eq!(value("cycle.nudge_weak_at"), Some(4.0));
        assert_eq!(value("cycle.window"), Some(40.0));
        assert_eq!(value("monologue.nudge_faint_at"), Some(5.0));
        assert_eq!(value("monologue.pause_at"), None);
    }

    #[test]
    fn a_variant_keeps_the_other_steps() {
        let nudge = parse(RULES).into_iter().find(|one| one.name() == "cycle.nudge_at").expect("it is listed");
        assert_eq!(
            nudge.config(nudge.looser()),
            "[detect.patterns.cycle]\nnudge_at = 2\nnudge_faint_at = 8\nnudge_weak_at = 4\npause_at = 6\n"
        );
    }
}
