//! Forms that decide.

use belay_core::printable::single_line;
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

/// What a button asks about before something is decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// Id of the dialog.
    pub(crate) dialog: &'a str,
    /// Address that takes the decision.
    pub(crate) action: &'a str,
    /// How the command line names it.
    pub(crate) short: &'a str,
    pub(crate) title: &'a str,
    /// Values of fields that the dialog begins with.
    pub(crate) fields: &'a [(&'a str, &'a str)],
}

/// A button that opens a dialog.
pub(crate) fn ask_about(class: &str, ask: &Ask<'_>, label: impl maud::Render) -> Markup {
    let fields: serde_json::Map<String, serde_json::Value> =
        ask.fields.iter().map(|(field, value)| ((*field).to_owned(), single_line(value).into())).collect();
    let fields = (!fields.is_empty()).then(|| serde_json::Value::Object(fields).to_string());
    html! {
        button class=[(!class.is_empty()).then_some(class)] type="button" data-ask=(ask.dialog) data-action=(ask.action)
            data-short=(name(ask.short)) data-title=(name(ask.title)) data-fields=[fields] { (label) }
    }
}

/// A button that opens one of the dialogs of `decide::dialogs` for a session.
pub(crate) fn ask(class: &str, dialog: &str, session: &str, short: &str, title: &str, label: &str) -> Markup {
    ask_about(class, &Ask { dialog, action: &decisions_url(session), short, title, fields: &[] }, label)
}
