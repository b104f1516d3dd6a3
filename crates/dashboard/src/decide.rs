//! The dialogs that ask before something is decided. A page has one of each kind; `assets/ask.js` fills in the session.

use maud::{Markup, html};

use crate::forms::guarded;
use crate::frame::Frame;
use crate::text::exact;

/// Fields of a resume: note, changed plan, cooldown.
pub(crate) fn resume_fields(prefix: &str) -> Markup {
    html! {
        div {
            label for={ (prefix) "-note" } { b { "Note the agent reads" } }
            textarea id={ (prefix) "-note" } name="note" rows="2" maxlength="4000" placeholder="What should it do differently?" {}
        }
        div.row {
            label.row { input type="checkbox" name="require_plan" value="true"; " only with a changed plan" }
            label.row.end {
                "after "
                select name="cooldown_secs" {
                    option value="" { "now" }
                    option value="600" { "10 min" }
                    option value="3600" { "1 h" }
                }
            }
        }
    }
}

/// The command that equals a form; `assets/mirror.js` rewrites it.
pub(crate) fn mirror(line: &str) -> Markup {
    html! {
        div.cmd data-mirror-of {
            code { (exact(line)) }
            button.plain type="button" data-copy aria-label="Copy the command" { "Copy" }
        }
    }
}

pub(crate) fn dialogs(frame: &Frame<'_>) -> Markup {
    html! {
        (dialog(frame, "ask-resume", "Resume", "resume", &html! {
            (resume_fields("ask-resume"))
            div.acts { button.main name="decision" value="resume" { "Resume" } (close("Keep it held")) }
        }))
        (dialog(frame, "ask-budget", "Budget of", "budget", &html! {
            label.row {
                b { "New total, in dollars" }
                input type="number" name="dollars" min="0" step="any" required;
            }
            label.row { input type="checkbox" name="resume" value="true" checked; " and resume it if its budget holds it" }
            div.acts { button.main name="decision" value="budget" { "Set the budget" } (close("Leave it")) }
        }))
        (dialog(frame, "ask-kill", "Kill", "kill", &html! {
            p { "The agent is stopped for good and cannot be resumed. Its files stay as they are, including uncommitted changes." }
            label {
                b { "What the next session in this project is told" }
                textarea name="note" rows="2" maxlength="4000" {}
            }
            div.acts { button.bad name="decision" value="kill" { "Kill" } (close("Do not kill it")) }
        }))
        dialog.panel id="ask-confirm" aria-labelledby="ask-confirm-h" {
            header { h2 id="ask-confirm-h" { "Are you sure?" } }
            div.body {
                p data-text {}
                div.acts { button.bad type="button" data-yes {} (close("Leave it")) }
            }
        }
    }
}

/// A dialog that asks about one thing, with the command that does the same.
pub(crate) fn dialog(frame: &Frame<'_>, id: &str, verb: &str, command: &str, content: &Markup) -> Markup {
    html! {
        dialog.panel id=(id) aria-labelledby={ (id) "-h" } {
            header { h2 id={ (id) "-h" } { (verb) " “" span data-title {} "”" } }
            form.body method="post" data-post data-mirror=(command) {
                (guarded(frame, content))
                output.answer {}
                (mirror(&format!("belay {command}")))
            }
        }
    }
}

/// A button that closes the dialog around it.
pub(crate) fn close(label: &str) -> Markup {
    html! { button type="button" data-close { (label) } }
}
