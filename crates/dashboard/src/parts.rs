//! Small parts that every page uses.

use belay_core::Timestamp;
pub(crate) use belay_core::subject::path_segment;
use belay_ipc::views::SessionView;
use maud::{Markup, Render, html};

use crate::frame::Frame;
use crate::text::{exact, name};
use crate::words;

/// How long something lasts. The page counts on.
pub(crate) fn since(frame: &Frame<'_>, at: Timestamp) -> Markup {
    html! { time datetime=(at) data-time="since" { (words::duration(frame.now.saturating_since(at))) } }
}

/// How long until something happens. The page counts down.
pub(crate) fn until(frame: &Frame<'_>, at: Timestamp) -> Markup {
    html! { time datetime=(at) data-time="until" { (words::duration(at.saturating_since(frame.now))) } }
}

/// A moment: a time today, a date before.
pub(crate) fn moment(frame: &Frame<'_>, at: Timestamp) -> Markup {
    html! { time datetime=(at) { (words::moment(at, frame.now, frame.zone)) } }
}

/// A command to read or copy.
pub(crate) fn command(line: &str) -> Markup {
    html! {
        div.cmd {
            code { (exact(line)) }
            button.plain type="button" data-copy aria-label={ "Copy: " (name(line)) } { "Copy" }
        }
    }
}

/// A share of something. The number stands beside it, so the bar needs no words of its own.
pub(crate) fn bar(percent: u32, label: &str) -> Markup {
    let class = match percent {
        0..=75 => "bar",
        76..=90 => "bar warn",
        _ => "bar bad",
    };
    html! {
        svg class=(class) viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=(name(label)) {
            rect width=(percent.min(100)) height="4" {}
        }
    }
}

/// Address of a session's page.
pub(crate) fn session_url(key: &str) -> String {
    format!("/sessions/{}", path_segment(key))
}

/// An element id for a key: equal keys have equal ids, and the id has no special characters.
pub(crate) fn element_id(prefix: &str, key: &str) -> String {
    format!("{prefix}-{:016x}", xxhash_rust::xxh3::xxh3_64(key.as_bytes()))
}

/// "Claude Code · shop fix/cart-discount"
pub(crate) fn whereabouts(session: &SessionView) -> Markup {
    html! {
        small {
            (name(words::display_name(&session.agent)))
            @if let Some(project) = session.project_name() { " · " (name(project)) }
            @if let Some(branch) = &session.branch { " " i { (name(branch)) } }
        }
    }
}

/// A link to a session by its title.
pub(crate) fn session_link(session: &SessionView) -> Markup {
    html! { a href=(session_url(&session.session)) { (name(session.title())) } }
}

/// A panel with its heading.
pub(crate) fn panel(id: &str, title: impl Render, aside: impl Render, content: &Markup) -> Markup {
    html! {
        section.panel id=(id) aria-labelledby={ (id) "-h" } {
            header { h2 id={ (id) "-h" } { (title) } (aside) }
            (content)
        }
    }
}

/// Quoted text, without quotation marks of its own.
pub(crate) fn small(text: impl Render) -> Markup {
    html! { small { (text) } }
}
