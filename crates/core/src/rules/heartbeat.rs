//! heartbeat's pattern files, so that people who wrote some can bring them along.

use serde::Deserialize;

use super::custom::GroupBy;
use super::{CustomPattern, RuleError, Severity};
use crate::effect::InterventionLevel;

/// A pattern file of heartbeat.
#[derive(Deserialize)]
struct HeartbeatPattern {
    name: Option<String>,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tools: Vec<String>,
    nudge: Option<String>,
    #[serde(default)]
    severity: String,
}

/// Reads a pattern file of heartbeat (JSON with `name`, `tools`, `nudge`, ...). Its meaning there was "the same call
/// three times among the last twenty"; here the outcome must be the same as well.
pub fn parse_heartbeat_pattern(json: &str) -> Result<CustomPattern, RuleError> {
    let file: HeartbeatPattern = serde_json::from_str(json)
        .map_err(|e| RuleError::new("pattern file", format!("is no heartbeat pattern: {e}")))?;
    let name = file.name.filter(|name| !name.is_empty()).ok_or_else(|| RuleError::new("name", "is missing"))?;
    let message = file.nudge.filter(|nudge| !nudge.trim().is_empty());
    let message = message.ok_or_else(|| RuleError::new("nudge", "is missing; it is what the agent reads"))?;
    let title = [&file.display_name, &file.description].into_iter().find(|text| !text.is_empty());
    let severity = match file.severity.to_ascii_lowercase().as_str() {
        "low" | "info" | "notice" => Severity::Low,
        "high" | "critical" | "error" => Severity::High,
        _ => Severity::Medium,
    };
    let pattern = CustomPattern {
        name: name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect(),
        message: title.map_or_else(|| message.clone(), |title| format!("{title}: {message}")),
        kinds: Vec::new(),
        tools: file.tools,
        command: None,
        path: None,
        outcome: None,
        status: None,
        same: GroupBy::Outcome,
        window: 20,
        threshold: 3,
        severity,
        intervention: InterventionLevel::Nudge,
    };
    pattern.check()?;
    Ok(pattern)
}
