//! Variables that an agent reads from a `.env` file, as Gemini CLI and Qwen Code do.
//!
//! The environment takes precedence over such a file. If the file names a model API, setting the variable would override
//! it and send its key to another host, so the file is read first.

use std::path::{Path, PathBuf};

use super::{LaunchCommand, LaunchContext};

/// The only `.env` file that the agent reads.
struct EnvFile {
    path: PathBuf,
    /// Whether it is the user's own. A project's file may not be trusted by the agent.
    belongs_to_user: bool,
}

impl LaunchCommand {
    /// Sets a variable to the proxy's URL of an upstream. The user's own value, from the environment or a file, becomes
    /// the upstream. `dir` is the agent's own, such as `.gemini`.
    pub(crate) fn set_base_url_or_env_file(
        &mut self,
        context: &LaunchContext<'_>,
        dir: &str,
        (variable, upstream, below): (&str, &str, &str),
    ) {
        let Some(base) = context.proxy_url(upstream) else { return };
        let file = EnvFile::find(context, dir).filter(|_| context.env_var(variable).is_none());
        let named = file.and_then(|file| Some((value(&file.path, variable)?, file)));
        let Some((url, file)) = named else { return self.set_base_url(context, variable, upstream, below) };
        if file.belongs_to_user {
            self.add_upstream(upstream, &url);
            return self.set_env(variable, base);
        }
        self.note_bypass(format!("{} sets {variable}", file.path.display()));
    }
}

impl EnvFile {
    /// The first existing file, from the project upwards.
    fn find(context: &LaunchContext<'_>, dir: &str) -> Option<Self> {
        let home = context.user.home.as_path();
        let dirs = context.dir.ancestors().chain([home]);
        let files = dirs.flat_map(|above| [above.join(dir).join(".env"), above.join(".env")].map(|path| (above, path)));
        let found = files.into_iter().find(|(_, path)| path.exists());
        found.map(|(place, path)| Self { path, belongs_to_user: place == home })
    }
}

/// A larger file is not read.
const MAX_DOTENV_BYTES: u64 = 256 * 1024;

/// The value of a variable in a file.
fn value(file: &Path, variable: &str) -> Option<String> {
    let text = belay_fs::read_regular_text(file, belay_fs::Links::Refuse, MAX_DOTENV_BYTES).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.trim().trim_start_matches("export ").split_once('='));
    let (_, value) = pairs.rfind(|(name, _)| name.trim() == variable)?;
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.split_once(*quote));
    let bare = || value.split(" #").next().unwrap_or_default().trim();
    let value = quoted.map_or_else(bare, |(value, _)| value);
    (!value.is_empty()).then(|| value.to_owned())
}
