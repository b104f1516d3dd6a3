//! Questions in prose: an agent that ends its turn with "Which of the two?" waits for an answer.

/// Maximum length of the returned question.
const MAX_QUESTION_BYTES: usize = 200;

/// How far from the end a question may be: "Shall I continue? Both options are easy to change later."
const MAX_SENTENCES_AFTER: usize = 1;

/// The question at the end of a message, if it ends with one. Lists of options, code and closing remarks may follow it.
pub fn trailing_question(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut in_code = false;
    let mut last = None;
    let mut after_list = false;
    // The last paragraph that is neither code nor a list of options.
    for line in lines.iter().rev() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code || line.is_empty() || is_option(line) {
            after_list |= is_option(line);
        } else {
            last = Some(*line);
            break;
        }
    }
    let line = last?;
    let sentences = sentences(line);
    let position = sentences.iter().rposition(|sentence| ends_with_question_mark(sentence))?;
    let after = sentences.len() - position - 1;
    // Options follow the sentence that introduces them.
    (after <= if after_list { 0 } else { MAX_SENTENCES_AFTER }).then(|| {
        let question = strip_emphasis(sentences[position]);
        crate::excerpt::floor(question, MAX_QUESTION_BYTES).to_owned()
    })
}

/// `- one`, `* one`, `1. one`, `2) one`, `a) one`: an option of a list. An option may itself end with a question mark.
fn is_option(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_alphanumeric());
    let label = line.len() - rest.len();
    match line.chars().next() {
        Some('-' | '*' | '•' | '|' | '>') => !line.starts_with("**") && !line.ends_with('?'),
        Some(c) if c.is_alphanumeric() => label <= 2 && (rest.starts_with(". ") || rest.starts_with(") ")),
        _ => false,
    }
}

/// The sentences of a line. A mark ends a sentence only before a blank, so that `a?b` and `v1.2` stay whole.
fn sentences(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = line.as_bytes();
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        let closes = matches!(c, '.' | '!' | '?' | '？' | '。');
        if closes
            && (end == bytes.len() || bytes[end..].starts_with(b" ") || matches!(bytes[end], b'*' | b'_' | b'"' | b')'))
        {
            parts.push((start, end));
            start = end;
        }
    }
    if start < line.len() {
        parts.push((start, line.len()));
    }
    let texts = parts.into_iter().map(|(start, end)| line[start..end].trim());
    texts.filter(|text| text.chars().any(char::is_alphanumeric)).collect()
}

fn ends_with_question_mark(sentence: &str) -> bool {
    sentence.trim_end_matches(['*', '_', '"', '\'', ')', '”', '`']).ends_with(['?', '？'])
}

fn strip_emphasis(sentence: &str) -> &str {
    sentence.trim_matches(['*', '_', '#', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_at_the_end_are_found() {
        for (text, question) in [
            ("Which database should I use?", "Which database should I use?"),
            ("I changed the parser.\n\n**Shall I also update the docs?**", "Shall I also update the docs?"),
            (
                "Two customers have no VAT id. Leave the line out, or block the invoice?",
                "Leave the line out, or block the invoice?",
            ),
            ("Which one do you prefer?\n\n1. SQLite\n2. PostgreSQL", "Which one do you prefer?"),
            ("How should I proceed?\n- A: rewrite it\n- B: patch it\n", "How should I proceed?"),
            ("Should I run this?\n```sh\nrm -rf build\n```", "Should I run this?"),
            ("Would you like me to continue? Just let me know.", "Would you like me to continue?"),
            ("続けますか？", "続けますか？"),
        ] {
            assert_eq!(trailing_question(text).as_deref(), Some(question), "{text}");
        }
    }

    #[test]
    fn statements_are_not_questions() {
        for text in [
            "",
            "Done. All tests pass.",
            "Why did it fail? The cache was stale. I cleared it. Everything passes now.",
            "I answered the question \"what is it?\" in the docs and closed the issue. All green.",
            "The URL is https://example.com/a?b=c and it works.",
            "Is it safe?\n\nYes. The lock is held for the whole call.",
            "```sh\necho what?\n```\nThat prints what it should.",
        ] {
            assert_eq!(trailing_question(text), None, "{text}");
        }
    }
}
