//! The screens of `belay top`: the overview and the session page of the dashboard, as text.
//!
//! # Theory of operation
//!
//! [`App`] is the whole state. [`App::update`] takes one [`Message`] (a key, a new size, the time, data that arrived)
//! and returns [`Command`]s for its driver: read this session, record this decision, exit. [`render`] draws the state
//! into a frame. Both are pure: no IO, no clock, no locale. `belay top` performs the commands and owns the terminal.
//!
//! A screen is a list of styled lines built for a width (`overview`, `session`); the frame shows the part that is
//! scrolled into view. So a narrow terminal loses columns but no rows, and `--once` prints the same lines without a
//! terminal.
//!
//! Texts of sessions are chosen by agents and repositories. They enter lines only through `line::LineBuilder`, which
//! removes controls and clips by display width. Every state has a symbol and a word besides its colour. Lines are always
//! built in Unicode; without a UTF-8 locale, the finished cells are folded to ASCII (`ascii`).
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | `app` | state, messages, commands; its children handle keys |
//! | `action` | what a person can decide, whether it is possible now, and its command line |
//! | `overview`, `session`, `picture` | lines of the screens |
//! | `dialog` | questions, help and command lines, drawn over a screen |
//! | `prompt` | permission prompts, character by character |
//! | `line`, `style`, `words`, `ascii` | text, styles, states and times in words, ASCII fallback |

#![cfg(unix)]

mod action;
mod app;
mod ascii;
mod dialog;
mod line;
mod overview;
mod picture;
mod prompt;
mod render;
mod session;
mod style;
#[cfg(test)]
mod tests;
mod words;

pub use action::{Action, Decision};
pub use app::{App, Command, Message, PageRequest, Settings};
pub use render::{plain_text, render};
