//! What every command uses: paths, configuration, the store and the output.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use belay_config::{DiagnosticSink, EnvSnapshot, LoadedConfig, Loader, Paths, Strictness};
use belay_drive::launch::BelayEnv;
use belay_store::{Access, Store, StoreError, StoreUrl};

use crate::args::Global;
use crate::error::CommandError;
use crate::operator::CallerTree;
use crate::output::Output;

/// The context of one command.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) env: EnvSnapshot,
    pub(crate) paths: Paths,
    pub(crate) out: Output,
    /// Problems of the configuration that have been printed: several parts of a command load it.
    warned: Arc<Mutex<BTreeSet<String>>>,
}

impl Context {
    /// What starting an agent or the resident process needs.
    pub(crate) fn belay_env(&self) -> BelayEnv<'_> {
        let called_by_agent = CallerTree::read(&self.env).agent().is_some();
        BelayEnv { paths: &self.paths, env: &self.env, home: self.global.home.as_deref(), called_by_agent }
    }

    pub(crate) fn new(global: Global) -> Result<Self, CommandError> {
        let env = EnvSnapshot::from_process();
        let paths = Paths::resolve_with(&env, &global.paths())?;
        let out = Output::new(global.json, global.quiet);
        Ok(Self { global, env, paths, out, warned: Arc::default() })
    }

    /// The same context without the settings of its environment.
    pub(crate) fn without_env_settings(&self) -> Self {
        Self { env: self.env.without_settings(), ..self.clone() }
    }

    /// The same context, whose messages go to `captured` instead of stderr.
    pub(crate) fn capture_messages(&self, captured: Sender<String>) -> Self {
        Self { out: self.out.clone().capture(captured), ..self.clone() }
    }

    /// Values of `--set`, as flag, key and value.
    pub(crate) fn flags(&self) -> Result<Vec<(String, String, String)>, CommandError> {
        let split = |text: &String| match text.split_once('=') {
            Some((key, value)) => Ok((format!("--set {key}"), key.trim().to_owned(), value.trim().to_owned())),
            None => Err(CommandError::usage(format!("--set {text}: the value is missing")).hint("use --set KEY=VALUE")),
        };
        self.global.set.iter().map(split).collect()
    }

    /// Loads the configuration for the current directory and prints a warning for every value that was ignored.
    pub(crate) fn config(
        &self,
        strictness: Strictness,
        flags: &[(String, String, String)],
    ) -> Result<LoadedConfig, CommandError> {
        let mut loader = Loader::new(&self.paths, &self.env).strictness(strictness);
        if let Ok(dir) = std::env::current_dir() {
            loader = loader.from_dir(dir);
        }
        for (flag, key, value) in self.flags()?.iter().chain(flags) {
            loader = loader.flag(flag, key, value);
        }
        let loaded = loader.load()?;
        loaded.notes.iter().for_each(self.diagnostic_sink());
        Ok(loaded)
    }

    /// Prints each problem of the configuration once.
    pub(crate) fn diagnostic_sink(&self) -> DiagnosticSink {
        let (out, warned) = (self.out.clone(), Arc::clone(&self.warned));
        Box::new(move |note| {
            let text = note.to_string();
            if warned.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone()) {
                out.warn(&text, note.hint.as_deref());
            }
        })
    }

    /// Prints a warning for every problem of the configuration and returns them for `--json`.
    pub(crate) fn config_problems(&self) -> Result<Vec<String>, CommandError> {
        let loaded = self.config(Strictness::Lenient, &[])?;
        Ok(loaded.notes.iter().map(ToString::to_string).collect())
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.paths.database()
    }

    pub(crate) fn store_url(&self) -> StoreUrl {
        StoreUrl::local(self.database())
    }

    /// Opens the store for reading; `None` if it does not exist yet.
    pub(crate) fn store(&self) -> Result<Option<Box<dyn Store>>, CommandError> {
        match self.database().try_exists() {
            Ok(false) => Ok(None),
            _ => Ok(Some(belay_store::open(&self.store_url(), Access::Read)?)),
        }
    }

    /// Opens the store for reading and resolves a session name.
    pub(crate) fn session(&self, text: &str) -> Result<(Box<dyn Store>, belay_core::SessionKey), CommandError> {
        let Some(store) = self.store()? else { return Err(StoreError::NotFound(text.to_owned()).into()) };
        let key = store.resolve(&canonical_session_name(text))?;
        Ok((store, key))
    }
}

/// Replaces an agent's alias by its id: `claude:abc` becomes `claude-code:abc`.
pub(crate) fn canonical_session_name(text: &str) -> String {
    match text.split_once(':') {
        Some((name, id)) => format!("{}:{id}", belay_agents::canonical_id(name)),
        None => text.to_owned(),
    }
}
