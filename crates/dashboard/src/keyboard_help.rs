//! The list of keys.

use maud::{Markup, html};

const KEYS: &[(&[&str], &str)] = &[
    (&["g", "o"], "Overview"),
    (&["g", "i"], "Incidents"),
    (&["g", "r"], "Reviews"),
    (&["g", "h"], "History"),
    (&["g", "s"], "Spend"),
    (&["g", "t"], "Settings"),
    (&["j", "k"], "Next, previous"),
    (&["Enter"], "Open"),
    (&["x"], "Select; with Shift, up to here"),
    (&["a"], "Acknowledge"),
    (&["r"], "Resume"),
    (&["Shift+k"], "Kill, or cancel a review task; asks first"),
    (&["y", "n"], "Allow or deny the permission in focus"),
    (&["/"], "Search"),
    (&["c"], "Copy the command"),
    (&["←", "→"], "Walk through the calls of the picture"),
    (&["?"], "This list"),
    (&["Esc"], "Close"),
];

pub(crate) fn dialog() -> Markup {
    html! {
        dialog.panel id="keys" aria-labelledby="keys-h" {
            header {
                h2 id="keys-h" { "Keyboard" }
                form method="dialog" { button.plain { "Close" } }
            }
            table {
                tbody {
                    @for (keys, what) in KEYS {
                        tr { td { @for key in *keys { kbd { (key) } " " } } td { (what) } }
                    }
                }
            }
            p.body.muted { "Single keys can be switched off in Settings." }
        }
    }
}
