//! The report as text for a terminal.

use std::fmt::Write as _;
use std::time::Duration;

use belay_agents::display_name;
use belay_core::effect::Spend;
use belay_core::format::{capitalized, compact, dollars, duration, grouped, pluralize};
use belay_core::prices::Prices;
use belay_core::printable::single_line;
use jiff::tz::TimeZone;

use super::advice::advice;
use super::format::{bytes, date_range, day, money, money_or_dash, percent, under_reported};
use super::labels::{project, short};
use crate::totals::{GroupTotals, RankedLoop, Totals};

/// Maximum number of rows per table.
const MAX_ROWS: usize = 10;

/// Maximum number of loops listed.
const MAX_LOOPS: usize = 10;

/// Renders the report.
pub fn text(totals: &Totals, zone: &TimeZone) -> String {
    let mut out = String::new();
    let all = totals.sessions + totals.sub_agents;
    if all == 0 {
        out.push_str(
            "No session was found.\n\
             Without a path, Belay looks where your agents keep their sessions; with one, it looks there.\n",
        );
        damage(&mut out, totals);
        return out;
    }
    head(&mut out, totals, zone);
    loops(&mut out, totals);
    what_to_do(&mut out, totals);
    worst(&mut out, totals, zone);
    let agents = totals.agents.iter().map(|(id, group)| (display_name(id).to_owned(), *group)).collect();
    table(&mut out, "By agent", agents, Order::Cost);
    table(
        &mut out,
        "By model",
        totals.models.iter().map(|(name, group)| (name.clone(), *group)).collect(),
        Order::Cost,
    );
    let projects = totals.projects.iter().map(|(path, group)| (project(Some(path)).to_owned(), *group)).collect();
    table(&mut out, "By project", projects, Order::Cost);
    let days = totals.days.iter().map(|(date, group)| (date.to_string(), *group)).collect();
    table(&mut out, "By day", days, Order::Latest);
    damage(&mut out, totals);
    out
}

fn head(out: &mut String, totals: &Totals, zone: &TimeZone) {
    let subs = match totals.sub_agents {
        0 => String::new(),
        number => format!(" and {}", pluralize(number, "sub-agent")),
    };
    let names: Vec<&str> = totals.agent_names().into_iter().map(display_name).collect();
    let _ = write!(out, "{}{subs} of {}", pluralize(totals.sessions, "session"), names.join(", "));
    if totals.from.is_known() {
        let _ = write!(out, ", {}", date_range(totals.from, totals.to, zone));
    }
    out.push_str("\n\n");
    let usage = totals.usage();
    let rows = [
        ("tool calls", grouped(totals.spent.calls)),
        ("human turns", grouped(totals.human_turns)),
        (
            "tokens",
            format!(
                "{} ({} fresh input, {} cache writes, {} cache reads, {} output)",
                compact(usage.total()),
                compact(usage.input),
                compact(usage.cache_write),
                compact(usage.cache_read),
                compact(usage.output)
            ),
        ),
        ("money", format!("{} at list prices of {}", money(&totals.spent), Prices::built_in().as_of)),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "  {name:<12} {value}");
    }
    if !totals.unpriced.is_empty() {
        let mut names: Vec<&str> = totals.unpriced.keys().map(String::as_str).take(4).collect();
        if totals.unpriced.len() > names.len() {
            names.push("...");
        }
        let _ = writeln!(
            out,
            "  {:<12} {} without a known price, tokens only: {}",
            "",
            compact(totals.unpriced_tokens()) + " tokens",
            single_line(&names.join(", "))
        );
    }
    if totals.under_reported > 0 {
        let _ = writeln!(out, "  {:<12} {}", "", under_reported(totals.under_reported));
    }
}

fn loops(out: &mut String, totals: &Totals) {
    let steps = &totals.steps;
    let all = totals.sessions + totals.sub_agents;
    out.push('\n');
    if steps.loops == 0 {
        let noted = match steps.notices {
            0 => String::new(),
            1 => " One repetition was noted; no intervention would have followed.".to_owned(),
            number => format!(" {} repetitions were noted; no intervention would have followed.", grouped(number)),
        };
        let _ = writeln!(out, "No loops.{noted}");
        return;
    }
    let _ = writeln!(
        out,
        "{} in {} of {} sessions ({})",
        pluralize(steps.loops, "loop"),
        grouped(steps.looping),
        grouped(all),
        percent(steps.looping, all)
    );
    let _ = writeln!(
        out,
        "  nudged       {}, the agent reads what it repeats and what to try",
        pluralize(steps.nudged, "session")
    );
    let _ = writeln!(out, "  paused       {}, the agent waits for a person", pluralize(steps.paused, "session"));
    let _ =
        writeln!(out, "  saved        {} after the first nudge, if the agent follows it", spent(&steps.after_nudge));
    let _ = writeln!(out, "               {} after the first pause, guaranteed", spent(&steps.after_pause));
    let _ = writeln!(
        out,
        "  confidence   high for {}, medium for {}, low for {}",
        pluralize(steps.by_confidence[2], "loop"),
        steps.by_confidence[1],
        steps.by_confidence[0]
    );
    let mut patterns: Vec<(&String, &u64)> = totals.patterns.iter().collect();
    patterns.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let patterns: Vec<String> = patterns.iter().map(|(name, number)| format!("{name} {number}")).collect();
    let _ = writeln!(out, "  patterns     {}", patterns.join(", "));
    out.push_str(
        "\n\"Saved\" is what was spent in a loop after the step that would have stopped it, until the session\n\
         moved again for good: progress after which the repetition was not seen, a person's turn, or its end.\n\
         Confidence is high if the repetition continued three times or more after that step, low if it did not.\n",
    );
}

/// The patterns that cost most, with the command or rule that would have stopped them.
fn what_to_do(out: &mut String, totals: &Totals) {
    let advice = advice(totals);
    if advice.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWhat cost most, and what would have stopped it");
    for one in &advice {
        let _ = writeln!(out, "  {}: {}, {}", one.pattern, pluralize(one.loops, "loop"), spent(&one.after_nudge));
        let _ = writeln!(out, "      {}", one.practice);
        let _ = writeln!(out, "      {}", one.command);
    }
    let _ = writeln!(
        out,
        "  Belay nudges and pauses in agents that run under `belay run` or have its hooks (`belay init`)."
    );
}

fn spent(spent: &Spend) -> String {
    let mut text = pluralize(spent.calls, "call");
    if spent.usage.total() > 0 {
        let _ = write!(text, ", {} tokens", compact(spent.usage.total()));
    }
    if spent.cost_micros > 0 {
        let _ = write!(text, ", {}", dollars(spent.cost_micros));
    }
    if spent.millis > 0 {
        let _ = write!(text, ", {}", duration(Duration::from_millis(spent.millis)));
    }
    text
}

fn worst(out: &mut String, totals: &Totals, zone: &TimeZone) {
    if totals.worst.is_empty() {
        return;
    }
    let title = if totals.worst.len() > MAX_LOOPS { "The ten worst loops" } else { "All loops, worst first" };
    let _ = writeln!(out, "\n{title} (a session's calls are counted from 0)");
    for (at, worst) in totals.worst.iter().take(MAX_LOOPS).enumerate() {
        let _ = writeln!(out, "  {:>2}. {}", at + 1, single_line(&whose(worst, zone)));
        let _ = writeln!(out, "      {}", single_line(&worst.repeated.sentence));
        let _ = writeln!(out, "      {}", when(worst));
    }
}

/// The session and its agent.
fn whose(worst: &RankedLoop, zone: &TimeZone) -> String {
    let parent = match &worst.parent {
        Some(parent) => format!(", sub-agent of {}", short(parent)),
        None => String::new(),
    };
    let project = worst.project.as_deref().map_or(String::new(), |path| format!(" in {}", project(Some(path))));
    let began = match worst.started_at.is_known() {
        true => format!(", {}", day(worst.started_at, zone)),
        false => String::new(),
    };
    format!("{} {}{parent}{project}{began}", display_name(&worst.session.agent), short(&worst.session))
}

/// When the loop would have been stopped, and its cost after that.
pub(super) fn when(worst: &RankedLoop) -> String {
    let one = &worst.repeated;
    let mut steps = Vec::new();
    if let Some(step) = one.nudge {
        steps.push(format!("nudge at call {}", step.call));
    }
    if let Some(step) = one.pause {
        steps.push(format!("pause at call {}", step.call));
    }
    let mut text = capitalized(&steps.join(", "));
    match one.after_nudge.calls {
        0 => text.push_str("; the loop ended there"),
        _ => {
            let _ = write!(text, "; it continued to call {}: {} more", one.to_call, spent(&one.after_nudge));
        }
    }
    text + "."
}

enum Order {
    /// Most expensive first.
    Cost,
    /// Newest first.
    Latest,
}

fn table(out: &mut String, title: &str, rows: Vec<(String, GroupTotals)>, order: Order) {
    if rows.is_empty() {
        return;
    }
    // Names come from transcripts: of directories and models.
    let rows = rows.into_iter().map(|(name, group)| (single_line(&name).into_owned(), group));
    let mut rows = merged(rows.collect());
    match order {
        Order::Cost => rows.sort_by(|a, b| {
            (b.1.cost_micros, b.1.tokens, b.1.calls).cmp(&(a.1.cost_micros, a.1.tokens, a.1.calls)).then(a.0.cmp(&b.0))
        }),
        Order::Latest => rows.sort_by(|a, b| b.0.cmp(&a.0)),
    }
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).clamp(20, 40);
    let _ = writeln!(out, "\n{title:<width$}   sessions     calls    tokens       money  loops    saved");
    for (name, group) in rows {
        let name: String = name.chars().take(width).collect();
        let saved =
            if group.loops == 0 { "-".to_owned() } else { money_or_dash(group.saved_micros, group.saved_tokens) };
        let _ = writeln!(
            out,
            "  {name:<width$} {:>8} {:>9} {:>9} {:>11} {:>6} {saved:>8}",
            grouped(group.sessions),
            grouped(group.calls),
            compact(group.tokens),
            money_or_dash(group.cost_micros, group.tokens),
            grouped(group.loops),
        );
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
}

/// Merges rows of the same name: two directories may have the same name.
fn merged(rows: Vec<(String, GroupTotals)>) -> Vec<(String, GroupTotals)> {
    let mut merged: Vec<(String, GroupTotals)> = Vec::new();
    for (name, group) in rows {
        match merged.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => sum.add(&group),
            None => merged.push((name, group)),
        }
    }
    merged
}

/// Files that were read but do not count.
fn copies(out: &mut String, totals: &Totals) {
    if totals.copied_files == 0 {
        return;
    }
    let _ = writeln!(out, "{} only repeat others and count once:", pluralize(totals.copied_files, "file"));
    for path in &totals.copies {
        let _ = writeln!(out, "  {}", single_line(&path.display().to_string()));
    }
    if totals.copied_files > totals.copies.len() as u64 {
        let _ = writeln!(out, "  and {} more", grouped(totals.copied_files - totals.copies.len() as u64));
    }
}

fn damage(out: &mut String, totals: &Totals) {
    let _ = write!(out, "\nRead {}, {}", pluralize(totals.files, "file"), bytes(totals.tally.bytes));
    if totals.left_out > 0 {
        let _ = write!(out, "; {} excluded", pluralize(totals.left_out, "session"));
    }
    if totals.unknown_files > 0 {
        let _ = write!(out, "; {} left out, of an unknown format", pluralize(totals.unknown_files, "file"));
    }
    out.push_str(".\n");
    copies(out, totals);
    if totals.damaged_files == 0 {
        return;
    }
    let lines = match totals.tally.damaged_lines() {
        0 => String::new(),
        number => format!(", {} skipped", pluralize(number, "line")),
    };
    let _ = writeln!(out, "{} could not be read completely{lines}:", pluralize(totals.damaged_files, "file"));
    for damage in &totals.damaged {
        let why = match &damage.failed {
            Some(why) => why.clone(),
            None => {
                let errors: Vec<String> =
                    damage.errors.iter().take(3).map(|(line, error)| format!("line {line} is {error}")).collect();
                let rest = damage.lines.saturating_sub(errors.len() as u64);
                let rest = if rest == 0 { String::new() } else { format!(", and {rest} more") };
                format!("{}{rest}", errors.join(", "))
            }
        };
        let _ = writeln!(out, "  {}", single_line(&format!("{}: {why}", damage.path.display())));
    }
    if totals.damaged_files > totals.damaged.len() as u64 {
        let _ = writeln!(out, "  and {} more", totals.damaged_files - totals.damaged.len() as u64);
    }
}
