//! A model that replies by script.
//!
//! It is a real HTTP server on loopback that speaks the four APIs coding agents use (OpenAI Responses, OpenAI Chat
//! Completions, Anthropic Messages, Gemini generateContent), streamed and plain. Its responses are scripted turn by
//! turn and independent of the API: run this command, write that file, reply with this text, fail with 429.
//!
//! # How it works
//!
//! Every request is first recorded byte for byte ([`Recorded`]). Then it is classified: a request that offers tools is
//! a *turn* of the conversation and takes the next [`Turn`] of the [`Script`]; token counts, model lists, titles and
//! summaries are auxiliary: they get a plausible response and consume no turn. A turn's [`Action`]s become calls of the
//! tools that the request offers, with the argument names of their schemas, so one script drives any agent. Ids,
//! timestamps and usage derive from the position in the script: equal runs produce equal bytes.
//!
//! The server runs on its own thread, so synchronous and asynchronous tests can use it; dropping [`ScriptedModel`]
//! stops it.
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
pub mod demo;
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
