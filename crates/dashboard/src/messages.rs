//! Pages that say why there is no other page.

use maud::{Markup, html};

use crate::frame::{Frame, Live};
use crate::parts::command;
use crate::text::sentence;

/// The reader must log in first.
pub fn login_needed(frame: &Frame<'_>) -> Markup {
    frame.document("Log in", Live::default(), &html! {
        div.first.stack {
            div {
                h1 { "Log in from a terminal" }
                p { "This page is only shown to the user who runs Belay. The command opens it in your browser, logged in; its link works once." }
            }
            (command("belay open"))
        }
    })
}

/// Something failed: what happened, and what to do about it.
pub fn error(frame: &Frame<'_>, title: &str, message: &str, hint: Option<&str>) -> Markup {
    frame.document(
        title,
        Live::default(),
        &html! {
            div.first.stack {
                div {
                    h1 { (sentence(title)) }
                    p { (sentence(message)) }
                    @if let Some(hint) = hint { p.muted { (sentence(hint)) } }
                }
                p { a.link href="/" { "Overview" } }
            }
        },
    )
}
