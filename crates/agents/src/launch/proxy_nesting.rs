//! Nested runs and forward proxies: every request goes directly to this proxy and then to the upstream that the user
//! chose.

use std::collections::BTreeMap;

use serde_json::json;

use super::{LaunchCommand, LaunchContext};

/// The upstreams behind the proxy, for nested runs.
const NESTED_UPSTREAMS_VAR: &str = "BELAY_UPSTREAMS";
/// Variables that configure a forward proxy.
const FORWARD_PROXY_VARS: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

impl LaunchContext<'_> {
    /// The model API that the user has set in a variable.
    pub(crate) fn user_base_url(&self, variable: &str) -> Option<String> {
        self.env_var(variable).and_then(|url| self.resolve_nested(url))
    }

    /// The upstream behind a base URL. A nested run finds the proxy's URL; the outer run has exported the upstream
    /// behind it. `None` means the proxy's default upstream.
    pub(crate) fn resolve_nested(&self, url: String) -> Option<String> {
        let ours = self.proxy.map(|proxy| proxy.trim_end_matches('/'));
        let Some(path) = ours.and_then(|proxy| url.strip_prefix(proxy)?.strip_prefix('/')) else { return Some(url) };
        let path = path.strip_prefix("s/").and_then(|path| path.split_once('/')).map_or(path, |(_, path)| path);
        let (name, below) = path.find('/').map_or((path, ""), |at| path.split_at(at));
        self.nested_upstreams().get(name).map(|api| format!("{}{below}", api.trim_end_matches('/')))
    }

    fn nested_upstreams(&self) -> BTreeMap<String, String> {
        self.env_var(NESTED_UPSTREAMS_VAR).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }
}

impl LaunchCommand {
    /// Exports the upstreams behind the proxy.
    pub(super) fn export_upstreams(&mut self, context: &LaunchContext<'_>) {
        let mut nested_upstreams = context.nested_upstreams();
        nested_upstreams.extend(self.upstreams.iter().cloned());
        if context.proxy.is_some() && !nested_upstreams.is_empty() {
            self.set_env(NESTED_UPSTREAMS_VAR, json!(nested_upstreams).to_string());
        }
    }

    /// Exempts requests to the proxy from a forward proxy.
    pub(super) fn exempt_from_forward_proxy(&mut self, context: &LaunchContext<'_>) {
        let Some(host) = context.proxy.and_then(host) else { return };
        if !FORWARD_PROXY_VARS.iter().any(|variable| context.env_var(variable).is_some()) {
            return;
        }
        // Programs read one variable, the other, or the first that is set.
        let (upper, lower) = (context.env_var("NO_PROXY"), context.env_var("no_proxy"));
        for (variable, own) in [("NO_PROXY", upper.clone().or(lower.clone())), ("no_proxy", lower.or(upper))] {
            let own = own.unwrap_or_default();
            let is_in = own.split(',').any(|entry| [host, "*"].contains(&entry.trim()));
            let all = if is_in { own } else { [own.as_str(), host].join(",").trim_start_matches(',').to_owned() };
            self.set_env(variable, all);
        }
    }
}

/// The host of a URL, without its port.
fn host(url: &str) -> Option<&str> {
    let authority = url.split_once("://")?.1.split('/').next()?;
    let bare = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    Some(bare.trim_start_matches('[').trim_end_matches(']'))
}
