//! heartbeat's pattern files as custom patterns.

use belay_core::InterventionLevel;
use belay_core::rules::{CustomPattern, GroupBy, RuleError, Severity};
use serde::Deserialize;

#[derive(Deserialize)]
struct PatternFile {
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

/// Parses a pattern file (JSON with `name`, `tools`, `nudge`, ...). heartbeat's documentation means "the same call three
/// times among the last twenty"; Belay requires the same outcome as well.
pub fn parse_pattern(json: &str) -> Result<CustomPattern, RuleError> {
    let file: PatternFile = serde_json::from_str(json)
        .map_err(|e| RuleError::new("pattern file", format!("is not a heartbeat pattern: {e}")))?;
    let name = file.name.filter(|name| !name.is_empty()).ok_or_else(|| RuleError::new("name", "is missing"))?;
    let message = file.nudge.filter(|nudge| !nudge.trim().is_empty());
    let message = message.ok_or_else(|| RuleError::new("nudge", "is missing; it is the message to the agent"))?;
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

#[cfg(test)]
mod tests;
