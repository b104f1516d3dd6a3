//! What Belay knows about each coding agent, and nowhere else does it know it.
//!
//! # Theory of operation
//!
//! One module per agent holds its dialects: how its session files read, what its tools do, where it
//! keeps things. The rest of Belay asks the [`registry`] and speaks of events only; nothing outside
//! this crate matches on an agent's name.
//!
//! A transcript reader turns one session file into [`belay_core::Event`]s, told to a
//! [`transcript::Sink`] one after the other, in memory that does not grow with the file. Readers
//! never give up on a file because of what stands in it: what they do not know they pass, what is
//! damaged they count in the [`transcript::ReadStats`] and go on.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`registry`] | agents by id and alias, with executable, session folders and formats |
//! | [`hook`] | what an agent's hooks say and want to hear |
//! | [`launch`] | how it is started on the rope, for one run |
//! | [`wire`] | how its model requests show whose they are, and what stops it there |
//! | [`transcript`] | the reader interface: formats, sinks, line splitting, what was damaged |
//! | [`aider`], [`claude_code`], [`codex`], [`copilot`], [`gemini`], [`opencode`], [`qwen`], [`pi`] | one agent each |
//! | [`event_log_format`] | our own events, written down |
//! | [`tool_call_format`] | the neutral tool-call JSONL used to score detectors |

pub mod aider;
pub mod claude_code;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod event_log_format;
pub mod gemini;
pub mod hook;
pub mod install;
pub mod launch;
mod lenient_json;
pub mod opencode;
pub mod pi;
pub mod qwen;
mod recent_ids;
pub mod registry;
pub mod spec;
pub mod tool_call_format;
mod tool_table;
pub mod transcript;
pub mod wire;

pub use registry::{AGENTS, UserDirs, canonical_id, find};
pub use spec::AgentSpec;
pub use tool_table::ToolTable;
pub use transcript::{ReadStats, Sink, TranscriptFormat, detect_format};
