//! Text from outside: agents, models, files and people.

use belay_core::exact::is_distinct;
use belay_core::printable::{is_unprintable, single_line};
use maud::{Markup, Render, html};

use crate::words;

/// Characters of a name or title.
const NAME_CHARS: usize = 160;

/// Characters of a sentence or of one line of output.
const SENTENCE_CHARS: usize = 600;

/// One line of text, cleaned and limited. Renders escaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    text: &'a str,
    limit: usize,
    /// Spaces at its beginning mean something.
    indented: bool,
}

/// A name: a title, a branch, a model.
pub(crate) fn name(text: &str) -> Line<'_> {
    Line { text, limit: NAME_CHARS, indented: false }
}

/// A sentence, or one line of a command.
pub(crate) fn sentence(text: &str) -> Line<'_> {
    Line { text, limit: SENTENCE_CHARS, indented: false }
}

/// One line of output, with its indentation.
pub(crate) fn output(text: &str) -> Line<'_> {
    Line { text, limit: SENTENCE_CHARS, indented: true }
}

impl Line<'_> {
    pub(crate) fn to_text(self) -> String {
        let clean = single_line(self.text);
        let clean = if self.indented { clean.trim_end() } else { clean.trim() };
        match clean.char_indices().nth(self.limit) {
            Some((end, _)) => format!("{}…", clean[..end].trim_end()),
            None => clean.to_owned(),
        }
    }
}

impl Render for Line<'_> {
    fn render_to(&self, buffer: &mut String) {
        self.to_text().render_to(buffer);
    }
}

/// A sentence of Belay's own. What it puts between backticks is code.
pub(crate) fn prose(text: &str) -> Markup {
    let text = sentence(text).to_text();
    let parts: Vec<&str> = text.split('`').collect();
    // Without its partner, a backtick is a character like any other.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! {
        @for (at, part) in parts.iter().enumerate() {
            @if !at.is_multiple_of(2) { code { (words::action(part)) } } @else { (part) }
        }
    }
}

/// A text in full, for a person who decides about it. Characters that would not be visible are spelled out.
pub(crate) fn exact(text: &str) -> Markup {
    spell_out(text, |c| is_unprintable(c) && !matches!(c, '\n' | '\t'))
}

/// A command or input that an agent will run if the person allows it. Look-alikes are spelled out, too, and line breaks
/// are marked: a long line continues in the next row as well.
pub(crate) fn command(text: &str) -> Markup {
    html! {
        @for (at, line) in text.split('\n').enumerate() {
            @if at > 0 { mark { "↵" } "\n" }
            (spelled_out(line))
        }
    }
}

/// The same on one line: a tool, a directory.
pub(crate) fn spelled_out(text: &str) -> Markup {
    spell_out(text, |c| !is_distinct(c))
}

fn spell_out(text: &str, hidden: impl Fn(char) -> bool) -> Markup {
    html! {
        @for part in text.split_inclusive(&hidden) {
            @match part.chars().next_back().filter(|c| hidden(*c)) {
                Some(c) => { (&part[..part.len() - c.len_utf8()]) mark { (c.escape_default().to_string()) } }
                None => { (part) }
            }
        }
    }
}

/// A word for the command line: quoted if the shell would interpret it.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = single_line(word);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_controls_and_are_limited() {
        assert_eq!(name("a\x1b[31m\u{202e}b\nc ").render().into_string(), "a [31mb c");
        assert_eq!(output("\t  a\r\n").to_text(), "   a");
        assert_eq!(name("<b>&").render().into_string(), "&lt;b&gt;&amp;");
        assert_eq!(name(&"x".repeat(500)).to_text().chars().count(), NAME_CHARS + 1);
    }

    #[test]
    fn code_in_a_sentence_is_marked() {
        assert_eq!(
            prose("Same call: `npm <test>`, `Edit a.ts --- old +++ new`.").into_string(),
            "Same call: <code>npm &lt;test&gt;</code>, <code>Edit a.ts</code>."
        );
        assert_eq!(prose("a ` b").into_string(), "a ` b");
    }

    #[test]
    fn an_exact_text_shows_what_is_hidden() {
        assert_eq!(
            exact("rm \u{202e}<a>\n\x1b[2J").into_string(),
            "rm <mark>\\u{202e}</mark>&lt;a&gt;\n<mark>\\u{1b}</mark>[2J"
        );
    }

    #[test]
    fn a_command_also_shows_look_alikes_and_line_breaks() {
        assert_eq!(
            command("ls \u{37e}\t<b>\nrm\u{a0}x").into_string(),
            r"ls <mark>\u{37e}</mark><mark>\t</mark>&lt;b&gt;<mark>↵</mark>NLrm<mark>\u{a0}</mark>x"
                .replace("NL", "\n")
        );
        assert_eq!(spelled_out("/w\nx").into_string(), r"/w<mark>\n</mark>x");
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(
            ["claude:0190", "a b", "it's", "$HOME", ""].map(shell_word),
            ["claude:0190", "'a b'", r"'it'\''s'", "'$HOME'", "''"]
        );
    }
}
