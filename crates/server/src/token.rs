//! The API token that decisions over HTTP require. It is readable only in the state directory.

use std::io;
use std::path::Path;

use belay_fs::FileMode;

use crate::logins::keyed_digest;

/// The secret token; hidden in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(String);

impl std::fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiToken(..)")
    }
}

/// The token as a resident process reports it.
impl From<String> for ApiToken {
    fn from(token: String) -> Self {
        Self(token)
    }
}

impl ApiToken {
    /// Loads the token, or creates and stores one. A token that cannot be stored is valid until the process exits.
    pub fn load_or_create(path: &Path) -> io::Result<Self> {
        if let Some(token) = Self::load(path) {
            return Ok(token);
        }
        let token = Self(random_hex(32)?);
        if let Err(error) = belay_fs::atomic_write(path, format!("{}\n", token.0).as_bytes(), FileMode::Private) {
            tracing::warn!(%error, "cannot store the token; `belay status --token` shows it while the process runs");
        }
        Ok(token)
    }

    /// Loads the token if the file is valid and private.
    pub fn load(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok().filter(|_| is_private(path))?;
        let text = text.trim();
        (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// The token for requests to models from other machines. It stands in base URLs, where more programs see it, so it
    /// must not permit decisions.
    pub fn proxy_token(&self) -> String {
        keyed_digest(&self.0, "proxy")
    }

    /// Compares in constant time.
    pub fn matches(&self, offered: &str) -> bool {
        constant_time_eq(&self.0, offered)
    }
}

/// Whether only the owner can read and write a file.
pub(crate) fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 == 0)
}

/// Random bytes as hexadecimal digits.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(to_hex(&random))
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares without telling by its duration how much is equal.
pub(crate) fn constant_time_eq(own: &str, offered: &str) -> bool {
    let (own, offered) = (own.as_bytes(), offered.as_bytes());
    own.len() == offered.len() && own.iter().zip(offered).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests;
