//! Prevents keys from being sent to the wrong host.

use std::net::IpAddr;

use belay_net::{HttpUrl, refused_network};

use super::{Auth, UpstreamConfigError};

/// Refuses a base URL that would send keys unencrypted over a network, or to an address that cannot be a model API.
pub(super) fn check_base(base: &HttpUrl, plaintext: bool) -> Result<(), UpstreamConfigError> {
    let address: Option<IpAddr> = base.host.parse().ok();
    if let Some(refused) = address.and_then(refused_network) {
        let problem = format!("no model API lives at this address ({})", refused.purpose);
        return Err(UpstreamConfigError::new(base.url(), problem));
    }
    let loopback = address.map_or(base.host == "localhost" || base.host.ends_with(".localhost"), |a| a.is_loopback());
    if !base.tls && !loopback && !plaintext {
        return Err(UpstreamConfigError::new(
            base.url(),
            "plain http to another machine would send your key and code in clear; use https, \
             or set `allow_plaintext = true` for this upstream if you trust the network",
        ));
    }
    Ok(())
}

/// Refuses a credential that is not a valid header value.
pub(super) fn check_auth(base: &HttpUrl, auth: &Auth) -> Result<(), UpstreamConfigError> {
    let Auth::Header { name, value } = auth else { return Ok(()) };
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(UpstreamConfigError::new(base.url(), format!("`{name}` is not a valid header name")));
    }
    if value.trim().is_empty() || value.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(UpstreamConfigError::new(base.url(), "the key is empty or has a line end in it"));
    }
    Ok(())
}

/// Key prefixes that identify a provider, and the provider's host.
const KEY_PREFIXES: &[(&str, &str, &str)] = &[
    ("sk-ant-", "Anthropic", "api.anthropic.com"),
    ("sk-or-", "OpenRouter", "openrouter.ai"),
    ("sk-proj-", "OpenAI", "api.openai.com"),
    ("sk-svcacct-", "OpenAI", "api.openai.com"),
    ("sk-admin-", "OpenAI", "api.openai.com"),
    ("AIza", "Google", "generativelanguage.googleapis.com"),
];

/// A provider's host whose credentials have no recognisable prefix.
const CHATGPT_HOST: &str = "chatgpt.com";

/// The owner of a key that belongs to another provider than the host. Only providers' own hosts are checked, because a
/// gateway may accept any key.
pub(super) fn foreign_key_owner(key: &str, host: &str) -> Option<&'static str> {
    let key = match key.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim_start(),
        _ => key,
    };
    let (_, owner, home) = KEY_PREFIXES.iter().find(|(beginning, ..)| key.starts_with(beginning))?;
    let is_provider = host == CHATGPT_HOST || KEY_PREFIXES.iter().any(|(.., known)| *known == host);
    (*home != host && is_provider).then_some(*owner)
}

/// The key in the query of a request target, as Google's API accepts it.
pub(crate) fn key_in_query(target: &str) -> Option<&str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|field| field.strip_prefix("key="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_to_its_owner_or_to_a_gateway_but_to_no_other_provider() {
        assert_eq!(foreign_key_owner("Bearer sk-ant-1", "api.openai.com"), Some("Anthropic"));
        assert_eq!(foreign_key_owner("AIzaSy", "api.anthropic.com"), Some("Google"));
        assert_eq!(foreign_key_owner("sk-ant-1", "api.anthropic.com"), None);
        assert_eq!(foreign_key_owner("sk-ant-1", "gateway.example.com"), None);
        assert_eq!(foreign_key_owner("sk-1234", "api.anthropic.com"), None);
        assert_eq!(foreign_key_owner("BEARER  sk-ant-1", "chatgpt.com"), Some("Anthropic"));
        assert_eq!(foreign_key_owner("Bearer eyJ", "chatgpt.com"), None);
    }
}
