//! Writes every page with invented data, so that pages can be looked at without a server:
//! `cargo run -p belay-dashboard --example gallery -- OUT_DIR`

mod fixtures;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use belay_dashboard::{Theme, assets};

fn main() -> io::Result<()> {
    let out = env::args_os().nth(1).map(PathBuf::from).ok_or_else(|| io::Error::other("usage: gallery OUT_DIR"))?;
    for asset in assets::assets() {
        write(&out.join(asset.path.trim_start_matches('/')), asset.bytes)?;
    }
    for theme in [Theme::Light, Theme::Dark] {
        let dir = out.join(if theme == Theme::Light { "light" } else { "dark" });
        for (name, page) in fixtures::pages(theme) {
            // Opened from a file, an address from the root would lead to the file system.
            let page = page.into_string().replace("=\"/assets/", "=\"../assets/");
            write(&dir.join(format!("{name}.html")), page.as_bytes())?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(path, bytes)
}
