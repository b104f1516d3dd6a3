//! The way out of a network that only lets requests through a proxy of its own.
//!
//! Agents honour `HTTPS_PROXY`; whoever stands between them and the network has to as well.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::base_url::BaseUrl;
use super::error::UpstreamError;

/// Longest answer a proxy may give to `CONNECT`.
const MAX_CONNECT_RESPONSE_BYTES: usize = 8 * 1024;

/// Which hosts are reached through which proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressProxy {
    proxy: Option<HttpProxy>,
    /// Hosts that are reached directly.
    direct: Vec<String>,
}

/// A proxy of the network.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct HttpProxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// Value of `Proxy-Authorization`.
    credential: Option<String>,
}

// A credential must not reach a log through a debug print.
impl std::fmt::Debug for HttpProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl EgressProxy {
    /// As the environment says: `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in either case.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| lookup(&name.to_ascii_lowercase()).or_else(|| lookup(name)).filter(|v| !v.is_empty());
        let proxy = either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")).and_then(|url| HttpProxy::parse(&url));
        let direct = either("NO_PROXY").unwrap_or_default();
        let direct = direct.split(',').map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty());
        Self { proxy, direct: direct.collect() }
    }

    /// The proxy on the way to a base; `None` where it is reached directly. Plain http stays on this
    /// machine or in this network, and never needs one.
    pub(super) fn proxy_for(&self, base: &BaseUrl) -> Option<&HttpProxy> {
        let is_direct = |rule: &String| {
            let rule = rule.strip_prefix("*.").or_else(|| rule.strip_prefix('.')).unwrap_or(rule);
            let (rule, port) = rule.rsplit_once(':').map_or((rule, None), |(host, port)| (host, Some(port)));
            let port_fits = port.is_none_or(|port| port.parse() == Ok(base.port));
            let below = base.host.strip_suffix(rule).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            port_fits && (rule == "*" || below)
        };
        self.proxy.as_ref().filter(|_| base.tls && !self.direct.iter().any(is_direct))
    }
}

impl HttpProxy {
    fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        if rest.contains("://") {
            tracing::warn!("a proxy that is not spoken to in http is not used");
            return None;
        }
        let rest = rest.split('/').next()?;
        let (user, address) = rest.rsplit_once('@').map_or((None, rest), |(user, address)| (Some(user), address));
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (address, 80),
        };
        let host = host.trim_matches(['[', ']']).to_owned();
        let credential = user.map(|user| format!("Basic {}", base64(user.as_bytes())));
        (!host.is_empty()).then_some(Self { host, port, credential })
    }

    /// Asks the proxy for a way to the base.
    pub(super) async fn connect_tunnel(&self, tcp: &mut TcpStream, base: &BaseUrl) -> Result<(), UpstreamError> {
        let failed = |problem: String| UpstreamError::Egress { proxy: format!("{self:?}"), problem };
        let io = |error: io::Error| failed(error.to_string());
        let target = match base.host.contains(':') {
            true => format!("[{}]:{}", base.host, base.port),
            false => format!("{}:{}", base.host, base.port),
        };
        let credential = self.credential.as_ref().map(|value| format!("Proxy-Authorization: {value}\r\n"));
        let ask = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", credential.unwrap_or_default());
        tcp.write_all(ask.as_bytes()).await.map_err(io)?;
        // Byte by byte: what follows the answer belongs to the upstream.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() == MAX_CONNECT_RESPONSE_BYTES {
                return Err(failed("its answer does not end".to_owned()));
            }
            answer.push(tcp.read_u8().await.map_err(io)?);
        }
        let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
        match line.split(' ').nth(1) {
            Some(status) if status.starts_with('2') => Ok(()),
            _ => Err(failed(format!("it answered {line:?}"))),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= chunk.len() { DIGITS[index] as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(vars: &[(&str, &str)]) -> EgressProxy {
        EgressProxy::from_env(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn way(vars: &[(&str, &str)], url: &str) -> Option<String> {
        egress(vars).proxy_for(&BaseUrl::parse(url).unwrap()).map(|gateway| format!("{gateway:?}"))
    }

    #[test]
    fn the_environment_names_the_way_out() {
        let vars = [
            ("HTTPS_PROXY", "http://user:secret@proxy.corp:3128/"),
            ("no_proxy", "internal.corp, .example.com,10.0.0.1:8443"),
        ];
        assert_eq!(way(&vars, "https://api.openai.com").as_deref(), Some("proxy.corp:3128"));
        for direct in
            ["https://internal.corp", "https://llm.internal.corp", "https://a.example.com", "https://10.0.0.1:8443"]
        {
            assert_eq!(way(&vars, direct), None, "{direct}");
        }
        assert!(way(&vars, "https://10.0.0.1").is_some());
        assert_eq!(way(&vars, "http://127.0.0.1:11434"), None);
        assert_eq!(way(&[("https_proxy", "socks5://x:1")], "https://a.b"), None);
        assert_eq!(way(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "*")], "https://a.b"), None);
        assert!(!format!("{:?}", egress(&vars)).contains("secret"));
    }

    #[test]
    fn credentials_are_encoded_as_the_standard_says() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("user:pass", "dXNlcjpwYXNz")]
        {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }
}
