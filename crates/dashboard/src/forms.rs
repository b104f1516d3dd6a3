//! Forms that decide.

use maud::{Markup, html};

use crate::frame::Frame;
use crate::parts::session_url;
use crate::text::name;

/// Address that takes decisions about a session.
pub(crate) fn decisions_url(session: &str) -> String {
    format!("{}/decisions", session_url(session))
}

/// A form. Its content is disabled for a reader who is not logged in.
pub(crate) fn form(frame: &Frame<'_>, class: &str, action: &str, content: &Markup) -> Markup {
    html! {
        form class=(class) method="post" action=(action) data-post { (guarded(frame, content)) }
    }
}

/// The content of a form with its token.
pub(crate) fn guarded(frame: &Frame<'_>, content: &Markup) -> Markup {
    match frame.form_token {
        Some(token) => html! { input type="hidden" name="form_token" value=(token); (content) },
        None => html! { fieldset disabled title="Log in to decide: run belay open" { (content) } },
    }
}

/// A button that decides.
pub(crate) fn decision(class: &str, value: &str, label: impl maud::Render) -> Markup {
    html! { button class=[(!class.is_empty()).then_some(class)] name="decision" value=(value) { (label) } }
}

/// A button that opens one of the dialogs of `decide::dialogs` for a session.
pub(crate) fn ask(class: &str, dialog: &str, session: &str, short: &str, title: &str, label: &str) -> Markup {
    html! {
        button class=[(!class.is_empty()).then_some(class)] type="button" data-ask=(dialog)
            data-action=(decisions_url(session)) data-short=(name(short)) data-title=(name(title)) { (label) }
    }
}
