//! The page before the first session: what Belay is, a guided trial, and how to add an agent.

mod examples;

use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, Page, PageView, replaced};
use crate::model::LandingPage;
use crate::overview;
use crate::parts::{command, panel, small};
use crate::picture::mini;
use crate::text::{name, shell_word};
use crate::words;

/// Id of the page's content.
pub(crate) const ID: &str = "landing";

impl PageView for LandingPage {
    fn place(&self) -> Page {
        Page::Overview
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        frame.document("Start", Live { at_once: &[NAV, ID], ..Live::default() }, &content(frame, self))
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        match id {
            ID => Some(content(frame, self)),
            // All sessions were removed while the overview was open.
            id if overview::PARTS.contains(&id) => Some(replaced(id)),
            _ => None,
        }
    }
}

fn content(frame: &Frame<'_>, view: &LandingPage) -> Markup {
    html! {
        div.first.stack id=(ID) {
            div {
                h1 { "No agent is supervised yet" }
                p { "Belay watches AI coding agents, tells progress from going in circles, and steps in before money and hours burn: a nudge the agent reads, a pause you lift, a kill. Everything stays on this machine." }
            }
            div.two {
                (panel("s1", "1. See it work", small("1 minute, no keys"), &html! {
                    div.body {
                        p { "A scripted agent runs into a loop. It is nudged, paused, and waits for you here. The trial sends no alerts and is not included in any figure." }
                        (form(frame, "acts", "/trial", &html! { button.main { "Start the guided trial" } output.answer {} }))
                        (command("belay demo"))
                    }
                }))
                (panel("s2", "2. Run your agent once", small("your settings stay as they are"), &html! {
                    div.body {
                        p { "For this run only. Works with " (executables()) ", or any command." }
                        (command("belay run claude"))
                        (command("belay run --budget 5usd codex exec \"Fix the failing tests\""))
                    }
                }))
                (panel("s3", "3. Supervise every session", html! { small { "undone by " code { "belay uninit" } } }, &html! {
                    div.body {
                        p { "Hooks go into your agents’ settings. Every change is shown before it is written." }
                        (command("belay init"))
                        (command("belay doctor"))
                    }
                }))
                (panel("s4", "4. Look back", small("changes nothing"), &html! {
                    div.body {
                        p { "What would Belay have said about the sessions you already had? It reads the transcripts your agents left." }
                        (command("belay audit --since 30d"))
                        (form(frame, "acts", "/history/audits", &html! { input type="hidden" name="days" value="30"; button { "Audit the last 30 days" } output.answer {} }))
                    }
                }))
            }
            (panel("read", "How to read a session", small("one mark is one call"), &html! {
                div.body.two {
                    @let working = examples::working();
                    @let looping = examples::looping();
                    figure {
                        (mini::large(working.shape(), 120.0))
                        figcaption { b { "Working." } " Most calls are new: the line climbs. Repeats such as test runs with fewer failures are new, too." }
                    }
                    figure {
                        (mini::large(looping.shape(), 120.0))
                        figcaption { b { "Looping." } " The line goes flat. The same calls with the same outcomes come back, each on its own row." }
                    }
                }
            }))
            @if !view.agents.is_empty() { (found(view)) }
        }
    }
}

fn executables() -> String {
    let names: Vec<&str> = belay_agents::AGENTS.iter().map(|agent| agent.executable).collect();
    names.join(", ")
}

fn found(view: &LandingPage) -> Markup {
    panel(
        "found",
        "Found on this machine",
        small("from the agents’ own settings; nothing was changed"),
        &html! {
            table { tbody {
                @for agent in &view.agents {
                    tr {
                        th scope="row" { (name(words::display_name(&agent.agent))) @if let Some(version) = &agent.version { " " (name(version)) } }
                        td { span.muted {
                            @if !agent.installed { "not installed" } @else if agent.supervised { "supervised" } @else { "not supervised" }
                        } }
                        td { @if agent.installed && !agent.supervised { code { "belay init --agent " (shell_word(&agent.agent)) } } }
                    }
                }
            } }
        },
    )
}
