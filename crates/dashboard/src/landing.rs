//! The page before the first session: what Belay is, a guided trial, and how to add an agent.

mod examples;

use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, fragments};
use crate::model::LandingPage;
use crate::parts::{command, panel, small};
use crate::picture::mini;
use crate::text::{name, shell_word};
use crate::words;

/// The page before the first session. It becomes the overview with the first event.
pub fn page(frame: &Frame<'_>, view: &LandingPage) -> Markup {
    let live = Live { at_once: &[NAV, "landing"], ..Live::default() };
    frame.document("Start", live, &content(frame, view))
}

/// Parts of the page by id, separated by commas. `None` if one of them does not exist.
pub fn fragment(frame: &Frame<'_>, view: &LandingPage, ids: &str) -> Option<Markup> {
    fragments(ids, |id| match id {
        NAV => Some(frame.nav()),
        "landing" => Some(content(frame, view)),
        _ => None,
    })
}

fn content(frame: &Frame<'_>, view: &LandingPage) -> Markup {
    html! {
        div.first.stack id="landing" {
            div {
                h1 { "No agent is on the rope yet" }
                p { "Belay watches AI coding agents, tells progress from going in circles, and steps in before money and hours burn: a nudge the agent reads, a pause you lift, a kill. Everything stays on this machine." }
            }
            div.two {
                (panel("s1", "1. See it work", small("1 minute, no keys"), &html! {
                    div.body {
                        p { "A scripted agent runs into a loop. It is nudged, paused, and waits for you here. The trial alerts nobody and counts in no figure." }
                        (form(frame, "acts", "/trial", &html! { button.main { "Start the guided trial" } output.answer {} }))
                        (command("belay demo"))
                    }
                }))
                (panel("s2", "2. Run your agent once", small("changes no settings"), &html! {
                    div.body {
                        p { "For this run only. Works with " (executables()) ", or any command." }
                        (command("belay run claude"))
                        (command("belay run --budget 5usd codex exec \"Fix the failing tests\""))
                    }
                }))
                (panel("s3", "3. Keep it on the rope", html! { small { "taken back by " code { "belay uninit" } } }, &html! {
                    div.body {
                        p { "Hooks go into your agents’ settings. Every change is shown before it is written." }
                        (command("belay init"))
                        (command("belay doctor"))
                    }
                }))
                (panel("s4", "4. Look back", small("reads only"), &html! {
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
                        th scope="row" { (name(words::agent_name(&agent.agent))) @if let Some(version) = &agent.version { " " (name(version)) } }
                        td { span.muted {
                            @if !agent.installed { "not installed" } @else if agent.supervised { "on the rope" } @else { "not on the rope" }
                        } }
                        td { @if agent.installed && !agent.supervised { code { "belay init --agent " (shell_word(&agent.agent)) } } }
                    }
                }
            } }
        },
    )
}
