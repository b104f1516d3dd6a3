//! The icons: 16 px outlines in the current colour, defined once per page.

use maud::{Markup, PreEscaped, html};

/// Every state has an outline of its own, so that colour is never the only sign.
const SYMBOLS: &str = concat!(
    r##"<symbol id="i-theme" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M8 2a6 6 0 0 1 0 12z"/></symbol>"##,
    r##"<symbol id="i-question" viewBox="0 0 16 16"><path d="M2 2h12v9H8l-4 4v-4H2z"/><path d="M6.2 5.3c.2-2 3.6-2 3.6 0 0 1.3-1.8 1.2-1.8 2.4" fill="none" stroke="var(--surface)" stroke-width="1.4"/><circle cx="8" cy="9.3" r=".9" fill="var(--surface)"/></symbol>"##,
    r##"<symbol id="i-permission" viewBox="0 0 16 16"><path d="M3 7h10v8H3z"/><path d="M5 7V5a3 3 0 0 1 6 0v2" fill="none" stroke="currentColor" stroke-width="1.8"/><path d="M7.3 10h1.4v3H7.3z" fill="var(--surface)"/></symbol>"##,
    r##"<symbol id="i-plan" viewBox="0 0 16 16"><path d="M3 1h10v14H3z"/><path d="M5 5h6M5 8h6M5 11h4" stroke="var(--surface)" stroke-width="1.4"/></symbol>"##,
    r##"<symbol id="i-dialog" viewBox="0 0 16 16"><path d="M1 2h14v12H1z"/><path d="M2.6 5.4h10.8v7H2.6z" fill="var(--surface)"/><path d="M8 10h4v1.6H8z"/></symbol>"##,
    r##"<symbol id="i-held" viewBox="0 0 16 16"><path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z"/><path d="M5.4 5h1.8v6H5.4zM8.8 5h1.8v6H8.8z" fill="var(--surface)"/></symbol>"##,
    r##"<symbol id="i-looping" viewBox="0 0 16 16"><path d="M12.6 5A5.6 5.6 0 1 0 13.6 8" fill="none" stroke="currentColor" stroke-width="1.8"/><path d="M9.4 5.6h5V.6z"/></symbol>"##,
    r##"<symbol id="i-budget" viewBox="0 0 16 16"><path d="M5 2h6v13H5z"/><path d="M1 5.2h14" stroke="currentColor" stroke-width="1.6"/><path d="M5 5.2h6" stroke="var(--surface)" stroke-width="1.6"/></symbol>"##,
    r##"<symbol id="i-stalled" viewBox="0 0 16 16"><path d="M8 1.5l6.5 6.5L8 14.5 1.5 8z" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M5 8h6" stroke="currentColor" stroke-width="1.8"/></symbol>"##,
    r##"<symbol id="i-finished" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7"/><path d="M4.8 8.2l2.3 2.3 4.2-4.6" fill="none" stroke="var(--surface)" stroke-width="1.8"/></symbol>"##,
    r##"<symbol id="i-failed" viewBox="0 0 16 16"><path d="M3 3l10 10M13 3L3 13" stroke="currentColor" stroke-width="2.4"/></symbol>"##,
    r##"<symbol id="i-check" viewBox="0 0 16 16"><path d="M2.5 8.5l3.6 3.6 7.4-8" fill="none" stroke="currentColor" stroke-width="2.2"/></symbol>"##,
    r##"<symbol id="i-working" viewBox="0 0 16 16"><path d="M8 1.8A6.2 6.2 0 1 1 1.8 8" fill="none" stroke="currentColor" stroke-width="2.2"/><circle cx="8" cy="8" r="2"/></symbol>"##,
    r##"<symbol id="i-limited" viewBox="0 0 16 16"><path d="M3 1h10v3L9.2 8l3.8 4v3H3v-3l3.8-4L3 4z"/></symbol>"##,
    r##"<symbol id="i-wait" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M8 4.4V8l2.4 1.8" fill="none" stroke="currentColor" stroke-width="1.6"/></symbol>"##,
    r##"<symbol id="i-idle" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5" fill="none" stroke="currentColor" stroke-width="1.6"/></symbol>"##,
    r##"<symbol id="i-ended" viewBox="0 0 16 16"><path d="M4 4h8v8H4z"/></symbol>"##,
    r##"<symbol id="i-unknown" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2 2.2"/></symbol>"##,
    r##"<symbol id="i-notice" viewBox="0 0 16 16"><path d="M8 2l6 6-6 6-6-6z" fill="none" stroke="currentColor" stroke-width="1.6"/></symbol>"##,
    r##"<symbol id="i-nudge" viewBox="0 0 16 16"><path d="M2 5h8V1l5 6.5-5 6.5v-4H2z"/></symbol>"##,
    r##"<symbol id="i-person" viewBox="0 0 16 16"><circle cx="8" cy="5" r="3.2"/><path d="M2 15c0-7 12-7 12 0z"/></symbol>"##,
);

/// The definitions. Once per page.
pub(crate) fn definitions() -> Markup {
    html! { svg hidden { (PreEscaped(SYMBOLS)) } }
}

/// A decorative icon; the words are beside it.
pub(crate) fn icon(name: &str) -> Markup {
    html! { svg.icon aria-hidden="true" { use href={ "#i-" (name) } {} } }
}

/// The mark of the product.
pub(crate) fn brand() -> Markup {
    html! {
        svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" {
            path d="M6 17V7a4 4 0 1 1 8 0v6a2 2 0 0 1-4 0V3" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" {}
        }
    }
}
