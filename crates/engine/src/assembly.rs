//! Builds an engine from the state directory and the configuration.

use std::path::Path;

use belay_config::DiagnosticSink;
use belay_config::{EnvSnapshot, Paths, RulesByDir};
use belay_store::{Access, Result, StoreUrl};

use crate::engine::{Engine, EngineOptions};
use crate::held_file::HeldFile;
use crate::rules_cache::RulesScope;
use crate::spool::SpoolDir;

/// Command-line flags that set configuration keys: flag as written, key, value.
pub type Flags = Vec<(String, String, String)>;

/// Opens an engine on the store of a state directory, with the rules of each session's project. Configuration
/// diagnostics go to `on_diagnostic`.
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

/// Like [`open`], for a long-running process: if the store cannot be opened, the engine decides in memory and retries.
pub fn open_with_fallback(paths: &Paths, env: &EnvSnapshot, flags: Flags, on_diagnostic: DiagnosticSink) -> Engine {
    let store = StoreUrl::local(paths.database());
    let opener = move |access| belay_store::open(&store, access);
    Engine::open(Box::new(opener), options(paths, env, flags, on_diagnostic))
}

/// Like [`open_with_fallback`], for a process that exits within milliseconds. Before it exits, it saves what it decided
/// without the store ([`Engine::save_spool`]); a stored pause or kill applies nevertheless. See [`Engine::health`].
pub fn open_for_hook(paths: &Paths, env: &EnvSnapshot, on_diagnostic: DiagnosticSink) -> Engine {
    let store = StoreUrl::local(paths.database());
    let opener = move |access| {
        let access = if access == Access::Write { Access::BriefWrite } else { access };
        belay_store::open(&store, access)
    };
    Engine::open(Box::new(opener), options(paths, env, Flags::new(), on_diagnostic))
}

fn options(paths: &Paths, env: &EnvSnapshot, flags: Flags, on_diagnostic: DiagnosticSink) -> EngineOptions {
    let rules = RulesByDir::new(paths.clone(), env.clone(), flags, on_diagnostic);
    let rules = move |scope: RulesScope<'_>| rules.for_session(scope.project.map(Path::new), scope.settings);
    let held_file = HeldFile::new(paths.database().with_file_name("held.json"));
    let spool_dir = SpoolDir::new(paths.spool());
    EngineOptions {
        rules: Box::new(rules),
        held_file: Some(held_file),
        spool_dir: Some(spool_dir),
        ..EngineOptions::default()
    }
}
