//! Signatures of Standard Webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A signing secret.
#[derive(Clone)]
pub(super) struct SigningKey(Hmac<Sha256>);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// Parses `whsec_` and the base64 of 24 to 64 bytes.
    pub(super) fn parse(secret: &str) -> Option<Self> {
        let bytes = STANDARD.decode(secret.strip_prefix("whsec_")?).ok()?;
        if !(24..=64).contains(&bytes.len()) {
            return None;
        }
        Hmac::new_from_slice(&bytes).ok().map(Self)
    }

    /// `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.
    pub(super) fn sign(&self, id: &str, timestamp: &str, body: &str) -> String {
        let mac = self.0.clone().chain_update(format!("{id}.{timestamp}.{body}"));
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}
