//! Small pages for a person whose request cannot be answered yet. They need no other file, because a browser that is not
//! logged in may not load any.

use std::sync::LazyLock;

use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem}\
    h1{font-size:1.25rem}code{font:0.9em ui-monospace,monospace}";

/// Allows only [`STYLE`], by its digest.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"))
});

/// The browser needs a login.
pub(super) fn login_required() -> Response {
    page(
        StatusCode::UNAUTHORIZED,
        "Log in to Belay",
        "<p>Run <code>belay open</code> on the machine that runs Belay. It opens a link that logs this browser in.</p>\
         <p>On another machine, run <code>belay open --print</code> there and open the link here.</p>",
    )
}

/// The code of a link was used before, or has expired.
pub(super) fn invalid_code() -> Response {
    page(
        StatusCode::FORBIDDEN,
        "This link is no longer valid",
        "<p>A login link works once, within 10 minutes. Run <code>belay open</code> for a new one.</p>",
    )
}

/// A link on another site. Its target needs a click here, so that the other site cannot open it by itself.
pub(super) fn cross_site_link(target: &Uri) -> Response {
    // A path that starts with two slashes would lead to another host.
    let target = target.path_and_query().map_or("", |target| target.as_str()).trim_start_matches(['/', '\\']);
    let link = format!(
        "<p>A page of another site, or another program on this machine, sent you here.</p>\
         <p><a href=\"/{}\">Continue to Belay</a></p>",
        escape_attribute(target)
    );
    page(StatusCode::FORBIDDEN, "A link from another site", &link)
}

fn escape_attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=color-scheme content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <main>\n<h1>{title}</h1>\n{body}\n</main>\n</html>\n"
    );
    (status, [(CONTENT_SECURITY_POLICY, POLICY.clone())], Html(html)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn cross_site_page(target: &str) -> String {
        let response = cross_site_link(&target.parse().unwrap());
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_link_stays_on_this_host() {
        assert!(cross_site_page("/sessions/a?x=1&y=2").await.contains("href=\"/sessions/a?x=1&amp;y=2\""));
        assert!(cross_site_page("//evil.example/x").await.contains("href=\"/evil.example/x\""));
        assert!(cross_site_page("/").await.contains("href=\"/\""));
    }
}
