//! Trusted project files, by path and content. A changed file is no longer trusted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use belay_fs::{FileMode, Links};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::project::ProjectFile;

/// Maximum size of the list.
const MAX_BYTES: u64 = 16 << 20;

/// Whether a project file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// The user trusted this content.
    Trusted,
    /// The user trusted other content at this path.
    Changed,
    /// Never trusted.
    Unknown,
}

/// The list of trusted files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustStore {
    #[serde(default)]
    projects: BTreeMap<PathBuf, TrustedFile>,
}

/// A trusted file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// SHA-256 of the content, in hex. Cryptographic, because the author of a repository must not be able to create
    /// another file with the same digest.
    pub sha256: String,
    pub at: belay_core::Timestamp,
}

impl TrustStore {
    /// Reads the list; a missing file is an empty list.
    pub fn load(path: &Path) -> io::Result<Self> {
        match belay_fs::read_regular(path, Links::Follow, MAX_BYTES) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        belay_fs::atomic_write(path, &bytes, FileMode::Private)
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

    /// Removes a file; returns whether it was trusted.
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
