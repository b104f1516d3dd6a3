//! Finds and redacts secrets.
//!
//! `secret_rules` is one table. Each row has a name, the literals that begin or announce such a secret, and
//! how to find its end. One pass searches for all literals; only matches are examined further. There are no
//! regular expressions, because compiling them would slow down every hook process.
//!
//! In a text whose lines are mostly environment variables, every value is redacted.
//!
//! A secret becomes `[redacted:kind]`. Redaction is idempotent. In doubt, a literal value is redacted if its
//! *name* indicates a secret; hashes, ids and ordinary code stay.

mod assignments;
mod command_lines;
mod env_file;
mod secret_names;
mod secret_rules;
mod secret_shapes;
mod secret_values;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::literal_set::{LiteralMatch, LiteralSet};
use secret_rules::{RULES, SecretRule};

pub(crate) use env_file::{names_env_file, redact_env_values};

/// Start of a redaction. It is one of the literals, so that redactions are skipped.
const REDACTION_PREFIX: &str = "[redacted:";

/// Maximum length of a kind's name with its closing bracket.
const MAX_REDACTION_SUFFIX: usize = 40;

/// The byte range of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SecretSpan {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// A matched literal, with the state of the text before it.
struct LiteralHit<'a> {
    text: &'a str,
    /// Where the literal starts.
    start: usize,
    /// Where it ends.
    end: usize,
    /// End of the processed text.
    floor: usize,
    /// The processed text, redacted.
    done: &'a str,
}

impl LiteralHit<'_> {
    /// The byte before the literal, as a second pass would see it.
    fn before(&self) -> u8 {
        match self.start {
            0 => b' ',
            start if start == self.floor => b']',
            start => self.text.as_bytes()[start - 1],
        }
    }

    /// The line up to the literal, as a second pass would see it: two pieces.
    fn line_before(&self) -> [&str; 2] {
        let near = &self.text[self.floor..self.start];
        match near.rfind('\n') {
            Some(at) => ["", &near[at..]],
            None => [self.done.rsplit('\n').next().unwrap_or(self.done), near],
        }
    }
}

/// All literals; a literal's index selects the rule.
struct SecretMatcher {
    literals: LiteralSet,
    owners: Vec<Option<&'static SecretRule>>,
}

impl SecretMatcher {
    /// The rule of a literal; `None` for a redaction.
    fn rule(&self, hit: LiteralMatch) -> Option<&'static SecretRule> {
        self.owners.get(hit.number).copied().flatten()
    }

    /// Replaces a generic kind by a more specific one if the value is a known token.
    fn sharpen(&self, text: &str, cut: SecretSpan) -> SecretSpan {
        let hit = self.literals.find(&text[..cut.end], cut.start).filter(|hit| hit.start == cut.start);
        let better = hit.and_then(|hit| {
            let rule = self.rule(hit)?;
            rule.token_end(text, hit.start, hit.end).filter(|end| *end == cut.end).map(|_| rule.kind)
        });
        SecretSpan { kind: better.unwrap_or(cut.kind), ..cut }
    }
}

static MATCHER: LazyLock<SecretMatcher> = LazyLock::new(|| {
    let mut literals = vec![REDACTION_PREFIX];
    let mut owners = vec![None];
    for rule in RULES {
        for literal in rule.begins {
            literals.push(literal);
            owners.push(Some(rule));
        }
    }
    SecretMatcher { literals: LiteralSet::case_insensitive(literals), owners }
});

/// Replaces every secret in `text` by a marker with its kind. Idempotent.
///
/// A secret may follow its literal at a distance, with another secret in between, so passes are repeated until
/// nothing is found.
pub fn redact(text: &str) -> Cow<'_, str> {
    const MAX_CHECKS_PER_BYTE: usize = 16;
    let mut clean = redact_pass(text);
    for _ in 1..MAX_CHECKS_PER_BYTE {
        let Cow::Owned(once) = &clean else { break };
        match redact_pass(once) {
            Cow::Owned(twice) if twice != *once => clean = Cow::Owned(twice),
            _ => break,
        }
    }
    clean
}

/// One pass: environment files by their lines, then each secret.
fn redact_pass(text: &str) -> Cow<'_, str> {
    match env_file::redact_env_shape(text) {
        Cow::Borrowed(text) => redact_once(text),
        Cow::Owned(clean) => Cow::Owned(redact_once(&clean).into_owned()),
    }
}

/// Redacts each secret that a rule finds.
fn redact_once(text: &str) -> Cow<'_, str> {
    let matcher = &*MATCHER;
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(hit) = matcher.literals.find(text, at) {
        let Some(rule) = matcher.rule(hit) else {
            at = mark_end(text, hit.end);
            continue;
        };
        let place = LiteralHit { text, start: hit.start, end: hit.end, floor: copied, done: &out };
        match rule.find(&place).map(|cut| matcher.sharpen(text, cut)) {
            Some(cut) => {
                out.push_str(&text[copied..cut.start]);
                out.push_str(REDACTION_PREFIX);
                out.push_str(cut.kind);
                out.push(']');
                copied = cut.end;
                at = cut.end;
            }
            // Another rule's literal may begin inside this one.
            None => at = next_char(text, hit.start),
        }
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// End of a redaction that starts before `at`; `at` if there is none.
fn mark_end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let name = rest
        .iter()
        .take(MAX_REDACTION_SUFFIX)
        .take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || **b == b'-')
        .count();
    if name > 0 && rest.get(name) == Some(&b']') { at + name + 1 } else { at }
}

fn next_char(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at + 1)
}
