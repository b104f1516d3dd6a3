//! What a secret looks like, and cutting it out.
//!
//! `secret_rules` is one table: each row has a name, the literals a secret of that kind begins with or is
//! announced by, and how far it reaches. One pass looks for all literals; only where one stands does
//! anyone look closer. There are no regular expressions: nothing has to be compiled when a hook starts
//! a process.
//!
//! A secret becomes `[redacted:kind]`. What is left says what was there, and a second pass changes
//! nothing. In doubt we cut when a *name* says that its value is secret and the value is a literal;
//! hashes, ids and ordinary code stay.

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

/// How a cut is marked. It is one of the literals, so that marks are never looked into.
const REDACTION_PREFIX: &str = "[redacted:";

/// Longest name of a kind, with its closing bracket.
const MAX_REDACTION_SUFFIX: usize = 40;

/// A secret found: these bytes are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SecretSpan {
    start: usize,
    end: usize,
    kind: &'static str,
}

/// Where a literal stands, and what has become of the text before it.
struct LiteralHit<'a> {
    text: &'a str,
    /// Where the literal starts.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Up to here the text has been dealt with.
    floor: usize,
    /// The text before the floor, secrets cut.
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

/// All literals; a literal's number tells the rule.
struct SecretMatcher {
    literals: LiteralSet,
    owners: Vec<Option<&'static SecretRule>>,
}

impl SecretMatcher {
    /// The rule a literal belongs to; none for a mark.
    fn rule(&self, hit: LiteralMatch) -> Option<&'static SecretRule> {
        self.owners.get(hit.number).copied().flatten()
    }

    /// The value of some setting may be a token of a kind we know better.
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

/// Replaces every secret in `text` by a mark that says what kind it was. Idempotent.
///
/// A cut can stand well behind the literal that gave it away, and another secret in between. So a
/// text that had a secret is looked at again until nothing more is found.
pub fn redact(text: &str) -> Cow<'_, str> {
    const MAX_CHECKS_PER_BYTE: usize = 16;
    let mut clean = look(text);
    for _ in 1..MAX_CHECKS_PER_BYTE {
        let Cow::Owned(once) = &clean else { break };
        match look(once) {
            Cow::Owned(twice) if twice != *once => clean = Cow::Owned(twice),
            _ => break,
        }
    }
    clean
}

/// One look from beginning to end.
fn look(text: &str) -> Cow<'_, str> {
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

/// Where a mark that begins before `at` ends; `at` when it is none.
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
