//! The head of a request.

use super::{
    CREDENTIAL_HEADERS, Framing, HeadError, HeaderAction, HeaderStorage, HopByHopHeaders, MAX_HEAD_BYTES, contains,
    copy_lines,
};

/// A request's head, borrowed from the bytes it was read from.
#[derive(Debug)]
pub(crate) struct RequestHead<'b, 'l> {
    raw: &'b [u8],
    pub(crate) method: &'b str,
    pub(crate) target: &'b str,
    minor: u8,
    lines: &'l [httparse::Header<'b>],
    hop: HopByHopHeaders,
}

/// How the head changes on its way to the upstream.
#[derive(Debug, Default)]
pub(crate) struct HeadRewrite<'a> {
    /// What to ask the upstream for.
    pub(crate) target: &'a [&'a str],
    /// Whom to ask.
    pub(crate) host: &'a str,
    /// A credential of ours instead of the client's.
    pub(crate) credential: Option<(&'a str, &'a str)>,
}

impl<'b, 'l> RequestHead<'b, 'l> {
    /// Reads a head; `None` while it is not complete.
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
        // A wish that no relay can pass on: what was granted would be spoken past it, and the answer is the same without.
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

    /// How many bytes the head takes, the empty line included.
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

    /// Whether the client wants to ask more on this connection.
    pub(crate) fn keep_alive(&self) -> bool {
        self.minor == 1 && !self.hop.close
    }

    /// The protocol the client wants to go on with, if any.
    pub(crate) fn upgrade(&self) -> Option<&'b str> {
        self.hop.upgrade.then(|| self.header("upgrade")).flatten()
    }

    /// Whether the client waits for a go-ahead before it sends the body.
    pub(crate) fn expects_continue(&self) -> bool {
        self.minor == 1 && self.header("expect").is_some_and(|value| contains(value, "100-continue"))
    }

    /// Whether a page in a browser sent it: one from elsewhere, or one that made a name of its own
    /// point here.
    pub(crate) fn is_cross_origin_browser(&self) -> bool {
        let foreign = |authority: &str| !is_loopback(authority);
        let origin = self.header("origin").map(|origin| origin.split("://").nth(1).unwrap_or("null"));
        origin.is_some_and(foreign) || self.header("host").is_some_and(foreign)
    }

    /// Whether a site elsewhere has its visitor's browser send it. Desktop programs have origins of other schemes.
    pub(crate) fn is_browser_navigation(&self) -> bool {
        let Some(origin) = self.header("origin") else { return false };
        match origin.split_once("://") {
            Some(("http" | "https", authority)) => !is_loopback(authority),
            Some(_) => false,
            None => true,
        }
    }

    /// The value of the first line of this name that is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'b str> {
        let named = self.lines.iter().filter(|line| contains(line.name, name));
        named.filter_map(|line| std::str::from_utf8(line.value).ok()).next()
    }

    /// All lines whose value is text.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'b str, &'b str)> {
        self.lines.iter().filter_map(|line| Some((line.name, std::str::from_utf8(line.value).ok()?)))
    }

    /// The head as the upstream gets it.
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

/// A head as an agent's dialect looks at it: without the prefixes that were meant for us.
#[derive(Debug)]
pub(crate) struct RoutedHead<'h, 'b, 'l> {
    pub(crate) head: &'h RequestHead<'b, 'l>,
    pub(crate) path: &'b str,
}

/// Whether `host` or `host:port` is this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    contains(host, "localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Lines addressed to us: nobody else needs to know.
fn is_for_us(name: &str) -> bool {
    let starts = |prefix: &str| name.get(..prefix.len()).is_some_and(|start| contains(start, prefix));
    starts("x-belay-") || starts("x-loop-")
}

/// Lines that carry a credential and give way to a configured one.
fn is_credential(name: &str, credential: Option<(&str, &str)>) -> bool {
    CREDENTIAL_HEADERS.iter().any(|known| contains(name, known))
        || credential.is_some_and(|(own, _)| contains(name, own))
}
