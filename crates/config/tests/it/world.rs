//! A temporary home for each test.

use std::path::{Path, PathBuf};

use belay_config::{ConfigError, EnvSnapshot, LoadedConfig, Loader, Paths, Strictness};

#[derive(Debug)]
pub(crate) struct World {
    dir: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), vars: Vec::new() }
    }

    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn env(&self) -> EnvSnapshot {
        let home = self.home();
        let home = ("HOME".to_owned(), home.to_str().unwrap().to_owned());
        self.vars.iter().cloned().chain([home]).collect()
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::resolve(&self.env(), None).unwrap()
    }

    /// Writes a file in the test directory.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn user_config(&self, text: &str) -> PathBuf {
        self.write("home/.config/belay/config.toml", text)
    }

    pub(crate) fn project_config(&self, text: &str) -> PathBuf {
        self.write("home/code/app/.belay.toml", text)
    }

    pub(crate) fn project(&self) -> PathBuf {
        let dir = self.home().join("code/app");
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn load(&self) -> Result<LoadedConfig, ConfigError> {
        self.load_as(Strictness::Strict, &[])
    }

    pub(crate) fn load_as(
        &self,
        strictness: Strictness,
        flags: &[(&str, &str, &str)],
    ) -> Result<LoadedConfig, ConfigError> {
        let (paths, env) = (self.paths(), self.env());
        let mut loader = Loader::new(&paths, &env).from_dir(self.project()).strictness(strictness);
        for (flag, key, value) in flags {
            loader = loader.flag(*flag, *key, *value);
        }
        loader.load()
    }

    /// A text without the path of the test directory.
    pub(crate) fn plain(&self, text: impl std::fmt::Display) -> String {
        let real = std::fs::canonicalize(self.dir.path()).unwrap();
        let text = text.to_string().replace(real.to_str().unwrap(), "");
        text.replace(Path::to_str(self.dir.path()).unwrap(), "")
    }
}
