//! What a project's file may set. It comes with a repository that may be hostile, so by itself it
//! may only make detection *tighter*; the rest needs the user's trust, or is never its business.

use toml::{Table, Value};

use crate::diagnostic::Diagnostic;
use crate::key::ConfigKey;
use crate::layer::{Layer, leaves};
use crate::source_position::{self, PathStep};
use crate::trust::TrustState;

/// Which way a value is tighter: it steps in sooner, or more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TighterDirection {
    /// A lower number.
    Lower,
    /// A lower number, where 0 means never.
    Sooner,
    /// A higher number.
    Higher,
    /// `true`.
    True,
    /// `false`.
    False,
    /// Neither way is safe: only with trust.
    Neither,
}

/// What a project's file may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectPermission {
    /// Set it to something at least as tight; looser values need trust.
    Tighten(TighterDirection),
    /// Never, trusted or not.
    Never,
}

/// The first row that matches decides; `*` stands for one part of a key. What no row names outside
/// detection is never a project's business, and inside detection needs trust.
const PROJECT_PERMISSIONS: &[(&str, TighterDirection)] = &[
    ("detect.dry_run", TighterDirection::False),
    ("detect.max_nudges", TighterDirection::Lower),
    ("detect.ladder.*", TighterDirection::Sooner),
    ("detect.budget.*", TighterDirection::Sooner),
    ("detect.patterns.*.enabled", TighterDirection::True),
    ("detect.patterns.*.notice_at", TighterDirection::Sooner),
    ("detect.patterns.*.nudge_at", TighterDirection::Sooner),
    ("detect.patterns.*.nudge_weak_at", TighterDirection::Sooner),
    ("detect.patterns.*.nudge_faint_at", TighterDirection::Sooner),
    ("detect.patterns.*.pause_at", TighterDirection::Sooner),
    ("detect.patterns.*.calls", TighterDirection::Sooner),
    ("detect.patterns.*.tokens", TighterDirection::Sooner),
    ("detect.patterns.*.usd", TighterDirection::Sooner),
    ("detect.patterns.*.minutes", TighterDirection::Sooner),
    ("detect.patterns.*.window", TighterDirection::Higher),
    ("detect.patterns.*.similarity", TighterDirection::Lower),
];

/// Where a value comes from that is not given: a pattern stands on the common ladder.
fn inherited(key: &ConfigKey) -> Option<ConfigKey> {
    match key.parts() {
        [detect, patterns, _, name] if patterns == "patterns" => {
            Some([detect.as_str(), "ladder", name].into_iter().collect())
        }
        _ => None,
    }
}

/// What a project's file may do with this key.
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
    /// Whether `new` is at least as tight as `old`.
    fn allows(self, old: Option<&Value>, new: &Value) -> bool {
        let Some(old) = old else { return false };
        match self {
            Self::Sooner => {
                let when = |value| number(value).map(|at| if at == 0.0 { f64::INFINITY } else { at });
                when(new).zip(when(old)).is_some_and(|(new, old)| new <= old)
            }
            Self::Lower => number(new).zip(number(old)).is_some_and(|(new, old)| new <= old),
            Self::Higher => number(new).zip(number(old)).is_some_and(|(new, old)| new >= old),
            Self::True => new == &Value::Boolean(true) || new == old,
            Self::False => new == &Value::Boolean(false) || new == old,
            Self::Neither => new == old,
        }
    }

    /// For `belay config explain`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Lower | Self::Sooner => "A project file may lower it; to raise it there, trust the project.",
            Self::Higher => "A project file may raise it; to lower it there, trust the project.",
            Self::True => "A project file may turn it on; to turn it off there, trust the project.",
            Self::False => "A project file may turn it off; to turn it on there, trust the project.",
            Self::Neither => "A project file may set it once you trust the project.",
        }
    }
}

/// A number, also one written with a unit.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::String(text) => match text.parse::<crate::units::DurationSetting>() {
            Ok(span) => Some(span.get().map_or(f64::INFINITY, |span| span.as_secs_f64())),
            Err(_) => text.parse::<crate::units::ByteSize>().ok()?.get().map(|bytes| bytes as f64),
        },
        _ => None,
    }
}

fn in_force<'t>(key: &ConfigKey, below: &'t Table) -> Option<&'t Value> {
    key.get(below).or_else(|| inherited(key)?.get(below))
}

/// Keeps what the project's file may set over `below`, and says what was left out and why.
pub(crate) fn apply_project_limits(layer: &Layer, below: &Table, standing: TrustState) -> (Table, Vec<Diagnostic>) {
    let mut kept = Table::new();
    let mut notes = Vec::new();
    for (key, value) in leaves(&layer.table) {
        let (why, hint) = match permission(&key) {
            ProjectPermission::Never => {
                ("a project file cannot set it", "set it in your own configuration with `belay config set`")
            }
            ProjectPermission::Tighten(tighter)
                if standing == TrustState::Trusted || tighter.allows(in_force(&key, below), value) =>
            {
                key.set(&mut kept, value.clone());
                continue;
            }
            ProjectPermission::Tighten(_) if standing == TrustState::Changed => (
                "it would loosen detection, and the file has changed since you trusted it",
                "read the file again, then run `belay trust` in its folder to accept it",
            ),
            ProjectPermission::Tighten(_) => (
                "it would loosen detection, and you have not trusted this file",
                "read the file, then run `belay trust` in its folder to accept it",
            ),
        };
        let path: Vec<PathStep> = key.parts().iter().cloned().map(PathStep::Name).collect();
        notes.push(Diagnostic {
            source: layer.source.clone(),
            position: layer.text.as_deref().and_then(|text| source_position::position(text, &path)),
            what: format!("`{key}` is ignored: {why}"),
            key: Some(key),
            hint: Some(hint.to_owned()),
        });
    }
    (kept, notes)
}
