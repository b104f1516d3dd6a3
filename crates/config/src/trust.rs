//! Projects the user trusts: path and content. Changed content is not trusted any more.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::atomic_file;
use crate::project::ProjectFile;

/// What is known about a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// The user accepted this very content.
    Trusted,
    /// The user accepted other content under this path.
    Changed,
    /// Never accepted.
    Unknown,
}

/// The list of accepted files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustStore {
    #[serde(default)]
    projects: BTreeMap<PathBuf, TrustedFile>,
}

/// One accepted file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// SHA-256 of the content, in hex. A cryptographic digest: whoever writes the file must not be
    /// able to make another of the same digest.
    pub sha256: String,
    /// When.
    pub at: belay_core::Timestamp,
}

impl TrustStore {
    /// Reads the list; none yet is an empty list.
    pub fn load(path: &Path) -> io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        atomic_file::write(path, &bytes, atomic_file::FileMode::Private)
    }

    pub fn state(&self, file: &ProjectFile) -> TrustState {
        match self.projects.get(&file.path) {
            Some(accepted) if accepted.sha256 == sha256(&file.text) => TrustState::Trusted,
            Some(_) => TrustState::Changed,
            None => TrustState::Unknown,
        }
    }

    pub fn trust(&mut self, file: &ProjectFile, at: belay_core::Timestamp) {
        self.projects.insert(file.path.clone(), TrustedFile { sha256: sha256(&file.text), at });
    }

    /// Whether it was there.
    pub fn revoke(&mut self, path: &Path) -> bool {
        self.projects.remove(path).is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &TrustedFile)> {
        self.projects.iter().map(|(path, accepted)| (path.as_path(), accepted))
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
