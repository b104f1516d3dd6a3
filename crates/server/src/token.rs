//! The token a decision over HTTP needs: only who can read the state folder knows it.

use std::io;
use std::path::Path;

use belay_config::atomic_file;

/// A secret. Its debug form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(String);

impl std::fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl ApiToken {
    /// The one in the file, or a new one put there. One that cannot be kept lives as long as we do.
    pub fn load_or_make(path: &Path) -> io::Result<Self> {
        if let Some(token) = Self::load(path) {
            return Ok(token);
        }
        let token = Self::make()?;
        if let Err(error) =
            atomic_file::write(path, format!("{}\n", token.0).as_bytes(), atomic_file::FileMode::Private)
        {
            tracing::warn!(%error, "the token cannot be kept; `belay status --token` tells it while we run");
        }
        Ok(token)
    }

    /// The one in the file, if it is one and nobody else can read it.
    pub fn load(path: &Path) -> Option<Self> {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::metadata(path).ok()?.permissions().mode() & 0o077 == 0;
        let text = std::fs::read_to_string(path).ok().filter(|_| private)?;
        let text = text.trim();
        (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    fn make() -> io::Result<Self> {
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
