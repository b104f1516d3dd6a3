//! Pages that explain why the requested page is not shown.

use maud::{Markup, html};

use crate::frame::{Frame, Live};
use crate::text::sentence;

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
