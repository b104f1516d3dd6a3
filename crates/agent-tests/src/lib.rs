//! Runs the real agent CLIs against the scripted model.
//!
//! Belay makes promises about third-party programs, so it is tested with them: the pinned releases of `agents.txt`,
//! installed by `cargo xtask test agents` into a cache directory, each run headless with an empty environment, its own
//! home, a dummy key and a model on loopback.
//!
//! A test reads like this:
//!
//! ```no_run
//! use belay_agent_tests::{Agent, Workbench, agent_setups};
//! use belay_scripted_model::{Script, ScriptedModel};
//!
//! # fn scenario() -> std::io::Result<()> {
//! let Some(agent) = Agent::or_skip(&agent_setups::CODEX) else { return Ok(()) };
//! let bench = Workbench::new()?;
//! let model = ScriptedModel::start(Script::new().shell("false").repeat(5).text("I give up."))?;
//! let finished = agent.run(&bench, &model.url(), "Fix the tests").finish()?;
//! assert_eq!((finished.code, model.turns().len()), (Some(0), 6));
//! # Ok(())
//! # }
//! ```
//!
//! [`agent_setups`] describes each CLI as data. [`compare`] checks whether two runs are the same except for ids, times
//! and the agents' own hook records, and whether a message reached the model.

pub mod agent_setups;
pub mod compare;
mod installed_agents;
pub mod moments;
mod run;
pub mod scenarios;
mod terminal;
mod transcript;
mod workbench;

pub use agent_setups::AgentSetup;
pub use installed_agents::{Agent, belay_program, cache_dir};
pub use run::{Finished, Run, Running};
pub use terminal::Terminal;
pub use transcript::Transcript;
pub use workbench::Workbench;
