//! The report as one HTML page: no scripts, no external resources, with a dark mode.

mod chart;

use std::fmt::Write as _;

use belay_agents::display_name;
use belay_core::format::{compact, dollars, grouped, pluralize};
use belay_core::prices::Prices;
use belay_core::printable::is_unprintable;
use jiff::tz::TimeZone;

use self::chart::{Bar, columns, rows};
use super::format::{bytes, date_range, day, money, money_or_dash, percent, under_reported};
use super::labels::{project, short};
use super::text::when;
use crate::totals::{GroupTotals, RankedLoop, Totals};

/// Maximum number of loops listed.
const MAX_LOOPS: usize = 50;

/// Maximum number of rows per table.
const MAX_ROWS: usize = 25;

/// Renders the page.
pub fn html(totals: &Totals, zone: &TimeZone) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Belay audit</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        include_str!("html/page.css")
    );
    head(&mut out, totals, zone);
    days(&mut out, totals);
    patterns(&mut out, totals);
    worst(&mut out, totals, zone);
    table(&mut out, "Agents", totals.agents.iter().map(|(id, group)| (display_name(id).to_owned(), *group)).collect());
    table(&mut out, "Models", totals.models.iter().map(|(name, group)| (name.clone(), *group)).collect());
    table(&mut out, "Projects", totals.projects.iter().map(|(path, group)| (path.clone(), *group)).collect());
    foot(&mut out, totals);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_unprintable(c) && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn head(out: &mut String, totals: &Totals, zone: &TimeZone) {
    let agents: Vec<&str> = totals.agent_names().into_iter().map(display_name).collect();
    let span = match totals.from.is_known() {
        true => format!(", {}", date_range(totals.from, totals.to, zone)),
        false => String::new(),
    };
    let _ = writeln!(
        out,
        "<h1>Belay audit</h1>\n<p class=\"lead\">{} of {}{span}</p>",
        pluralize(totals.sessions, "session"),
        escape(&agents.join(", "))
    );
    let steps = &totals.steps;
    let all = totals.sessions + totals.sub_agents;
    let cards = [
        ("tool calls", grouped(totals.spent.calls), format!("{} by people", pluralize(totals.human_turns, "turn"))),
        (
            "tokens",
            compact(totals.spent.usage.total()),
            format!("{} of them read from the cache", compact(totals.spent.usage.cache_read)),
        ),
        ("money", money(&totals.spent), format!("list prices of {}", Prices::built_in().as_of)),
        (
            "loops",
            grouped(steps.loops),
            format!("in {} ({})", pluralize(steps.looping, "session"), percent(steps.looping, all)),
        ),
        (
            "saved after a nudge",
            money(&steps.after_nudge),
            format!(
                "{}, {} tokens",
                pluralize(steps.after_nudge.calls, "call"),
                compact(steps.after_nudge.usage.total())
            ),
        ),
        (
            "saved after a pause",
            money(&steps.after_pause),
            format!(
                "{}, {} tokens",
                pluralize(steps.after_pause.calls, "call"),
                compact(steps.after_pause.usage.total())
            ),
        ),
    ];
    out.push_str("<section class=\"cards\">\n");
    for (name, value, more) in cards {
        let _ = writeln!(
            out,
            "<div class=\"card\"><span>{name}</span><strong>{}</strong><small>{}</small></div>",
            escape(&value),
            escape(&more)
        );
    }
    out.push_str("</section>\n");
    if !totals.unpriced.is_empty() {
        let names: Vec<String> = totals.unpriced.keys().map(|name| escape(name)).collect();
        let _ = writeln!(
            out,
            "<p class=\"note\">{} tokens went to models without a known price and are not in the money: {}.</p>",
            compact(totals.unpriced_tokens()),
            names.join(", ")
        );
    }
    if totals.under_reported > 0 {
        let _ = writeln!(out, "<p class=\"note\">{}.</p>", under_reported(totals.under_reported));
    }
}

fn days(out: &mut String, totals: &Totals) {
    if totals.days.is_empty() {
        return;
    }
    let priced = totals.spent.cost_micros > 0;
    let bars: Vec<Bar> = totals
        .days
        .iter()
        .map(|(date, group)| {
            let (value, part) = match priced {
                true => (group.cost_micros, group.saved_micros),
                false => (group.tokens, group.saved_tokens),
            };
            let spent = if priced { dollars(value) } else { format!("{} tokens", compact(value)) };
            let loops = if group.loops == 0 { String::new() } else { format!(", {}", pluralize(group.loops, "loop")) };
            Bar { name: date.to_string(), value, part: part.min(value), note: format!("{date}: {spent}{loops}") }
        })
        .collect();
    let what = if priced { "Money" } else { "Tokens" };
    let _ = writeln!(
        out,
        "<section>\n<h2>{what} by day</h2>\n{}<p class=\"legend\"><i class=\"all\"></i> spent <i class=\"part\"></i> spent in \
         loops after the first nudge</p>\n</section>",
        columns(&bars, if priced { dollars } else { compact })
    );
}

fn patterns(out: &mut String, totals: &Totals) {
    if totals.patterns.is_empty() {
        return;
    }
    let mut bars: Vec<Bar> = totals
        .patterns
        .iter()
        .map(|(name, number)| Bar {
            name: name.replace('_', " "),
            value: *number,
            part: 0,
            note: format!("{}: {}", name.replace('_', " "), pluralize(*number, "loop")),
        })
        .collect();
    bars.sort_by(|a, b| b.value.cmp(&a.value).then(a.name.cmp(&b.name)));
    let _ = writeln!(out, "<section>\n<h2>Patterns</h2>\n{}</section>", rows(&bars));
}

fn worst(out: &mut String, totals: &Totals, zone: &TimeZone) {
    if totals.worst.is_empty() {
        out.push_str("<section>\n<h2>Loops</h2>\n<p>None. Nothing would have been nudged or paused.</p>\n</section>\n");
        return;
    }
    out.push_str("<section>\n<h2>Loops, worst first</h2>\n");
    for (at, worst) in totals.worst.iter().take(MAX_LOOPS).enumerate() {
        loop_card(out, at + 1, worst, zone);
    }
    if totals.steps.loops > MAX_LOOPS.min(totals.worst.len()) as u64 {
        let _ = writeln!(
            out,
            "<p class=\"note\">{} are not shown.</p>",
            pluralize(totals.steps.loops - MAX_LOOPS as u64, "loop")
        );
    }
    out.push_str("</section>\n");
}

fn loop_card(out: &mut String, at: usize, worst: &RankedLoop, zone: &TimeZone) {
    let parent = match &worst.parent {
        Some(parent) => format!(" <span>sub-agent of {}</span>", escape(&short(parent))),
        None => String::new(),
    };
    let saved = match worst.repeated.after_nudge.cost_micros {
        0 => pluralize(worst.repeated.after_nudge.calls, "call"),
        micros => dollars(micros),
    };
    let _ = write!(
        out,
        "<details class=\"loop\">\n<summary><b>{at}</b> <em>{saved}</em> {}<br><small>{} {}{parent} in {}, {}</small></summary>\n\
         <p>{}</p>\n",
        escape(&worst.repeated.sentence),
        escape(display_name(&worst.session.agent)),
        escape(&short(&worst.session)),
        escape(project(worst.project.as_deref())),
        day(worst.started_at, zone),
        escape(&when(worst)),
    );
    if !worst.evidence.is_empty() {
        out.push_str("<table>\n<tr><th class=\"n\">call</th><th>what</th><th>result</th></tr>\n");
        for evidence in &worst.evidence {
            let _ = writeln!(
                out,
                "<tr><td class=\"n\">{}</td><td><code>{}</code></td><td><code>{}</code></td></tr>",
                evidence.call,
                escape(&evidence.what),
                escape(&evidence.outcome)
            );
        }
        out.push_str("</table>\n");
    }
    let _ = writeln!(out, "<p class=\"file\">{}</p>\n</details>", escape(&worst.file.to_string_lossy()));
}

fn table(out: &mut String, title: &str, mut groups: Vec<(String, GroupTotals)>) {
    if groups.is_empty() {
        return;
    }
    groups.sort_by(|a, b| {
        (b.1.cost_micros, b.1.tokens, b.1.calls).cmp(&(a.1.cost_micros, a.1.tokens, a.1.calls)).then(a.0.cmp(&b.0))
    });
    let _ = write!(
        out,
        "<section>\n<h2>{title}</h2>\n<table>\n<tr><th></th><th class=\"n\">sessions</th><th class=\"n\">calls</th>\
         <th class=\"n\">tokens</th><th class=\"n\">money</th><th class=\"n\">loops</th><th class=\"n\">saved</th></tr>\n"
    );
    let more = groups.len().saturating_sub(MAX_ROWS);
    for (name, group) in groups.into_iter().take(MAX_ROWS) {
        let saved =
            if group.loops == 0 { "-".to_owned() } else { money_or_dash(group.saved_micros, group.saved_tokens) };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{saved}</td></tr>",
            escape(&name),
            grouped(group.sessions),
            grouped(group.calls),
            compact(group.tokens),
            money_or_dash(group.cost_micros, group.tokens),
            grouped(group.loops),
        );
    }
    out.push_str("</table>\n");
    if more > 0 {
        let _ = writeln!(out, "<p class=\"note\">and {more} more</p>");
    }
    out.push_str("</section>\n");
}

fn foot(out: &mut String, totals: &Totals) {
    let copies = match totals.copied_files {
        0 => String::new(),
        number => format!(" {} only repeat others and count once.", pluralize(number, "file")),
    };
    let damage = match totals.damaged_files {
        0 => String::new(),
        number => format!(
            " {} could not be read completely; {} were skipped.",
            pluralize(number, "file"),
            pluralize(totals.tally.damaged_lines(), "line")
        ),
    };
    let _ = writeln!(
        out,
        "<footer>\n<p>A loop lasts from the first call of its evidence until the session moves again: a sign of progress, a \
         person's turn, or its end. Saved is what was spent in a loop after the step that would have stopped it: after a \
         nudge if the agent follows it, after a pause in any case.</p>\n<p>Read {}, {}.{copies}{damage}</p>\n</footer>",
        pluralize(totals.files, "file"),
        bytes(totals.tally.bytes)
    );
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn what_an_agent_wrote_cannot_break_out_of_the_page() {
        assert_eq!(escape("<script>alert('1')&\"\u{1b}["), "&lt;script&gt;alert(&#39;1&#39;)&amp;&quot;\u{fffd}[");
    }
}
