//! Request heads.

use belay_net::is_loopback_authority;

use super::{
    CREDENTIAL_HEADERS, Framing, HeadError, HeaderAction, HeaderStorage, HopByHopHeaders, MAX_HEAD_BYTES, contains,
    copy_lines,
};

/// A request head, borrowed from the input.
#[derive(Debug)]
pub(crate) struct RequestHead<'b, 'l> {
    raw: &'b [u8],
    pub(crate) method: &'b str,
    pub(crate) target: &'b str,
    minor: u8,
    lines: &'l [httparse::Header<'b>],
    hop: HopByHopHeaders,
}

/// How the head is rewritten for the upstream.
#[derive(Debug, Default)]
pub(crate) struct HeadRewrite<'a> {
    /// The request target.
    pub(crate) target: &'a [&'a str],
    /// The `Host` header.
    pub(crate) host: &'a str,
    /// A configured credential that replaces the client's.
    pub(crate) credential: Option<(&'a str, &'a str)>,
}

impl<'b, 'l> RequestHead<'b, 'l> {
    /// Parses a head; `None` while it is incomplete.
    pub(crate) fn parse(bytes: &'b [u8], room: &'l mut HeaderStorage<'b>) -> Result<Option<Self>, HeadError> {
        let mut request = httparse::Request::new(&mut []);
        let len = match request.parse_with_uninit_headers(bytes, &mut room.0) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD_BYTES => return Err(HeadError::TooLarge),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
            Err(error) => return Err(HeadError::Syntax(error)),
        };
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
            return Ok(None);
        };
        let lines: &'l [httparse::Header<'b>] = request.headers;
        let raw = &bytes[..len];
        if memchr::memchr_iter(b'\n', raw).any(|at| at == 0 || raw[at - 1] != b'\r') {
            return Err(HeadError::Ambiguous("a line ends without a carriage return"));
        }
        let mut hop = HopByHopHeaders::read(lines)?;
        // A relay cannot forward an HTTP/2 upgrade; the response is the same without it.
        let is_http2 =
            |line: &httparse::Header<'_>| contains(line.name, "upgrade") && line.value.eq_ignore_ascii_case(b"h2c");
        hop.upgrade &= !lines.iter().any(is_http2);
        if hop.other_coding {
            return Err(HeadError::Ambiguous("its Transfer-Encoding is not `chunked`"));
        }
        if hop.chunked && minor == 0 {
            return Err(HeadError::Ambiguous("HTTP/1.0 knows no Transfer-Encoding"));
        }
        let twice = |name: &str| lines.iter().filter(|line| contains(line.name, name)).count() > 1;
        if twice("host") {
            return Err(HeadError::Ambiguous("it has two Host lines"));
        }
        if twice("content-length") {
            return Err(HeadError::Ambiguous("it has two Content-Length lines"));
        }
        Ok(Some(Self { raw, method, target, minor, lines, hop }))
    }

    /// Length of the head in bytes, including the empty line.
    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    pub(crate) fn framing(&self) -> Framing {
        match self.hop.length {
            _ if self.hop.chunked => Framing::Chunked,
            Some(0) | None => Framing::Empty,
            Some(length) => Framing::Length(length),
        }
    }

    /// Whether the client keeps the connection open.
    pub(crate) fn keep_alive(&self) -> bool {
        self.minor == 1 && !self.hop.close
    }

    /// The protocol the client wants to upgrade to, if any.
    pub(crate) fn upgrade(&self) -> Option<&'b str> {
        self.hop.upgrade.then(|| self.header("upgrade")).flatten()
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(crate) fn expects_continue(&self) -> bool {
        self.minor == 1 && self.header("expect").is_some_and(|value| contains(value, "100-continue"))
    }

    /// Whether a page in a browser may have sent it: a cross-origin page, or one whose own name resolves to this machine.
    /// Programs send neither `Origin` nor `Sec-Fetch-Site`.
    /// Other machines may use any name for this one, so over TLS the host tells nothing.
    pub(crate) fn is_cross_origin_browser(&self, is_tls: bool) -> bool {
        let host = self.header("host");
        let scheme = if is_tls { "https://" } else { "http://" };
        let is_own = |origin: &str| origin.strip_prefix(scheme) == host;
        let is_same_site = |site: &str| matches!(site, "same-origin" | "none");
        !is_tls && host.is_some_and(|host| !is_loopback_authority(host))
            || self.header("origin").is_some_and(|origin| !is_own(origin))
            || self.header("sec-fetch-site").is_some_and(|site| !is_same_site(site))
    }

    /// Whether a web site sent it through the user's browser. Desktop programs have origins with other schemes.
    pub(crate) fn is_browser_navigation(&self) -> bool {
        let Some(origin) = self.header("origin") else { return false };
        match origin.split_once("://") {
            Some(("http" | "https", authority)) => !is_loopback_authority(authority),
            Some(_) => false,
            None => true,
        }
    }

    /// The value of the first header with this name that is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'b str> {
        let named = self.lines.iter().filter(|line| contains(line.name, name));
        named.filter_map(|line| std::str::from_utf8(line.value).ok()).next()
    }

    /// All headers whose value is text.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'b str, &'b str)> {
        self.lines.iter().filter_map(|line| Some((line.name, std::str::from_utf8(line.value).ok()?)))
    }

    /// The head as sent to the upstream.
    pub(crate) fn rewrite(&self, rewrite: &HeadRewrite<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len() + 256);
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        for part in rewrite.target {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(if self.minor == 1 { b" HTTP/1.1\r\n" } else { b" HTTP/1.0\r\n" });
        let mut host_seen = false;
        copy_lines(self.raw, self.lines, &mut out, |index| {
            let line = &self.lines[index];
            if contains(line.name, "host") {
                host_seen = true;
                return HeaderAction::Value(rewrite.host.as_bytes());
            }
            let ours = self.hop.owns(line, self.lines) || is_for_us(line.name);
            let replaced = rewrite.credential.is_some() && is_credential(line.name, rewrite.credential);
            if ours || replaced { HeaderAction::No } else { HeaderAction::Yes }
        });
        let mut add = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        };
        if !host_seen {
            add("host", rewrite.host);
        }
        if let Some((name, value)) = rewrite.credential {
            add(name, value);
        }
        if self.hop.upgrade {
            add("connection", "upgrade");
        }
        out.extend_from_slice(b"\r\n");
        out
    }
}

impl belay_agents::wire::RequestHead for RoutedHead<'_, '_, '_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    fn path(&self) -> &str {
        self.path
    }
}

/// The head as passed to agent-specific code, without Belay's path prefixes.
#[derive(Debug)]
pub(crate) struct RoutedHead<'h, 'b, 'l> {
    pub(crate) head: &'h RequestHead<'b, 'l>,
    pub(crate) path: &'b str,
}

/// Headers addressed to Belay, which are not forwarded.
fn is_for_us(name: &str) -> bool {
    let starts = |prefix: &str| name.get(..prefix.len()).is_some_and(|start| contains(start, prefix));
    starts("x-belay-") || starts("x-loop-")
}

/// Headers with a credential, which a configured credential replaces.
fn is_credential(name: &str, credential: Option<(&str, &str)>) -> bool {
    CREDENTIAL_HEADERS.iter().any(|known| contains(name, known))
        || credential.is_some_and(|(own, _)| contains(name, own))
}
