//! Settings: every key with its value and where it comes from.

use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::model::{SettingView, SettingsPage, SettingsSection};
use crate::parts::element_id;
use crate::text::{exact, name, prose, sentence, shell_word};

impl PageView for SettingsPage {
    fn place(&self) -> Page {
        Page::Settings
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let live = Live { at_once: &[NAV], ..Live::default() };
        frame.document("Settings", live, &html! {
            div.title {
                h1 { "Settings" }
                small { "Edits go to " code { (name(&frame.path(&self.file))) } ", as with " code { "belay config set" } }
                div.acts.hide {
                    input id="search" type="search" aria-label="Search settings" placeholder="Search settings" data-search="[data-setting]" autocomplete="off";
                    kbd { "/" }
                }
            }
            (this_browser())
            @for section in &self.sections { (section_panel(frame, section)) }
            (clear_history(frame))
        })
    }

    fn part(&self, _frame: &Frame<'_>, _id: &str) -> Option<Markup> {
        None
    }
}

fn this_browser() -> Markup {
    html! {
        section.panel aria-labelledby="browser-h" {
            header { h2 id="browser-h" { "This browser" } small { "kept in the browser" } }
            div.body {
                label.row { input id="single-keys" type="checkbox" data-single-keys checked; " Single-key shortcuts (j, k, r, x, …)" }
                p.muted { "When off, only Tab, Enter, Esc and the arrow keys work." }
            }
        }
    }
}

fn section_panel(frame: &Frame<'_>, section: &SettingsSection) -> Markup {
    let id = element_id("s", &section.name);
    html! {
        section.panel aria-labelledby=(id) {
            header { h2 id=(id) { (name(&section.name)) } small { (prose(&section.description)) } }
            table.rows.settings {
                thead { tr { th scope="col" { "Key" } th scope="col" { "Value" } th.mid scope="col" { "From" } } }
                tbody { @for setting in &section.keys { (row(frame, setting)) } }
            }
        }
    }
}

fn row(frame: &Frame<'_>, setting: &SettingView) -> Markup {
    html! {
        tr id=(element_id("k", &setting.key)) data-setting {
            th.all scope="row" {
                code { (name(&setting.key)) }
                @if setting.changed { " " span.tag { "changed" } }
                br; small { (prose(&setting.description)) }
            }
            td.all {
                @if let Some(reason) = &setting.fixed {
                    code { (exact(&setting.value)) } br; " " small { (sentence(reason)) }
                } @else {
                    (form(frame, "acts", "/settings", &editor(setting)))
                }
            }
            td.mid { small { (name(&frame.path(&setting.source))) } }
        }
    }
}

fn editor(setting: &SettingView) -> Markup {
    let label = format!("Value of {}", setting.key);
    html! {
        input type="hidden" name="key" value=(setting.key);
        @if setting.secret {
            code { (exact(&setting.value)) }
            input type="password" name="value" aria-label=(name(&label)) placeholder="New value" autocomplete="off";
        } @else if !setting.choices.is_empty() {
            select name="value" aria-label=(name(&label)) {
                @for choice in &setting.choices { option value=(choice) selected[*choice == setting.value] { (name(choice)) } }
            }
        } @else {
            input.grow name="value" aria-label=(name(&label)) value=(setting.value) autocomplete="off" spellcheck="false";
        }
        button { "Save" }
        @if setting.changed { button name="unset" value="true" formnovalidate title={ "belay config unset " (shell_word(&setting.key)) } { "Use the default" } }
        @if setting.can_be_tried {
            a.button.plain href={ "/history?key=" (crate::parts::path_segment(&setting.key)) "#try" } title="What would another value have done on past sessions?" { "Try…" }
        }
        output.answer {}
    }
}

fn clear_history(frame: &Frame<'_>) -> Markup {
    html! {
        section.panel aria-labelledby="clear-h" {
            header { h2 id="clear-h" { "Clear history" } }
            div.body {
                p { "Archives all sessions that are not active. Archived sessions are hidden from every list; their record stays on disk unless you delete it." }
                (form(frame, "acts", "/history/clear", &html! {
                    label.row { input type="checkbox" name="delete" value="true"; " also delete the record" }
                    button.bad data-confirm="Clear the history? Archived sessions disappear from every list, and their record is deleted if you chose that." { "Clear history…" }
                    output.answer {}
                }))
            }
        }
    }
}
