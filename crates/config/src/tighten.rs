//! What a project's file may set. It comes with a repository that may be hostile, so by itself it
//! may only make detection *tighter*; the rest needs the user's trust, or is never its business.

use toml::{Table, Value};

use crate::key::Key;
use crate::layer::{Layer, leaves};
use crate::locate::{self, Step};
use crate::problem::Problem;
use crate::trust::Standing;

/// Which way a value is tighter: it steps in sooner, or more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tighter {
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
pub enum Permission {
    /// Set it to something at least as tight; looser values need trust.
    Tighten(Tighter),
    /// Never, trusted or not.
    Never,
}

/// The first row that matches decides; `*` stands for one part of a key. What no row names outside
/// detection is never a project's business, and inside detection needs trust.
const RULES: &[(&str, Tighter)] = &[
    ("detect.dry_run", Tighter::False),
    ("detect.max_nudges", Tighter::Lower),
    ("detect.ladder.*", Tighter::Sooner),
    ("detect.budget.*", Tighter::Sooner),
    ("detect.patterns.*.enabled", Tighter::True),
    ("detect.patterns.*.notice_at", Tighter::Sooner),
    ("detect.patterns.*.nudge_at", Tighter::Sooner),
    ("detect.patterns.*.nudge_weak_at", Tighter::Sooner),
    ("detect.patterns.*.nudge_faint_at", Tighter::Sooner),
    ("detect.patterns.*.pause_at", Tighter::Sooner),
    ("detect.patterns.*.calls", Tighter::Sooner),
    ("detect.patterns.*.tokens", Tighter::Sooner),
    ("detect.patterns.*.usd", Tighter::Sooner),
    ("detect.patterns.*.minutes", Tighter::Sooner),
    ("detect.patterns.*.window", Tighter::Higher),
    ("detect.patterns.*.similarity", Tighter::Lower),
];

/// Where a value comes from that is not given: a pattern stands on the common ladder.
fn inherited(key: &Key) -> Option<Key> {
    match key.parts() {
        [detect, patterns, _, name] if patterns == "patterns" => {
            Some([detect.as_str(), "ladder", name].into_iter().collect())
        }
        _ => None,
    }
}

/// What a project's file may do with this key.
pub fn permission(key: &Key) -> Permission {
    if key.parts().first().map(String::as_str) != Some("detect") {
        return Permission::Never;
    }
    let row = RULES.iter().find(|(pattern, _)| matches(pattern, key));
    Permission::Tighten(row.map_or(Tighter::Neither, |(_, tighter)| *tighter))
}

fn matches(pattern: &str, key: &Key) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    pattern.len() == key.parts().len()
        && pattern.iter().zip(key.parts()).all(|(pattern, part)| *pattern == "*" || pattern == part)
}

impl Tighter {
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
    pub fn sentence(self) -> &'static str {
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
        Value::String(text) => match text.parse::<crate::units::Span>() {
            Ok(span) => Some(span.get().map_or(f64::INFINITY, |span| span.as_secs_f64())),
            Err(_) => text.parse::<crate::units::ByteSize>().ok()?.get().map(|bytes| bytes as f64),
        },
        _ => None,
    }
}

fn in_force<'t>(key: &Key, below: &'t Table) -> Option<&'t Value> {
    key.look_up(below).or_else(|| inherited(key)?.look_up(below))
}

/// Keeps what the project's file may set over `below`, and says what was left out and why.
pub(crate) fn clip(layer: &Layer, below: &Table, standing: Standing) -> (Table, Vec<Problem>) {
    let mut kept = Table::new();
    let mut notes = Vec::new();
    for (key, value) in leaves(&layer.table) {
        let (why, hint) = match permission(&key) {
            Permission::Never => {
                ("a project file cannot set it", "set it in your own configuration with `belay config set`")
            }
            Permission::Tighten(tighter)
                if standing == Standing::Trusted || tighter.allows(in_force(&key, below), value) =>
            {
                key.put(&mut kept, value.clone());
                continue;
            }
            Permission::Tighten(_) if standing == Standing::Changed => (
                "it would loosen detection, and the file has changed since you trusted it",
                "read the file again, then run `belay trust` in its folder to accept it",
            ),
            Permission::Tighten(_) => (
                "it would loosen detection, and you have not trusted this file",
                "read the file, then run `belay trust` in its folder to accept it",
            ),
        };
        let path: Vec<Step> = key.parts().iter().cloned().map(Step::Name).collect();
        notes.push(Problem {
            source: layer.source.clone(),
            position: layer.text.as_deref().and_then(|text| locate::position(text, &path)),
            what: format!("`{key}` is ignored: {why}"),
            key: Some(key),
            hint: Some(hint.to_owned()),
        });
    }
    (kept, notes)
}
