//! What every command works with: places, configuration, the store, and where output goes.

use std::path::PathBuf;

use belay_config::{EnvSnapshot, LoadedConfig, Loader, Paths, Strictness};
use belay_store::{Access, Store, StoreError, StoreUrl};

use crate::args::Global;
use crate::error::CommandError;
use crate::output::Output;

/// The setting of one run.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) env: EnvSnapshot,
    pub(crate) places: Paths,
    pub(crate) out: Output,
}

impl Context {
    pub(crate) fn new(global: Global) -> Result<Self, CommandError> {
        let env = EnvSnapshot::from_process();
        let places = Paths::resolve(&env, global.home.as_deref())?;
        let out = Output::new(global.json, global.quiet);
        Ok(Self { global, env, places, out })
    }

    /// Flags that set keys, `--set` among them.
    pub(crate) fn flags(&self) -> Result<Vec<(String, String, String)>, CommandError> {
        let split = |text: &String| match text.split_once('=') {
            Some((key, value)) => Ok((format!("--set {key}"), key.trim().to_owned(), value.trim().to_owned())),
            None => Err(CommandError::usage(format!("--set {text}: a value is missing")).hint("write --set KEY=VALUE")),
        };
        self.global.set.iter().map(split).collect()
    }

    /// The configuration as it counts in the current folder. A lenient one tells what it left out.
    pub(crate) fn config(
        &self,
        strictness: Strictness,
        more: &[(String, String, String)],
    ) -> Result<LoadedConfig, CommandError> {
        let mut loader = Loader::new(&self.places, &self.env).strictness(strictness);
        if let Ok(folder) = std::env::current_dir() {
            loader = loader.from_folder(folder);
        }
        for (flag, key, value) in self.flags()?.iter().chain(more) {
            loader = loader.flag(flag, key, value);
        }
        let loaded = loader.load()?;
        for note in &loaded.notes {
            self.out.warn(&note.to_string(), note.hint.as_deref());
        }
        Ok(loaded)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.places.database()
    }

    pub(crate) fn store_url(&self) -> StoreUrl {
        StoreUrl::local(self.database())
    }

    /// The store for reading; `None` when there is none yet.
    pub(crate) fn store(&self) -> Result<Option<Box<dyn Store>>, CommandError> {
        match self.database().try_exists() {
            Ok(false) => Ok(None),
            _ => Ok(Some(belay_store::open(&self.store_url(), Access::Read)?)),
        }
    }

    /// The store for reading, and the one session meant by `text`.
    pub(crate) fn session(&self, text: &str) -> Result<(Box<dyn Store>, belay_core::SessionKey), CommandError> {
        let Some(store) = self.store()? else { return Err(StoreError::NotFound(text.to_owned()).into()) };
        let key = store.resolve(&canonical_session_name(text))?;
        Ok((store, key))
    }
}

/// `claude:abc` is `claude-code:abc`.
pub(crate) fn canonical_session_name(text: &str) -> String {
    match text.split_once(':') {
        Some((name, id)) => format!("{}:{id}", belay_agents::canonical_id(name)),
        None => text.to_owned(),
    }
}
