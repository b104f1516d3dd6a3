//! Routes requests to Belay's own API or to an upstream.

mod runs;

use std::sync::Arc;
use std::time::Duration;

use belay_core::SessionKey;

use crate::head::RequestHead;
use crate::upstream::{OwnAddresses, Upstream, UpstreamConfig, UpstreamConfigError, parse_base};
pub(crate) use runs::OpenExchange;
use runs::RunRegistry;

/// All upstreams, and the rules that choose one.
#[derive(Debug)]
pub(crate) struct Routes {
    upstreams: Vec<Arc<Upstream>>,
    runs: RunRegistry,
    own: OwnAddresses,
}

/// Where a request goes.
#[derive(Debug)]
pub(crate) enum Route<'t> {
    /// To Belay's own API.
    Local,
    /// To an upstream.
    Upstream {
        upstream: Arc<Upstream>,
        /// The path between the upstream's base URL and the request path.
        below: &'static str,
        /// The request target without Belay's own prefixes.
        path: &'t str,
        /// The key under which `belay run` started the agent.
        run: Option<&'t str>,
    },
    /// An unknown client.
    Unknown,
}

/// Belay's own paths, which upstreams cannot use.
const LOCAL_PATHS: &[&str] = &["/healthz", "/readyz", "/metrics", "/login", "/logout"];
const LOCAL_PREFIXES: &[&str] = &[
    "/api",
    "/v1/watchdog",
    "/approvals",
    "/assets",
    "/dashboard",
    "/history",
    "/incidents",
    "/reviews",
    "/sessions",
    "/settings",
    "/spend",
    "/trial",
];
/// Path prefixes that identify an API without the name of an upstream.
const RESERVED_UPSTREAM_NAMES: &[&str] = &[
    "api",
    "s",
    "t",
    "healthz",
    "readyz",
    "metrics",
    "login",
    "logout",
    "v1",
    "v1beta",
    "v1alpha",
    "upload",
    "codex",
    "approvals",
    "assets",
    "dashboard",
    "history",
    "incidents",
    "reviews",
    "sessions",
    "settings",
    "spend",
    "trial",
];

/// Paths that identify a provider's API.
const UPSTREAM_BY_PATH: &[(&str, &str)] = &[
    ("/v1/messages", "anthropic"),
    ("/v1/complete", "anthropic"),
    ("/v1/responses", "openai"),
    ("/v1/chat/completions", "openai"),
    ("/v1beta", "gemini"),
    ("/v1alpha", "gemini"),
    ("/upload/v1beta", "gemini"),
];

/// Headers that identify a provider where paths are the same.
const UPSTREAM_BY_HEADER: &[(&str, &str)] = &[("anthropic-version", "anthropic"), ("x-goog-api-key", "gemini")];

/// Gemini's operations follow a colon, in any version of its API.
const GEMINI_METHODS: &[(&str, &str)] = &[
    (":generateContent", "gemini"),
    (":streamGenerateContent", "gemini"),
    (":countTokens", "gemini"),
    (":embedContent", "gemini"),
    (":batchEmbedContents", "gemini"),
];

/// Header of requests paid by a ChatGPT subscription, which use a separate API.
const CHATGPT_ACCOUNT_HEADER: &str = "chatgpt-account-id";

impl Routes {
    pub(crate) fn new(configs: &[UpstreamConfig]) -> Result<Self, UpstreamConfigError> {
        let own = OwnAddresses::default();
        configs.iter().try_for_each(check_name)?;
        let upstreams = configs.iter().map(|config| Upstream::new(config, &own).map(Arc::new));
        Ok(Self { upstreams: upstreams.collect::<Result<_, _>>()?, runs: RunRegistry::default(), own })
    }

    /// Belay listens on this address.
    pub(crate) fn add_own_address(&self, address: std::net::SocketAddr) {
        self.own.add(address);
    }

    pub(crate) fn begin_run(&self, run: &str, configs: &[UpstreamConfig]) -> Result<(), UpstreamConfigError> {
        let upstreams = configs.iter().map(|config| Upstream::new(config, &self.own).map(Arc::new));
        self.runs.begin(run, upstreams.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// A request of a run named its session.
    pub(crate) fn bind_run_session(&self, run: &str, session: &SessionKey) {
        self.runs.bind_session(run, session);
    }

    pub(crate) fn session_of(&self, run: &str) -> Option<SessionKey> {
        self.runs.session(run)
    }

    /// An exchange of this run begins; it is open until the guard is dropped.
    pub(crate) fn open_exchange(&self, run: &str) -> Option<OpenExchange> {
        self.runs.open_exchange(run)
    }

    /// Waits until every exchange of this run is recorded. `false` after the timeout.
    pub(crate) fn wait_for_exchanges(&self, run: &str, timeout: Duration) -> bool {
        self.runs.wait_for_exchanges(run, timeout)
    }

    /// The key of this run is no longer accepted.
    pub(crate) fn end_run(&self, run: &str) {
        self.runs.end(run);
    }

    /// Whether this is the key of a run that has not ended.
    pub(crate) fn is_active_run(&self, run: &str) -> bool {
        self.runs.is_active(run)
    }

    /// Resolves `target`, which is that of the head without the token.
    pub(crate) fn resolve<'t>(&self, head: &RequestHead<'t, '_>, target: &'t str) -> Route<'t> {
        let path = without_query(target);
        if path == "/" || LOCAL_PATHS.contains(&path) || LOCAL_PREFIXES.iter().any(|below| is_below(path, below)) {
            return Route::Local;
        }
        let (run, target) = match target.strip_prefix("/s/") {
            Some(rest) => match rest.find('/') {
                Some(slash) => (Some(&rest[..slash]), &rest[slash..]),
                None => return Route::Local,
            },
            None => (None, target),
        };
        let first = target[1.min(target.len())..].split(['/', '?']).next().unwrap_or_default();
        if let Some(upstream) = run.and_then(|run| self.runs.upstream(run, first)).or_else(|| self.named(first)) {
            return Route::Upstream { upstream, below: "", path: after(target, first), run };
        }
        let subscription = head.header(CHATGPT_ACCOUNT_HEADER).is_some();
        if first == "codex" {
            let (name, below) = if subscription { ("chatgpt", "") } else { ("openai", "/v1") };
            return self.to(name, below, after(target, first), run);
        }
        let path = without_query(target);
        let by_path = UPSTREAM_BY_PATH.iter().find(|(prefix, _)| is_below(path, prefix));
        let by_header = || UPSTREAM_BY_HEADER.iter().find(|(name, _)| head.header(name).is_some());
        let by_method = || GEMINI_METHODS.iter().find(|(method, _)| path.ends_with(method));
        match by_path.or_else(by_header).or_else(by_method) {
            Some((_, "openai")) if subscription => self.to("chatgpt", "", after(target, "v1"), run),
            Some((_, name)) => self.to(name, "", target, run),
            // The rest of `/v1` belongs to OpenAI: models, embeddings, files, audio.
            None if is_below(path, "/v1") => self.to("openai", "", target, run),
            // A page or an image, not a model request.
            None if run.is_none() && matches!(head.method, "GET" | "HEAD") => Route::Local,
            None => Route::Unknown,
        }
    }

    fn to<'t>(&self, name: &str, below: &'static str, path: &'t str, run: Option<&'t str>) -> Route<'t> {
        match run.and_then(|run| self.runs.upstream(run, name)).or_else(|| self.named(name)) {
            Some(upstream) => Route::Upstream { upstream, below, path, run },
            None => Route::Unknown,
        }
    }

    fn named(&self, name: &str) -> Option<Arc<Upstream>> {
        self.upstreams.iter().find(|upstream| upstream.name == name).cloned()
    }

    /// Whether a WebSocket on this path would carry turns that cannot be inspected.
    pub(crate) fn is_model_socket(path: &str) -> bool {
        without_query(path).ends_with("/responses")
    }

    /// The names that can be written as a prefix.
    pub(crate) fn upstream_names(&self) -> impl Iterator<Item = &str> {
        self.upstreams.iter().map(|upstream| upstream.name.as_str())
    }
}

/// Refuses a name that is invalid in a path or conflicts with other routes.
fn check_name(config: &UpstreamConfig) -> Result<(), UpstreamConfigError> {
    let UpstreamConfig { name, url, .. } = config;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let problem = if RESERVED_UPSTREAM_NAMES.contains(&name.as_str()) {
        format!("an upstream cannot be named `{name}`: paths that begin so have a meaning of their own")
    } else if name.is_empty() || !name.bytes().all(fits) {
        format!("an upstream cannot be named `{name}`: its name stands in paths; use letters, digits, `-`, `_` and `.`")
    } else {
        return Ok(());
    };
    Err(UpstreamConfigError::new(parse_base(url)?.url(), problem))
}

fn without_query(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or(target)
}

/// The path after its first segment; at least a slash.
fn after<'t>(target: &'t str, first: &str) -> &'t str {
    match &target[1 + first.len()..] {
        "" => "/",
        rest => rest,
    }
}

/// Whether `path` is `prefix` or lies below it.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
