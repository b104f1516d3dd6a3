//! Earlier rounds, within a budget of tokens.

use std::fmt::Write as _;

use crate::task::Round;
use crate::verdict::VerdictStatus;

/// Characters per token, on average.
const CHARS_PER_TOKEN: usize = 4;

/// The rounds before the current one, newest first, as many as fit. The open issues are not repeated here: they have a
/// place of their own in every prompt.
pub fn history(rounds: &[Round], max_tokens: usize) -> Option<String> {
    let mut left = max_tokens.saturating_mul(CHARS_PER_TOKEN);
    let mut text = String::new();
    for (index, round) in rounds.iter().rev().enumerate() {
        let line = summary(round);
        if line.len() > left {
            let omitted = rounds.len() - index;
            let _ = writeln!(text, "- {omitted} earlier round{} omitted", if omitted == 1 { "" } else { "s" });
            break;
        }
        left -= line.len();
        text.push_str(&line);
    }
    (!text.is_empty()).then(|| text.trim_end().to_owned())
}

/// One line about a round.
fn summary(round: &Round) -> String {
    let mut line = format!("- Round {}: ", round.number);
    line.push_str(match &round.built {
        None => "the build did not finish",
        Some(built) if built.changed => "changed files",
        Some(_) => "changed nothing",
    });
    if let Some(built) = &round.built
        && !built.contents.is_empty()
    {
        let files: Vec<&str> = built.contents.keys().map(String::as_str).take(8).collect();
        let _ = write!(line, " ({}{})", files.join(", "), if built.contents.len() > 8 { ", ..." } else { "" });
    }
    if let Some(gate) = round.red_gate() {
        let _ = write!(line, "; `{}` failed: {}", gate.command, gate.summary);
    }
    for review in &round.reviews {
        let answer = match &review.verdict.status {
            VerdictStatus::Done => "accepted it".to_owned(),
            VerdictStatus::IssuesFound => {
                let count = review.verdict.issues.len();
                format!("raised {count} issue{}", if count == 1 { "" } else { "s" })
            }
            VerdictStatus::BlockedOnHuman { .. } => "asked for a person".to_owned(),
        };
        let _ = write!(line, "; {} {answer}", review.reviewer);
    }
    line.push('\n');
    line
}
