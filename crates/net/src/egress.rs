//! `HTTPS_PROXY`: outgoing proxies.
//!
//! Agents honour the variable, so the relay between them and the network must as well.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::url::HttpUrl;

/// Longest response of a proxy to `CONNECT`.
const MAX_CONNECT_RESPONSE_BYTES: usize = 8 * 1024;

/// Which hosts are reached through which proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressProxy {
    proxy: Option<HttpProxy>,
    /// Hosts that are reached directly.
    direct: Vec<String>,
}

/// A proxy that accepts plain HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpProxy {
    pub host: String,
    pub port: u16,
    /// Value of `Proxy-Authorization`.
    credential: Option<String>,
}

/// Why a proxy did not open a tunnel.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the response is too long")]
    TooLong,
    #[error("unexpected response {0:?}")]
    Declined(String),
}

// Debug output must not contain the credential.
impl std::fmt::Debug for HttpProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl EgressProxy {
    /// Reads `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in lower or upper case.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| lookup(&name.to_ascii_lowercase()).or_else(|| lookup(name)).filter(|v| !v.is_empty());
        let proxy = either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")).and_then(|url| HttpProxy::parse(&url));
        let direct = either("NO_PROXY").unwrap_or_default();
        let direct = direct.split(',').map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty());
        Self { proxy, direct: direct.collect() }
    }

    /// The proxy on the way to a URL; `None` if it is reached directly. Plain HTTP stays on this
    /// machine or network and never uses a proxy.
    pub fn proxy_for(&self, url: &HttpUrl) -> Option<&HttpProxy> {
        let is_direct = |rule: &String| {
            let rule = rule.strip_prefix("*.").or_else(|| rule.strip_prefix('.')).unwrap_or(rule);
            let (rule, port) = rule.rsplit_once(':').map_or((rule, None), |(host, port)| (host, Some(port)));
            let port_fits = port.is_none_or(|port| port.parse() == Ok(url.port));
            let below = url.host.strip_suffix(rule).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            port_fits && (rule == "*" || below)
        };
        self.proxy.as_ref().filter(|_| url.tls && !self.direct.iter().any(is_direct))
    }
}

impl HttpProxy {
    fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        if rest.contains("://") {
            tracing::warn!("HTTPS_PROXY is ignored: only http:// proxies are supported");
            return None;
        }
        let rest = rest.split('/').next()?;
        let (user, address) = rest.rsplit_once('@').map_or((None, rest), |(user, address)| (Some(user), address));
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (address, 80),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let credential = user.map(|user| format!("Basic {}", STANDARD.encode(user)));
        (!host.is_empty()).then_some(Self { host, port, credential })
    }

    /// Opens a tunnel to the URL's host.
    pub async fn connect_tunnel(&self, tcp: &mut TcpStream, url: &HttpUrl) -> Result<(), TunnelError> {
        tcp.write_all(self.connect_request(url).as_bytes()).await?;
        // Read byte by byte, because bytes after the response belong to the host.
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            if response.len() == MAX_CONNECT_RESPONSE_BYTES {
                return Err(TunnelError::TooLong);
            }
            response.push(tcp.read_u8().await?);
        }
        let line = String::from_utf8_lossy(&response).lines().next().unwrap_or_default().to_owned();
        match line.split(' ').nth(1) {
            Some(status) if status.starts_with('2') => Ok(()),
            _ => Err(TunnelError::Declined(line)),
        }
    }

    fn connect_request(&self, url: &HttpUrl) -> String {
        let target = match url.host.contains(':') {
            true => format!("[{}]:{}", url.host, url.port),
            false => format!("{}:{}", url.host, url.port),
        };
        let credential = self.credential.as_ref().map(|value| format!("Proxy-Authorization: {value}\r\n"));
        format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", credential.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(vars: &[(&str, &str)]) -> EgressProxy {
        EgressProxy::from_env(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn proxy_for(vars: &[(&str, &str)], url: &str) -> Option<String> {
        egress(vars).proxy_for(&HttpUrl::parse(url).unwrap()).map(|proxy| format!("{proxy:?}"))
    }

    #[test]
    fn the_environment_names_the_proxy_and_its_exceptions() {
        let vars = [
            ("HTTPS_PROXY", "http://user:secret@proxy.corp:3128/"),
            ("no_proxy", "internal.corp, .example.com,10.0.0.1:8443"),
        ];
        assert_eq!(proxy_for(&vars, "https://api.openai.com").as_deref(), Some("proxy.corp:3128"));
        for direct in
            ["https://internal.corp", "https://llm.internal.corp", "https://a.example.com", "https://10.0.0.1:8443"]
        {
            assert_eq!(proxy_for(&vars, direct), None, "{direct}");
        }
        assert!(proxy_for(&vars, "https://10.0.0.1").is_some());
        assert_eq!(proxy_for(&vars, "http://127.0.0.1:11434"), None);
        assert_eq!(proxy_for(&[("https_proxy", "socks5://x:1")], "https://a.b"), None);
        assert_eq!(proxy_for(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "*")], "https://a.b"), None);
        assert!(!format!("{:?}", egress(&vars)).contains("secret"));
    }

    #[test]
    fn credentials_go_to_the_proxy_in_base64() {
        let egress = egress(&[("https_proxy", "http://user:pass@proxy.corp:3128")]);
        let url = HttpUrl::parse("https://[2001:db8::1]/v1").unwrap();
        let request = egress.proxy_for(&url).unwrap().connect_request(&url);
        assert_eq!(
            request,
            "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\
             Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n"
        );
    }
}
