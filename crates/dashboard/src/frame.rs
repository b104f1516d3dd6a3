//! What every page has: the document, the navigation and the state of the live stream.

use belay_core::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};

use crate::icons::{brand, definitions, icon};
use crate::text::name;
use crate::{assets, decide, keyboard_help};

/// Who asks, when, and what the navigation shows.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub page: Page,
    /// Number of sessions and review tasks that need a person.
    pub needs: u64,
    pub open_incidents: u64,
    /// Number of review tasks that need a person. Like incidents, the overview counts them, too.
    pub reviews_waiting: u64,
    /// Address of the server, as people would type it.
    pub address: &'a str,
    /// The theme that the reader chose; otherwise the system's.
    pub theme: Option<Theme>,
    /// What every page must say about how the resident process is configured.
    pub notices: &'a [String],
    /// The token of forms. `None`: the reader is not logged in, and controls are disabled.
    pub form_token: Option<&'a str>,
    /// The name under which the reader's decisions are recorded.
    pub reader: Option<&'a str>,
    /// The user's home directory, which paths are shown without.
    pub home: Option<&'a str>,
    pub now: Timestamp,
    pub zone: &'a TimeZone,
    /// Position in the log that the page shows; the live stream continues from it.
    pub position: u64,
}

/// The pages of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Overview,
    /// A session; the navigation shows it under the overview.
    Session,
    Incidents,
    /// The list of review tasks, and each of them.
    Reviews,
    History,
    Spend,
    Settings,
    /// A page outside the navigation.
    Other,
}

/// A theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Theme {
    /// Name of the cookie.
    pub const COOKIE: &'static str = "belay_theme";

    /// The theme for a cookie's value.
    pub fn from_cookie(value: &str) -> Option<Self> {
        match value {
            "light" => Some(Self::Light),
            "dark" => Some(Self::Dark),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// What changes while a page is open.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Live<'a> {
    /// Ids of the elements that follow every change.
    pub(crate) at_once: &'a [&'a str],
    /// Ids of the elements that are refreshed once a minute.
    pub(crate) each_minute: &'a [&'a str],
    /// Only changes of this session matter.
    pub(crate) session: Option<&'a str>,
    /// Only changes of this kind matter.
    pub(crate) kind: Option<&'a str>,
    /// Changes of review tasks matter, too. They are frequent, so most pages only update their counts.
    pub(crate) reviews: bool,
}

const PAGES: [(Page, &str, &str, &str); 6] = [
    (Page::Overview, "/", "Overview", "o"),
    (Page::Incidents, "/incidents", "Incidents", "i"),
    (Page::Reviews, "/reviews", "Reviews", "r"),
    (Page::History, "/history", "History", "h"),
    (Page::Spend, "/spend", "Spend", "s"),
    (Page::Settings, "/settings", "Settings", "t"),
];

/// Id of the navigation, which is also a fragment of every page.
pub(crate) const NAV: &str = "pages";

impl Frame<'_> {
    /// The navigation with its counts.
    pub(crate) fn nav(&self) -> Markup {
        let current = if self.page == Page::Session { Page::Overview } else { self.page };
        html! {
            nav id=(NAV) aria-label="Pages" {
                @for (page, url, label, key) in PAGES {
                    a href=(url) data-go=(key) aria-current=[(page == current).then_some("page")] {
                        (label)
                        @match page {
                            Page::Overview if self.needs > 0 => { " " span.count.hot { (self.needs) } }
                            Page::Incidents if self.open_incidents > 0 => { " " span.count { (self.open_incidents) } }
                            Page::Reviews if self.reviews_waiting > 0 => { " " span.count { (self.reviews_waiting) } }
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    /// A path as people write it: `~/src/shop`.
    pub(crate) fn path(&self, path: &str) -> String {
        let below =
            self.home.and_then(|home| path.strip_prefix(home)).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        below.map_or_else(|| path.to_owned(), |rest| format!("~{rest}"))
    }

    /// Who decided, in the reader's words.
    pub(crate) fn who(&self, by: Option<&str>) -> String {
        who(by, self.reader)
    }

    /// Whether the reader may decide.
    pub(crate) fn may_decide(&self) -> bool {
        self.form_token.is_some()
    }

    /// A whole page.
    pub(crate) fn document(&self, title: &str, live: Live<'_>, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" data-theme=[self.theme.map(Theme::as_str)] {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (name(title)) " · Belay" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href=(assets::url("belay.css"));
                    @for module in assets::modules() { link rel="modulepreload" href=(module); }
                    script type="module" src=(assets::url("app.js")) {}
                }
                body data-now=(self.now) data-position=(self.position) {
                    (definitions())
                    a.skip href="#main" { "Skip to content" }
                    header.top {
                        a.brand href="/" { (brand()) "Belay" }
                        (self.nav())
                        (self.tools())
                    }
                    main id="main" data-live=(live.at_once.join(" ")) data-minute=(live.each_minute.join(" ")) data-session=[live.session] data-kind=[live.kind] data-reviews[live.reviews] {
                        @for notice in self.notices {
                            aside.note.notice { (icon("held")) p { (notice) } }
                        }
                        (self.login_hint())
                        (content)
                    }
                    (decide::dialogs(self))
                    (keyboard_help::dialog())
                }
            }
        }
    }

    fn tools(&self) -> Markup {
        html! {
            div.tools {
                span.live.off id="live" role="status" { noscript { "As of now" } }
                span.mid { (self.address) }
                button.plain type="button" data-help aria-label="Keyboard shortcuts" { kbd { "?" } }
                button.plain type="button" data-theme-toggle aria-label="Switch between light and dark" { (icon("theme")) }
            }
        }
    }

    fn login_hint(&self) -> Markup {
        if self.may_decide() || self.page == Page::Other {
            return html! {};
        }
        html! {
            aside.note aria-label="Read only" {
                (icon("permission"))
                p { "Read only. To decide from here, run " code { "belay open" } " in a terminal: it opens this page logged in." }
                button type="button" data-copy-text="belay open" { "Copy the command" }
            }
        }
    }
}

/// Who decided: "you", "another browser", or a name. `by` is the recorded name, `reader` the reader's own.
pub fn who(by: Option<&str>, reader: Option<&str>) -> String {
    match by {
        None => "a program".to_owned(),
        Some(_) if by == reader => "you".to_owned(),
        Some(name) if is_browser(name) => "another browser".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// Whether a recorded name is the login of a browser.
pub(crate) fn is_browser(name: &str) -> bool {
    name.starts_with("browser ")
}

/// Stands for a part that is gone: this address has another page now, and `assets/refresh.js` loads it.
pub(crate) fn replaced(id: &str) -> Markup {
    html! { div id=(id) data-replaced {} }
}

/// A page that the server shows.
pub trait PageView {
    /// Its place in the navigation.
    fn place(&self) -> Page;

    /// The whole page.
    fn page(&self, frame: &Frame<'_>) -> Markup;

    /// The part with an id; `None` if the page has no such part.
    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup>;

    /// Several parts, by ids that are separated by commas. `None` if one of them does not exist.
    fn fragment(&self, frame: &Frame<'_>, ids: &str) -> Option<Markup> {
        let part = |id: &str| if id == NAV { Some(frame.nav()) } else { self.part(frame, id) };
        let parts: Option<Vec<Markup>> = ids.split(',').map(part).collect();
        parts.map(|parts| html! { @for part in parts { (part) } })
    }
}

impl<V: PageView + ?Sized> PageView for Box<V> {
    fn place(&self) -> Page {
        (**self).place()
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        (**self).page(frame)
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        (**self).part(frame, id)
    }
}
