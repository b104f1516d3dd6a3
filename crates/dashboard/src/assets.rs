//! The style sheet and the scripts, compiled in. Their addresses contain a digest of the contents, so they can be cached
//! forever.

use std::sync::LazyLock;

use xxhash_rust::xxh3::Xxh3;

/// A file that pages load.
#[derive(Clone, Debug)]
pub struct Asset {
    /// Path of the URL, from the root.
    pub path: String,
    /// Name of the file.
    pub name: &'static str,
    pub content_type: &'static str,
    pub bytes: &'static [u8],
    /// Value of the `ETag` header, quotes included.
    pub etag: String,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($name:literal: $content_type:expr),* $(,)?) => {
        &[$(($name, $content_type, include_bytes!(concat!("../assets/", $name)))),*]
    };
}

const FILES: &[(&str, &str, &[u8])] = files! {
    "belay.css": "text/css; charset=utf-8",
    "app.js": JAVASCRIPT,
    "ask.js": JAVASCRIPT,
    "copy.js": JAVASCRIPT,
    "dom.js": JAVASCRIPT,
    "events.js": JAVASCRIPT,
    "forms.js": JAVASCRIPT,
    "keyboard.js": JAVASCRIPT,
    "live.js": JAVASCRIPT,
    "mirror.js": JAVASCRIPT,
    "morph.js": JAVASCRIPT,
    "picture.js": JAVASCRIPT,
    "refresh.js": JAVASCRIPT,
    "rescue.js": JAVASCRIPT,
    "select.js": JAVASCRIPT,
    "theme.js": JAVASCRIPT,
    "times.js": JAVASCRIPT,
};

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    // Modules import each other by relative path, so all files share one digest.
    let mut digest = Xxh3::new();
    for (name, _, bytes) in FILES {
        digest.update(name.as_bytes());
        digest.update(bytes);
    }
    let version = format!("{:016x}", digest.digest());
    let asset = |(name, content_type, bytes): &(&'static str, &'static str, &'static [u8])| Asset {
        path: format!("/assets/{version}/{name}"),
        name,
        content_type,
        bytes,
        etag: format!("\"{version}\""),
    };
    FILES.iter().map(asset).collect()
});

/// All assets.
pub fn assets() -> &'static [Asset] {
    &ASSETS
}

/// The asset of a path.
pub fn find(path: &str) -> Option<&'static Asset> {
    assets().iter().find(|asset| asset.path == path)
}

pub(crate) fn url(name: &str) -> &'static str {
    assets().iter().find(|asset| asset.name == name).map_or("", |asset| &asset.path)
}

/// Addresses of the modules that `app.js` imports.
pub(crate) fn modules() -> impl Iterator<Item = &'static str> {
    let imported = |asset: &&Asset| asset.content_type == JAVASCRIPT && asset.name != "app.js";
    assets().iter().filter(imported).map(|asset| asset.path.as_str())
}
