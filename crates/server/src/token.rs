//! The API token that decisions over HTTP require. It is readable only in the state directory.

use std::io;
use std::path::Path;

use belay_fs::FileMode;

/// The secret token; hidden in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(String);

impl std::fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiToken(..)")
    }
}

impl ApiToken {
    /// Loads the token, or creates and stores one. A token that cannot be stored is valid until the process exits.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        if let Some(token) = Self::load(path) {
            return Ok(token);
        }
        let token = Self::generate()?;
        if let Err(error) = belay_fs::atomic_write(path, format!("{}\n", token.0).as_bytes(), FileMode::Private) {
            tracing::warn!(%error, "cannot store the token; `belay status --token` shows it while the process runs");
        }
        Ok(token)
    }

    /// Loads the token if the file is valid and private.
    pub fn load(path: &Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::metadata(path).ok()?.permissions().mode() & 0o077 == 0;
        let text = std::fs::read_to_string(path).ok().filter(|_| private)?;
        let text = text.trim();
        (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    fn generate() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub fn matches(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        own.len() == offered.len() && own.iter().zip(offered).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests;
