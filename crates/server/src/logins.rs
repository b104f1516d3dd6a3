//! Logins of browsers.
//!
//! `belay serve` and `belay open` print a link with a one-time code. The browser exchanges the code for a cookie, which
//! identifies a [`Login`]. Only digests of codes and cookies are kept: neither memory nor the file contains what a browser
//! has to send.
//!
//! The file holds the logins and the key of the form tokens, so that open pages keep working when the resident process is
//! restarted. Codes do not survive a restart.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use belay_core::Timestamp;
use belay_fs::FileMode;
use belay_ipc::LoginView;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::sync::lock;
use crate::token::{constant_time_eq, is_private, random_hex, to_hex};

/// How long a code can be exchanged.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Codes that wait to be exchanged; a new one replaces the oldest.
const MAX_CODES: usize = 16;
/// A login that is not used for this long ends.
const LOGIN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A new login replaces the one that has not been used for longest.
const MAX_LOGINS: usize = 64;
/// Length of the short name of a login.
const SHORT_ID_CHARS: usize = 8;
/// How exactly the time of the last use is recorded.
const USE_RESOLUTION: Duration = Duration::from_secs(60 * 60);

/// A browser that is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    /// The digest of its cookie.
    digest: String,
}

impl Login {
    /// A short name for logs and events. It does not help to forge the cookie.
    pub(crate) fn short_id(&self) -> &str {
        &self.digest[..SHORT_ID_CHARS]
    }
}

/// The logins and the codes of one resident process.
pub(crate) struct Logins {
    file: PathBuf,
    state: Mutex<State>,
}

struct State {
    stored: StoredLogins,
    /// Oldest first.
    codes: Vec<Code>,
    /// A login was used since the file was written.
    is_dirty: bool,
}

/// A code that has not been exchanged.
struct Code {
    digest: String,
    issued: Timestamp,
    /// The process that got the link, and its ancestors.
    asked_by: String,
}

#[derive(Serialize, Deserialize)]
struct StoredLogins {
    form_key: String,
    logins: Vec<StoredLogin>,
}

#[derive(Serialize, Deserialize)]
struct StoredLogin {
    digest: String,
    used_at: Timestamp,
    /// The process that asked for the link of this login, and its ancestors.
    #[serde(default)]
    asked_by: String,
}

impl StoredLogin {
    fn has_expired(&self, now: Timestamp) -> bool {
        now.saturating_since(self.used_at) >= LOGIN_LIFETIME
    }

    fn view(&self) -> LoginView {
        let id = self.digest.chars().take(SHORT_ID_CHARS).collect();
        LoginView { id, used_at: self.used_at, asked_by: self.asked_by.clone() }
    }
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logins").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Logins {
    /// Loads the logins of the previous resident process. A file that is damaged or that others can read is ignored.
    pub(crate) fn load(file: PathBuf) -> io::Result<Self> {
        let stored = match load_file(&file) {
            Some(stored) => stored,
            None => StoredLogins { form_key: random_hex(32)?, logins: Vec::new() },
        };
        Ok(Self { file, state: Mutex::new(State { stored, codes: Vec::new(), is_dirty: false }) })
    }

    /// A new code, to be exchanged once within [`CODE_LIFETIME`].
    pub(crate) fn issue_code(&self, asked_by: String, now: Timestamp) -> io::Result<String> {
        let code = random_hex(16)?;
        let codes = &mut lock(&self.state).codes;
        codes.retain(|code| now.saturating_since(code.issued) < CODE_LIFETIME);
        let surplus = (codes.len() + 1).saturating_sub(MAX_CODES);
        codes.drain(..surplus);
        tracing::info!(asked_by, "a link was made that logs one browser in");
        codes.push(Code { digest: digest(&code), issued: now, asked_by });
        Ok(code)
    }

    /// Exchanges a code for a login and its cookie. `None` if the code is unknown, used or expired.
    pub(crate) fn exchange_code(&self, code: &str, now: Timestamp) -> io::Result<Option<(Login, String)>> {
        let offered = digest(code);
        let mut state = lock(&self.state);
        let Some(at) = state.codes.iter().position(|code| code.digest == offered) else { return Ok(None) };
        let Code { issued, asked_by, .. } = state.codes.remove(at);
        if now.saturating_since(issued) >= CODE_LIFETIME {
            return Ok(None);
        }
        let cookie = random_hex(32)?;
        let login = Login { digest: digest(&cookie) };
        let logins = &mut state.stored.logins;
        logins.retain(|login| !login.has_expired(now));
        logins.sort_by_key(|login| login.used_at);
        let surplus = (logins.len() + 1).saturating_sub(MAX_LOGINS);
        logins.drain(..surplus);
        tracing::info!(login = login.short_id(), asked_by, "a browser has logged in");
        logins.push(StoredLogin { digest: login.digest.clone(), used_at: now, asked_by });
        self.save(&mut state);
        Ok(Some((login, cookie)))
    }

    /// The login of a cookie.
    pub(crate) fn find(&self, cookie: &str, now: Timestamp) -> Option<Login> {
        let offered = digest(cookie);
        let mut state = lock(&self.state);
        let stored = state.stored.logins.iter_mut().find(|login| login.digest == offered)?;
        if stored.has_expired(now) {
            return None;
        }
        if now.saturating_since(stored.used_at) >= USE_RESOLUTION {
            stored.used_at = now;
            state.is_dirty = true;
        }
        Some(Login { digest: offered })
    }

    /// The browsers that are logged in, the one used last first.
    pub(crate) fn list(&self, now: Timestamp) -> Vec<LoginView> {
        let state = lock(&self.state);
        let valid = state.stored.logins.iter().filter(|login| !login.has_expired(now));
        let mut views: Vec<LoginView> = valid.map(StoredLogin::view).collect();
        views.sort_by_key(|login| std::cmp::Reverse(login.used_at));
        views
    }

    /// Ends one login.
    pub(crate) fn revoke(&self, login: &Login) {
        let mut state = lock(&self.state);
        state.stored.logins.retain(|stored| stored.digest != login.digest);
        self.save(&mut state);
    }

    /// Ends every login and invalidates every code. Returns how many logins there were.
    pub(crate) fn revoke_all(&self) -> usize {
        let mut state = lock(&self.state);
        state.codes.clear();
        let count = std::mem::take(&mut state.stored.logins).len();
        self.save(&mut state);
        count
    }

    /// The token that every form of this login's pages contains. Another site cannot read it.
    pub(crate) fn form_token(&self, login: &Login) -> String {
        let state = lock(&self.state);
        keyed_digest(&state.stored.form_key, &format!("form {}", login.digest))
    }

    pub(crate) fn verify_form_token(&self, login: &Login, offered: &str) -> bool {
        constant_time_eq(&self.form_token(login), offered)
    }

    /// Writes the times of use. Called now and then, because requests should not wait for the disk.
    pub(crate) fn save_if_dirty(&self) {
        let mut state = lock(&self.state);
        if state.is_dirty {
            self.save(&mut state);
        }
    }

    fn save(&self, state: &mut State) {
        let text = serde_json::to_vec(&state.stored).unwrap_or_default();
        match belay_fs::atomic_write(&self.file, &text, FileMode::Private) {
            Ok(()) => state.is_dirty = false,
            Err(error) => tracing::warn!(%error, "cannot store the logins; they end with this process"),
        }
    }
}

/// Ends every login while no resident process runs. Returns how many there were.
pub fn revoke_stored(file: &Path) -> io::Result<usize> {
    if !file.try_exists()? {
        return Ok(0);
    }
    let count = load_file(file).map_or(0, |stored| stored.logins.len());
    std::fs::remove_file(file)?;
    Ok(count)
}

fn load_file(file: &Path) -> Option<StoredLogins> {
    if !is_private(file) {
        return None;
    }
    let stored: StoredLogins = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    (stored.form_key.len() == 64).then_some(stored)
}

fn digest(secret: &str) -> String {
    to_hex(&Sha256::digest(secret))
}

/// HMAC-SHA256 as hexadecimal digits.
pub(crate) fn keyed_digest(key: &str, message: &str) -> String {
    // HMAC takes keys of any length.
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).map(|mac| mac.chain_update(message).finalize());
    mac.map(|mac| to_hex(&mac.into_bytes())).unwrap_or_default()
}

#[cfg(test)]
mod tests;
