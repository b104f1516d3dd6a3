//! Launches Claude Code: command-line settings override all files, so they contain hooks and base URL, and Belay
//! chooses the session id.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use belay_core::SessionKey;
use serde_json::{Value, json};

use super::ID;
use super::first_dialog::first_dialog;
use super::hook::EVENTS;
use crate::launch::{LaunchCommand, LaunchContext, Launcher, add_hooks, claude_hooks, read_json};

/// Builds the launch command.
#[derive(Debug)]
pub(crate) struct ClaudeCodeLauncher;

const BASE_URL_VAR: &str = "ANTHROPIC_BASE_URL";
const SETTINGS_FLAG: &str = "--settings";
/// Settings managed by an organisation, which override all others.
const MANAGED_SETTINGS_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode/managed-settings.json"
} else {
    "/etc/claude-code/managed-settings.json"
};

impl Launcher for ClaudeCodeLauncher {
    fn build_launch(&self, context: &LaunchContext<'_>) -> LaunchCommand {
        let mut launch = LaunchCommand::default();
        let resume = ["--resume", "-r", "--continue", "-c", "--from-pr", "--fork-session"];
        let session = context.session_flag(&mut launch, &["--session-id", "--resume", "-r"], &resume, context.run);
        launch.session = session.map(|id| SessionKey::new(ID, id));
        let mut args = context.args.to_vec();
        let mut settings = typed_settings(context, &mut args);
        let layers = layers(context, &settings);
        let elsewhere = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
        let variable = |name: &str| variable(context, &layers, name);
        let managed = read_json(Path::new(MANAGED_SETTINGS_FILE)).unwrap_or_default();
        let instead = if let Some(name) = elsewhere.iter().find(|name| variable(name).is_some()) {
            Some(format!("{name} is set"))
        } else if managed.pointer(&format!("/env/{BASE_URL_VAR}")).is_some() {
            Some(format!("{MANAGED_SETTINGS_FILE} sets {BASE_URL_VAR}"))
        } else {
            // The agent asks whether the project is trusted; before that, no key may be sent to a host it names.
            let projects =
                |(_, file): (String, Option<&Path>)| file.map(|file| format!("{} sets {BASE_URL_VAR}", file.display()));
            variable(BASE_URL_VAR).and_then(projects)
        };
        if let Some(why) = instead {
            launch.note_bypass(why);
        } else if let Some(base) = context.proxy_url("anthropic") {
            if let Some(own) = variable(BASE_URL_VAR).and_then(|(own, _)| context.resolve_nested(own)) {
                launch.add_upstream("anthropic", &own);
            }
            // A settings file may set the variable as well; command-line settings override it.
            settings["env"][BASE_URL_VAR] = base.clone().into();
            launch.set_env(BASE_URL_VAR, base);
        }
        if let Some(command) = context.hook_command(ID) {
            add_hooks(
                &mut settings,
                &claude_hooks(EVENTS.iter().map(|event| (event.name, event.timeout.as_secs())), &command),
            );
        }
        if settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            launch.arg("--settings");
            launch.arg(settings.to_string());
        }
        launch.args.extend(args);
        launch.dialog = first_dialog(context);
        launch
    }
}

/// Removes the user's `--settings` from the arguments and returns the last, the only one that Claude Code reads.
fn typed_settings(context: &LaunchContext<'_>, args: &mut Vec<OsString>) -> Value {
    let mut typed: Vec<(Range<usize>, String)> = Vec::new();
    for (at, arg) in args.iter().enumerate().take_while(|(_, arg)| *arg != "--") {
        let value = |at: usize| args.get(at).and_then(|arg| arg.to_str()).map(str::to_owned);
        let in_one = || Some((at..at + 1, arg.to_str()?.strip_prefix(SETTINGS_FLAG)?.strip_prefix('=')?.to_owned()));
        typed.extend(if arg == SETTINGS_FLAG { value(at + 1).map(|value| (at..at + 2, value)) } else { in_one() });
    }
    let found = typed.last().and_then(|(_, last)| match last.trim_start().starts_with('{') {
        true => serde_json::from_str(last).ok(),
        false => read_json(&context.dir.join(last)),
    });
    // Claude Code itself reports settings that cannot be read.
    let Some(found) = found.filter(Value::is_object) else { return json!({}) };
    for (place, _) in typed.into_iter().rev() {
        drop(args.drain(place));
    }
    found
}

/// Settings, and the file that contains them if it belongs to a project.
type SettingsLayer = (Value, Option<PathBuf>);

/// The settings that Claude Code reads, in order of precedence.
fn layers(context: &LaunchContext<'_>, typed: &Value) -> Vec<SettingsLayer> {
    let home: PathBuf =
        context.env_var("CLAUDE_CONFIG_DIR").map_or_else(|| context.user.home.join(".claude"), Into::into);
    let here = context.dir.join(".claude");
    let files = [
        ("local", context.project().join(".claude/settings.local.json")),
        ("local", here.join("settings.local.json")),
        ("project", here.join("settings.json")),
        ("user", home.join("settings.json")),
    ];
    let wanted = context.flag_value("--setting-sources");
    let is_read = |source: &str| wanted.is_none_or(|wanted| wanted.split(',').any(|one| one.trim() == source));
    let read = files.into_iter().filter(|(source, _)| is_read(source)).filter_map(|(source, file)| {
        let settings = read_json(&file)?;
        Some((settings, (source != "user" && !file.starts_with(&home)).then_some(file)))
    });
    std::iter::once((typed.clone(), None)).chain(read).collect()
}

/// A variable as Claude Code sees it (settings override the environment), and the project's file that sets it.
fn variable<'l>(
    context: &LaunchContext<'_>,
    layers: &'l [SettingsLayer],
    name: &str,
) -> Option<(String, Option<&'l Path>)> {
    let set = layers.iter().find_map(|(layer, file)| Some((layer.get("env")?.get(name)?.as_str()?, file.as_deref())));
    match set {
        Some((set, file)) => (!set.is_empty()).then(|| (set.to_owned(), file)),
        None => context.env_var(name).map(|set| (set, None)),
    }
}
