//! What a project file may set. It comes with a repository that may be hostile, so without trust it may only make
//! detection *tighter*, and some keys it may never set.

use toml::{Table, Value};

use crate::diagnostic::Diagnostic;
use crate::key::ConfigKey;
use crate::layer::{Layer, leaves, overlay};
use crate::source_position::{self, PathStep};
use crate::trust::TrustState;
use crate::validate::parse_config;

/// The direction in which a value makes Belay intervene sooner or more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TighterDirection {
    /// A lower number. Where 0 means never, 0 is the highest.
    Lower,
    /// A higher number.
    Higher,
    /// `true`.
    True,
    /// `false`.
    False,
    /// No direction is safe; requires trust.
    Neither,
}

/// What a project file may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectPermission {
    /// Set it to a value at least as tight; looser values require trust.
    Tighten(TighterDirection),
    /// Never, trusted or not.
    Never,
}

/// The first matching row applies; `*` matches one part of a key. Other keys of `detect` require trust; keys outside
/// `detect` cannot be set.
const PROJECT_PERMISSIONS: &[(&str, TighterDirection)] = &[
    ("detect.dry_run", TighterDirection::False),
    ("detect.max_nudges", TighterDirection::Lower),
    ("detect.ladder.*", TighterDirection::Lower),
    ("detect.budget.session_tokens", TighterDirection::Lower),
    ("detect.budget.session_usd", TighterDirection::Lower),
    ("detect.budget.day_tokens", TighterDirection::Lower),
    ("detect.budget.day_usd", TighterDirection::Lower),
    ("detect.budget.account_day_tokens", TighterDirection::Lower),
    ("detect.budget.account_day_usd", TighterDirection::Lower),
    ("detect.budget.tokens_per_minute", TighterDirection::Lower),
    ("detect.budget.usd_per_minute", TighterDirection::Lower),
    ("detect.patterns.*.enabled", TighterDirection::True),
    ("detect.patterns.*.notice_at", TighterDirection::Lower),
    ("detect.patterns.*.nudge_at", TighterDirection::Lower),
    ("detect.patterns.*.nudge_weak_at", TighterDirection::Lower),
    ("detect.patterns.*.nudge_faint_at", TighterDirection::Lower),
    ("detect.patterns.*.pause_at", TighterDirection::Lower),
    ("detect.patterns.*.calls", TighterDirection::Lower),
    ("detect.patterns.*.tokens", TighterDirection::Lower),
    ("detect.patterns.*.usd", TighterDirection::Lower),
    ("detect.patterns.*.minutes", TighterDirection::Lower),
    // The two patterns that need a window without changes: a longer one makes them rarer.
    ("detect.patterns.revisiting.window", TighterDirection::Neither),
    ("detect.patterns.read_only_revisiting.window", TighterDirection::Neither),
    ("detect.patterns.*.window", TighterDirection::Higher),
    ("detect.patterns.*.similarity", TighterDirection::Lower),
];

pub fn permission(key: &ConfigKey) -> ProjectPermission {
    if key.parts().first().map(String::as_str) != Some("detect") {
        return ProjectPermission::Never;
    }
    let row = PROJECT_PERMISSIONS.iter().find(|(pattern, _)| matches(pattern, key));
    ProjectPermission::Tighten(row.map_or(TighterDirection::Neither, |(_, tighter)| *tighter))
}

fn matches(pattern: &str, key: &ConfigKey) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    pattern.len() == key.parts().len()
        && pattern.iter().zip(key.parts()).all(|(pattern, part)| *pattern == "*" || pattern == part)
}

impl TighterDirection {
    /// A sentence for `belay config explain`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Lower => "A project file may lower it; to raise it there, trust the project.",
            Self::Higher => "A project file may raise it; to lower it there, trust the project.",
            Self::True => "A project file may turn it on; to turn it off there, trust the project.",
            Self::False => "A project file may turn it off; to turn it on there, trust the project.",
            Self::Neither => "A project file may set it once you trust the project.",
        }
    }
}

/// Returns the values that the project file may set on top of `below`, and a diagnostic for each ignored one.
pub(crate) fn apply_project_limits(layer: &Layer, below: &Table, trust: TrustState) -> (Table, Vec<Diagnostic>) {
    let mut notes = Vec::new();
    let mut candidates = Vec::new();
    // An empty section sets nothing.
    for (key, value) in leaves(&layer.table).into_iter().filter(|(_, value)| !value.is_table()) {
        match permission(&key) {
            ProjectPermission::Never => notes.push(ignored(
                layer,
                key,
                "a project file cannot set it",
                "set it in your own configuration with `belay config set`",
            )),
            ProjectPermission::Tighten(direction) => candidates.push((key, value, direction)),
        }
    }
    let (permitted, refused) = if trust == TrustState::Trusted {
        (table_of(&candidates), Vec::new())
    } else {
        select_tightening(below, candidates)
    };
    let (why, hint) = match trust {
        TrustState::Changed => (
            "it loosens detection, and the file has changed since you trusted it",
            "read the file again, then run `belay trust` in its directory",
        ),
        TrustState::Trusted | TrustState::Unknown => (
            "it loosens detection, and the file is not trusted",
            "read the file, then run `belay trust` in its directory",
        ),
    };
    notes.extend(refused.into_iter().map(|(key, ..)| ignored(layer, key, why, hint)));
    notes.sort_by_key(|note| note.key.clone());
    (permitted, notes)
}

fn ignored(layer: &Layer, key: ConfigKey, why: &str, hint: &str) -> Diagnostic {
    let path: Vec<PathStep> = key.parts().iter().cloned().map(PathStep::Name).collect();
    Diagnostic {
        source: layer.source.clone(),
        position: layer.text.as_deref().and_then(|text| source_position::position(text, &path)),
        what: format!("`{key}` is ignored: {why}"),
        key: Some(key),
        hint: Some(hint.to_owned()),
    }
}

type Candidate<'v> = (ConfigKey, &'v Value, TighterDirection);

fn table_of(candidates: &[Candidate<'_>]) -> Table {
    let mut table = Table::new();
    for (key, value, _) in candidates {
        key.set(&mut table, (*value).clone());
    }
    table
}

/// Splits the candidates into a table that makes the rules no looser, and the rest. The resulting rules are compared,
/// not single values: what a value does depends on the others, such as the ladder that a pattern inherits from.
fn select_tightening<'v>(below: &Table, candidates: Vec<Candidate<'v>>) -> (Table, Vec<Candidate<'v>>) {
    let Some(current) = parse_config(below) else { return (Table::new(), candidates) };
    let is_tight = |table: &Table| {
        let mut merged = below.clone();
        overlay(&mut merged, table);
        parse_config(&merged).is_some_and(|config| config.detect.is_at_least_as_tight_as(&current.detect))
    };
    let (mut pending, mut refused): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|(key, value, direction)| *direction != TighterDirection::Neither || key.get(below) == Some(*value));
    // Most files only tighten: one comparison is enough.
    let all = table_of(&pending);
    if is_tight(&all) {
        return (all, refused);
    }
    // One value may be tight only together with another, so a refused value is tried again after each accepted one.
    let mut permitted = Table::new();
    loop {
        let before = pending.len();
        pending.retain(|(key, value, _)| {
            let mut extended = permitted.clone();
            key.set(&mut extended, (*value).clone());
            let accepted = is_tight(&extended);
            if accepted {
                permitted = extended;
            }
            !accepted
        });
        if pending.len() == before || pending.is_empty() {
            break;
        }
    }
    refused.append(&mut pending);
    (permitted, refused)
}
