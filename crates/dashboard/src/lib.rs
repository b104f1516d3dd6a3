//! The dashboard's pages: views in, HTML out. Pure: the server queries the store and serves the result.
//!
//! Every page is a [`PageView`], rendered in a [`Frame`] (who asks, when, and what the navigation shows). The parts of a page
//! that change while it is open are functions of their own, with a stable element id: `GET PAGE?fragment=ID,ID` answers
//! just these elements, and the page replaces them in place (`assets/live.js`, `assets/morph.js`).
//!
//! Three rules hold on every page. Text from outside goes through `text`, which escapes it and removes what controls a
//! terminal or reorders text. No element has a `style` or an event handler attribute, so the content security policy
//! ([`CONTENT_SECURITY_POLICY`]) forbids inline script and style. Without JavaScript a page is complete and read-only.
//!
//! # What the server answers
//!
//! Forms post `application/x-www-form-urlencoded` with the field `form_token`. A request that accepts JSON gets
//! `{"message": "Resumed."}`, or `{"location": "/..."}` to go elsewhere, or an error with `message` and `hint`; any other
//! request is redirected to the page it came from.
//!
//! | request | fields |
//! |---|---|
//! | `GET PAGE?fragment=ID,ID` | |
//! | `GET /sessions/KEY` | `until` (last call of the picture); `q`, `kind` and `before` (text, kind and sequence number, to search the events) |
//! | `GET /incidents` | `state` (open, acknowledged, closed), `incident` |
//! | `GET /reviews` | |
//! | `GET /reviews/ID` | `diff` (number of a round), `issues` (open, follow-ups, closed) |
//! | `GET /reviews/ID/artifacts/NAME` | the file, redacted |
//! | `GET /spend` | `days` |
//! | `GET /history` | `key` (setting to try) |
//! | `POST /sessions/KEY/decisions` | `decision` and its fields: `note`, `cooldown_secs`, `require_plan`, `finding`; for `budget`: `cost_micros` or `dollars`, and `resume` |
//! | `POST /incidents/decisions` | `decision`, `incident` (repeated) |
//! | `POST /approvals/ID` | `answer` (allow, deny), `hash` |
//! | `POST /reviews` | `title`, `prompt`, `project_dir`, `builder`, `reviewer` (repeated), `gates` (one command per line), `rounds`, `dollars`, `tokens`, `minutes` (per round), `arbiter`, `quorum`, `workspace` (worktree, worktree_with_changes, in_place) |
//! | `POST /reviews/queue` | `paused` (true, false) |
//! | `POST /reviews/ID/decisions` | `decision` and its fields: cancel, archive, land and land_apply have none; for `resume`: `rounds`, `dollars` and `tokens`, all new totals; for `waive`: `issue`, `why`; for `answer`: `fix`, or `done` = true |
//! | `POST /history/audits` | `days`; empty for any time |
//! | `POST /history/audits/ID/cancel` | |
//! | `GET /history/audits/ID` | the report |
//! | `POST /history/try` | `key`, `value` |
//! | `POST /history/clear` | `delete` |
//! | `POST /settings` | `key`, `value`; or `key`, `unset` |
//! | `POST /trial`, `POST /trial/remove` | |
//!
//! The cookie `belay_theme` is `light` or `dark` ([`Theme::COOKIE`]).

pub mod assets;
mod charts;
mod decide;
mod forms;
mod frame;
pub mod history;
mod icons;
pub mod incidents;
mod keyboard_help;
pub mod landing;
pub mod messages;
pub mod model;
pub mod overview;
mod parts;
mod picture;
pub mod review;
mod review_task;
pub mod reviews;
pub mod session;
pub mod settings;
pub mod spend;
mod state;
mod text;
mod words;

pub use frame::{Frame, Page, PageView, Theme, who};

/// The content security policy of every page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
