//! Draws the picture.

use belay_core::session::CallMark;
use belay_ipc::views::{CallView, FlagKind, PictureFlag, PictureView};
use maud::{Markup, html};

use super::layout::{BAND, COLUMN, Column, ColumnKind, FLAGS, GROUND, Layout};
use super::marks::mark;
use super::{at_newest_end, letter};
use crate::charts::px;
use crate::frame::Frame;
use crate::text::name;
use crate::words;

/// "nothing new for N calls" is worth saying from here on.
const NOTABLE_CALLS: u64 = 5;

/// Share of the context window that is marked.
const CONTEXT_MARK: f64 = 80.0;

/// Width of a letter in the text of flags, to keep them apart.
const LETTER: f64 = 6.0;

/// Letters of a prompt that are shown.
const PROMPT_LETTERS: usize = 24;

pub(super) fn picture(frame: &Frame<'_>, view: &PictureView, layout: &Layout) -> Markup {
    let (width, height) = (px(layout.width), px(layout.height));
    html! {
        svg width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby="picture-t picture-d" {
            title id="picture-t" { (title(view)) }
            desc id="picture-d" { (description(view)) }
            (rounds(view, layout))
            (rules(layout))
            (new_ground(view, layout))
            (thread(view, layout))
            (marks(view, layout))
            (since_progress(view, layout))
            (burn(view, layout))
            (context(view, layout))
            (folds(layout))
            (flags(view, layout))
            (axis(frame, view, layout))
            rect.cursor width="18" height=(px(layout.axis - FLAGS)) y=(px(FLAGS)) x=(px(layout.width - 22.0)) {}
        }
    }
}

fn title(view: &PictureView) -> String {
    let (first, last) = (view.calls.first().map_or(0, |call| call.call), view.calls.last().map_or(0, |call| call.call));
    let shape =
        if view.rows.iter().any(|row| row.in_finding) { "new ground, then a loop" } else { "new ground and repeats" };
    format!("Calls {} to {}: {shape}", words::grouped(first), words::grouped(last))
}

fn description(view: &PictureView) -> String {
    let letters: Vec<String> =
        view.rows.iter().filter(|row| row.in_finding).enumerate().map(|(row, _)| letter(row).to_string()).collect();
    let table = "The same calls are listed in the events table below.";
    match (letters.is_empty(), view.finding_from) {
        (false, Some(from)) => format!(
            "Calls that were made for the first time climb in the upper band. From call {} on, the same calls with the same outcomes return in the rows {}, {}. {table}",
            words::grouped(from),
            letters.join(", "),
            words::pluralize(view.rounds.len() as u64, "round"),
        ),
        _ => format!(
            "Calls that were made for the first time climb in the upper band. No finding colours the rows. {table}"
        ),
    }
}

fn rounds(view: &PictureView, layout: &Layout) -> Markup {
    let drawn = view.rounds.iter().enumerate().filter_map(|(index, round)| {
        let (first, last) = (layout.column(view, round.first)?, layout.column(view, round.last)?);
        let shown = matches!((&first.kind, &last.kind), (ColumnKind::Calls(_), ColumnKind::Calls(_)));
        shown.then_some((index, first.x, last.x + last.width - first.x))
    });
    html! {
        @for (index, x, width) in drawn {
            @if index % 2 == 0 { rect.band x=(px(x)) y=(px(FLAGS)) width=(px(width)) height=(px(layout.axis - FLAGS)) {} }
            text.strong x=(px(x + width / 2.0)) y="28" text-anchor="middle" { (words::grouped(index as u64 + 1)) }
        }
    }
}

fn rules(layout: &Layout) -> Markup {
    let borders = [FLAGS + GROUND, layout.hill, layout.burn, layout.context, layout.axis].map(|y| y + 0.5);
    html! {
        @for y in borders.into_iter().chain(layout.rows.iter().map(|row| row.y)) {
            path.rule d={ "M0 " (px(y)) "H" (px(layout.width)) } {}
        }
    }
}

fn new_ground(view: &PictureView, layout: &Layout) -> Markup {
    let (top, bottom) = (FLAGS + 16.0, FLAGS + GROUND - 14.0);
    let distinct = || view.calls.iter().map(|call| call.distinct);
    let (least, most) = (distinct().min().unwrap_or(0), distinct().max().unwrap_or(0));
    let step = ((bottom - top) / most.saturating_sub(least).max(1) as f64).min(12.0);
    let y = |distinct: u64| top + most.saturating_sub(distinct) as f64 * step;
    let mut line = String::new();
    let mut dots = Vec::new();
    let mut rise = None;
    for (column, calls) in layout.drawn() {
        let calls = &view.calls[calls];
        let Some(last) = calls.last() else { continue };
        let (x, y) = (column.middle(), y(last.distinct));
        line.push_str(&match line.is_empty() {
            true => format!("M{} {}", px(x), px(y)),
            false => format!("H{}V{}", px(x), px(y)),
        });
        let progress = calls.iter().any(|call| call.progress);
        if progress || calls.iter().any(|call| call.first) {
            dots.push((x, y, progress));
        }
        if calls.iter().any(|call| call.first) {
            rise = Some(x);
        }
    }
    let end = layout.drawn().next_back().map_or(0.0, |(column, _)| column.middle());
    let flat = view.calls_without_new >= NOTABLE_CALLS && at_newest_end(view);
    html! {
        path.thread d=(line) {}
        @if flat {
            path.thread.hot stroke-dasharray="1 4" stroke-linecap="round" d={ "M" (px(rise.unwrap_or(4.0))) " " (px(y(most))) "H" (px(end)) } {}
        }
        @for (x, y, progress) in dots {
            @if progress { circle.up cx=(px(x)) cy=(px(y)) r="4" {} } @else { circle.m.o cx=(px(x)) cy=(px(y)) r="3" {} }
        }
        @if flat {
            text.strong.halo x=(px(label_end(view, layout))) y=(px(y(most) + 18.0)) text-anchor="end" {
                "nothing new for " (words::pluralize(view.calls_without_new, "call"))
            }
        }
    }
}

/// Where labels of the newest values end: left of a flag near the end, which would cross them.
fn label_end(view: &PictureView, layout: &Layout) -> f64 {
    let end = layout.drawn().next_back().map_or(0.0, |(column, _)| column.middle());
    let flag = view.flags.iter().filter_map(|flag| flag_x(view, layout, flag)).next_back();
    flag.filter(|x| (end - 3.0 * COLUMN..=end).contains(x)).map_or(end, |x| x - 6.0)
}

/// The calls of the finding, joined from one to the next.
fn thread(view: &PictureView, layout: &Layout) -> Markup {
    let mut path = String::new();
    let mut pen_down = false;
    for column in &layout.columns {
        let ColumnKind::Calls(calls) = &column.kind else {
            pen_down = false;
            continue;
        };
        for call in &view.calls[calls.clone()] {
            let row = layout.row(view, &call.pair).filter(|row| row.letter.is_some());
            let Some(row) = row.filter(|_| in_finding(view, call) && call.mark != CallMark::HeldBack) else { continue };
            path.push_str(&format!("{}{} {}", if pen_down { "L" } else { "M" }, px(column.middle()), px(row.y)));
            pen_down = true;
        }
    }
    html! { @if !path.is_empty() { path.thread.hot d=(path) {} } }
}

fn in_finding(view: &PictureView, call: &CallView) -> bool {
    view.finding_from.is_some_and(|from| call.call >= from)
}

fn marks(view: &PictureView, layout: &Layout) -> Markup {
    html! {
        @for (column, calls) in layout.drawn() {
            @for call in &view.calls[calls] {
                @if let Some(row) = layout.row(view, &call.pair) { (mark(call.mark, column.middle(), row.y, row.letter)) }
            }
        }
    }
}

/// The last call of every column, with its place.
fn points<'a>(
    view: &'a PictureView,
    layout: &'a Layout,
) -> impl DoubleEndedIterator<Item = (&'a Column, &'a CallView)> {
    layout.drawn().filter_map(|(column, calls)| Some((column, view.calls[calls].last()?)))
}

fn since_progress(view: &PictureView, layout: &Layout) -> Markup {
    let most = view.calls.iter().map(|call| call.since_progress_micros).max().unwrap_or(0);
    if most == 0 {
        return html! {};
    }
    let base = layout.hill + BAND - 4.0;
    let y = |micros: u64| base - micros as f64 / most as f64 * (BAND - 18.0);
    let calm = if view.rows.iter().any(|row| row.in_finding) { "" } else { " calm" };
    let mut ridge = String::new();
    for (column, call) in points(view, layout) {
        let verb = if ridge.is_empty() { "M" } else { "L" };
        if call.progress && !ridge.is_empty() {
            ridge.push_str(&format!("V{}", px(base)));
        }
        ridge.push_str(&format!("{verb}{} {}", px(column.middle()), px(y(call.since_progress_micros))));
    }
    let ends = points(view, layout).next().zip(points(view, layout).next_back());
    html! {
        @if let Some(((first, _), (last, newest))) = ends {
            path class={ "hill" (calm) } d={ (ridge) "V" (px(base)) "H" (px(first.middle())) "Z" } {}
            path class={ "ridge" (calm) } d=(ridge) {}
            @if newest.since_progress_micros > 0 {
                text.strong.halo x=(px(label_end(view, layout).min(last.middle()))) y=(px((y(newest.since_progress_micros) - 4.0).max(layout.hill + 12.0))) text-anchor="end" {
                    (words::dollars(newest.since_progress_micros))
                }
            }
        }
    }
}

fn burn(view: &PictureView, layout: &Layout) -> Markup {
    let total = |call: &CallView| call.fresh_tokens.saturating_add(call.cached_tokens);
    let most = view.calls.iter().map(total).max().unwrap_or(0);
    let base = layout.burn + BAND;
    let tall = |tokens: u64| if most == 0 { 0.0 } else { tokens as f64 / most as f64 * (BAND - 16.0) };
    html! {
        @for (column, call) in points(view, layout) {
            @let (cached, fresh) = (tall(call.cached_tokens), tall(call.fresh_tokens));
            @let x = px(column.middle() - 4.0);
            @if cached > 0.0 { rect.fill1 x=(x) width="8" y=(px(base - cached)) height=(px(cached)) {} }
            @if fresh > 0.0 { rect.fill2 x=(x) width="8" y=(px(base - cached - fresh)) height=(px(fresh.max(0.5))) {} }
        }
    }
}

fn context(view: &PictureView, layout: &Layout) -> Markup {
    let y = |percent: f64| layout.context + BAND - 4.0 - percent.min(100.0) / 100.0 * (BAND - 14.0);
    let mut line = String::new();
    let mut newest = None;
    for (column, call) in points(view, layout) {
        let Some(percent) = call.context_percent else { continue };
        let verb = if line.is_empty() { "M" } else { "L" };
        line.push_str(&format!("{verb}{} {}", px(column.middle()), px(y(f64::from(percent)))));
        newest = Some((column.middle(), percent));
    }
    html! {
        @if let Some((x, percent)) = newest {
            path.rule stroke-dasharray="2 3" d={ "M0 " (px(y(CONTEXT_MARK))) "H" (px(layout.width)) } {}
            text x="6" y=(px(y(CONTEXT_MARK) - 3.0)) { "80 %" }
            path.line d=(line) {}
            text.strong.halo x=(px(x.min(label_end(view, layout)))) y=(px(y(f64::from(percent)) - 4.0)) text-anchor="end" { (percent) " %" }
        }
    }
}

fn folds(layout: &Layout) -> Markup {
    let top = FLAGS + GROUND;
    let middle = layout.rows.iter().filter(|row| row.letter.is_some()).map(|row| row.y);
    let middle = middle.clone().fold(0.0, |sum, y| sum + y) / middle.count().max(1) as f64;
    let middle = if middle > top { middle } else { top - 40.0 };
    html! {
        @for column in &layout.columns {
            @if let ColumnKind::Fold(fold) = &column.kind {
                @let (x, [count, cost]) = (column.middle(), fold.words());
                path.flag.soft d={ "M" (px(column.x + 6.0)) " " (px(top)) "V" (px(layout.axis)) "M" (px(column.x + column.width - 6.0)) " " (px(top)) "V" (px(layout.axis)) } {}
                text.strong.halo x=(px(x)) y=(px(middle - 2.0)) text-anchor="middle" { (count) }
                text.halo x=(px(x)) y=(px(middle + 14.0)) text-anchor="middle" { (cost) }
            }
        }
    }
}

fn flags(view: &PictureView, layout: &Layout) -> Markup {
    // Newest first: if two labels collide, the newer one is kept.
    let mut free = layout.width;
    let mut drawn: Vec<Markup> = Vec::new();
    for flag in view.flags.iter().rev() {
        let Some(x) = flag_x(view, layout, flag) else { continue };
        let (word, strong) = flag_word(flag);
        let Some(word) = word else { continue };
        let wide = word.chars().count() as f64 * LETTER;
        // A prompt begins the calls to its right; an intervention ends those to its left.
        let (from, to) = if flag.kind == FlagKind::Prompt { (x, x + 4.0 + wide) } else { (x - 4.0 - wide, x) };
        let fits = to <= free && from >= 0.0;
        if fits {
            free = from - 6.0;
        }
        drawn.push(html! {
            path class=(if strong { "flag" } else { "flag soft" }) d={ "M" (px(x + 0.5)) " 14V" (px(layout.axis)) } {}
            @if fits && flag.kind == FlagKind::Prompt {
                text x=(px(x + 4.0)) y="11" { (word) }
            } @else if fits {
                text class=[strong.then_some("strong")] x=(px(x - 3.0)) y="11" text-anchor="end" { (word) }
            }
        });
    }
    html! { @for flag in drawn.into_iter().rev() { (flag) } }
}

fn flag_x(view: &PictureView, layout: &Layout, flag: &PictureFlag) -> Option<f64> {
    let first = view.calls.first()?.call;
    if flag.after + 1 == first {
        return layout.columns.first().map(|column| column.x);
    }
    let column = layout.column(view, flag.after)?;
    Some(match column.kind {
        ColumnKind::Calls(_) => column.x + column.width,
        ColumnKind::Fold(_) => return None,
    })
}

fn flag_word(flag: &PictureFlag) -> (Option<String>, bool) {
    let (word, strong) = match flag.kind {
        FlagKind::Notice => ("notice", false),
        FlagKind::Nudge => ("nudge", false),
        FlagKind::Pause => ("pause", true),
        FlagKind::Kill => ("kill", true),
        FlagKind::Resume => ("resumed", false),
        // The label of the context's row names it.
        FlagKind::Compacted => return (None, false),
        FlagKind::Prompt => {
            let text = name(&flag.text).to_text();
            let short: String = text.chars().take(PROMPT_LETTERS).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            return (Some(format!("you: “{}{more}”", short.trim_end())), false);
        }
    };
    (Some(word.to_owned()), strong)
}

/// Every tenth call with its time, as far as the labels fit.
fn axis(frame: &Frame<'_>, view: &PictureView, layout: &Layout) -> Markup {
    let mut free = 0.0;
    let mut ticks = Vec::new();
    for (column, calls) in layout.drawn() {
        let Some(call) = view.calls[calls].iter().find(|call| call.call % 10 == 0) else { continue };
        let number = words::grouped(call.call);
        let wide = (number.len() as f64 + 7.0) * LETTER;
        let x = column.middle();
        if x - wide / 2.0 >= free && x + wide / 2.0 <= layout.width {
            free = x + wide / 2.0 + 4.0;
            ticks.push((x, number, words::clock(call.at, frame.zone)));
        }
    }
    html! {
        @for (x, number, time) in ticks {
            path.axis d={ "M" (px(x)) " " (px(layout.axis)) "v4" } {}
            text x=(px(x)) y=(px(layout.axis + 16.0)) text-anchor="middle" {
                tspan.strong { (number) } tspan dx="5" { (time) }
            }
        }
    }
}
