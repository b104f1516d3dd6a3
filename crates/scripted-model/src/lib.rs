//! A model that answers by script.
//!
//! It is a real HTTP server on loopback that speaks the four APIs coding agents use (OpenAI Responses, OpenAI Chat
//! Completions, Anthropic Messages, Gemini generateContent), streamed and plain. What it says is written down
//! beforehand, turn by turn, in neutral words: "run this command", "write that file", "say this", "fail with 429".
//!
//! # How it works
//!
//! Every request is recorded first, exactly as it came ([`Recorded`]). Then it is classified: a request that offers
//! tools is a *turn* of the conversation and takes the next [`Turn`] of the [`Script`]; token counts, model lists,
//! titles and summaries are auxiliary, get a plausible answer and take nothing. A turn's [`Action`]s become calls of
//! the tools that very request offers, with the argument names their schemas ask for, so one script drives any agent.
//! Ids, times and usage numbers are derived from the position in the script: the same run gives the same bytes.
//!
//! The server runs on a thread of its own, so synchronous and asynchronous tests use it alike; dropping
//! [`ScriptedModel`] stops it.
//!
//! ```
//! use belay_scripted_model::{Script, ScriptedModel};
//!
//! let script = Script::new().shell("cargo test").repeat(5).text("I give up.");
//! let model = ScriptedModel::start(script)?;
//! println!("point your agent at {}/v1", model.url());
//! assert!(model.turns().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod action;
mod answer;
mod classify;
mod compress;
mod offered_tools;
mod player;
mod raw_head_tap;
mod record;
mod request_body;
mod respond;
mod schema;
mod script;
mod server;
mod stream;
mod wire;

pub use action::Action;
pub use answer::{Input, ToolCall, Usage};
pub use classify::{Api, Kind};
pub use record::{ExchangeEnd, Recorded, WaitTimeout};
pub use script::{Branch, ContentEncoding, Delivery, ErrorBody, Reply, Script, ScriptError, Text, Turn};
pub use server::{Options, ScriptedModel};
pub use wire::ToolResult;
