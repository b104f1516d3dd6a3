//! Everything Belay knows about individual coding agents.
//!
//! # How it works
//!
//! One module per agent declares an [`AgentSpec`]: its transcript formats, tools, hooks, wire client and launcher. The
//! rest of Belay looks agents up in the [`registry`] and handles only events; no other crate matches on an agent's name.
//!
//! A transcript reader turns one session file into [`belay_core::Event`]s and passes them to a [`transcript::Sink`] in
//! bounded memory. Unknown or damaged content never aborts a read: unknown records are skipped, damaged ones are counted
//! in [`transcript::ReadStats`].
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`registry`] | the list of agents, lookup by id and alias, the user's directories |
//! | [`spec`] | the parts of an [`AgentSpec`] |
//! | [`hook`] | parsing hook payloads and encoding the replies |
//! | [`install`] | installing hooks in an agent's settings |
//! | [`launch`] | starting an agent under supervision for one run |
//! | [`command_line`] | which agent a process runs |
//! | [`wire`] | identifying the sender of a model request, and refusing it |
//! | [`transcript`] | the reader interface: formats, sinks, line splitting, read statistics |
//! | [`aider`], [`claude_code`], [`codex`], [`copilot`], [`cursor`], [`gemini`], [`opencode`], [`pi`], [`qwen`] | one agent each |
//! | [`event_log_format`] | Belay's own events as JSON lines |
//! | [`tool_call_format`] | the neutral tool-call JSONL for scoring detectors |

pub mod aider;
pub mod claude_code;
pub mod codex;
pub mod command_line;
pub mod copilot;
pub mod cursor;
pub mod event_log_format;
pub mod gemini;
pub mod headless;
pub mod hook;
pub mod install;
pub mod launch;
mod lenient_json;
pub mod opencode;
pub mod pi;
pub mod quota;
pub mod qwen;
mod recent_ids;
pub mod registry;
pub mod spec;
pub mod tool_call_format;
mod tool_table;
pub mod transcript;
pub mod wire;

pub use registry::{AGENTS, UserDirs, canonical_id, display_name, find};
pub use spec::AgentSpec;
pub use tool_table::ToolTable;
pub use transcript::{ReadStats, Sink, TranscriptFormat, detect_format};
