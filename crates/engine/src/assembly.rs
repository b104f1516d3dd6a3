//! Putting an engine together from the state folder and the configuration.

use std::path::Path;

use belay_config::DiagnosticSink;
use belay_config::{EnvSnapshot, Paths, RulesByFolder};
use belay_store::{Access, Result, StoreUrl};

use crate::engine::{Engine, EngineOptions};

/// Flags that set configuration keys: the flag as written, the key, the value.
pub type Flags = Vec<(String, String, String)>;

/// An engine on the store of a state folder, with the rules of each session's project. Diagnostics of the configuration
/// go to `on_diagnostic`.
pub fn open(
    paths: &Paths,
    env: &EnvSnapshot,
    flags: Flags,
    access: Access,
    on_diagnostic: DiagnosticSink,
) -> Result<Engine> {
    let store = belay_store::open(&StoreUrl::local(paths.database()), access)?;
    Ok(Engine::new(store, options(paths, env, flags, on_diagnostic)))
}

/// Like [`open`], for a process that stays: if the store cannot be opened, the engine decides in memory and retries.
pub fn open_with_fallback(paths: &Paths, env: &EnvSnapshot, flags: Flags, on_diagnostic: DiagnosticSink) -> Engine {
    let store = StoreUrl::local(paths.database());
    let opener = move |access| belay_store::open(&store, access);
    Engine::open(Box::new(opener), options(paths, env, flags, on_diagnostic))
}

fn options(paths: &Paths, env: &EnvSnapshot, flags: Flags, on_diagnostic: DiagnosticSink) -> EngineOptions {
    let rules = RulesByFolder::new(paths.clone(), env.clone(), flags, on_diagnostic);
    let rules = move |project: Option<&str>| rules.for_folder(project.map(Path::new));
    EngineOptions { rules: Box::new(rules), ..EngineOptions::default() }
}
