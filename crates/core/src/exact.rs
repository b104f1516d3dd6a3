//! Text in full, for a person who decides about exactly this: every character is there, and none can be overlooked or
//! mistaken for another one.
//!
//! [`printable`](crate::printable) removes what a terminal does not show. Here an escape such as `\u{202e}` replaces it,
//! as well as look-alikes, unusual spaces and letters that are written from right to left, which reorder the text around
//! them. A backslash stays as it is: a text that spells an escape out is harmless.

/// Whether a character is shown as it is: it has a glyph of its own that does not look like that of an ASCII character,
/// takes its place from left to right, and has a known width. In doubt it does not count.
pub fn is_distinct(c: char) -> bool {
    match c {
        ' '..='~' => true,
        // Latin letters with a mark; not those that look like one or two others.
        'À'..='ž' => !matches!(c, '×' | '÷' | 'ı' | 'Ĳ' | 'ĳ' | 'ĸ' | 'Ŀ' | 'ŀ' | 'ŉ'),
        // Not the ones that look like `/`, `=`, `|`, `-`, `,` or `L`.
        'ぁ'..='ゖ' | 'ァ'..='ヺ' => !matches!(c, 'ノ' | 'ニ'),
        '\u{4e00}'..='\u{9fff}' => !matches!(c, '一' | '丨' | '丶' | '丿' | '乀' | '乁' | '乙' | '乚' | '亅' | '二'),
        '가'..='힣' => true,
        _ => false,
    }
}

/// The text on one line.
pub fn exact_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut line, c));
    line
}

/// A row of a text that is shown in several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactRow {
    pub text: String,
    /// The row before was full; the text has no line break here. For a shell, a line break ends a command.
    pub continues: bool,
}

/// The text in rows of at most `columns` columns. Only line breaks are not escaped: they start a row that does not
/// continue the one before.
pub fn exact_rows(text: &str, columns: usize) -> Vec<ExactRow> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut row = ExactRow { text: String::new(), continues: false };
        let mut used = 0;
        for c in line.chars() {
            let before = row.text.len();
            push(&mut row.text, c);
            let width = if is_distinct(c) { width(c) } else { row.text.len() - before };
            if used + width > columns && used > 0 {
                let text = row.text.split_off(before);
                rows.push(std::mem::replace(&mut row, ExactRow { text, continues: true }));
                used = 0;
            }
            used += width;
        }
        rows.push(row);
    }
    rows
}

fn push(out: &mut String, c: char) {
    if is_distinct(c) {
        out.push(c);
    } else {
        out.extend(c.escape_default());
    }
}

/// Columns of a character that is shown as it is: those of East Asia take two.
fn width(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::printable::is_unprintable;

    #[test]
    fn what_could_be_overlooked_or_mistaken_is_escaped() {
        for (text, shown) in [
            (
                r#"echo "a\nb" | tr -d '$x'; Größe łódź 日本語 カタカナ 한글"#,
                r#"echo "a\nb" | tr -d '$x'; Größe łódź 日本語 カタカナ 한글"#,
            ),
            ("a\nb\r\tc\x1b[2K\u{7f}", r"a\nb\r\tc\u{1b}[2K\u{7f}"),
            ("rm \u{202e}fr-\u{2066}", r"rm \u{202e}fr-\u{2066}"),
            ("a\u{200b}b\u{ad}c\u{feff}d\u{fe0f}", r"a\u{200b}b\u{ad}c\u{feff}d\u{fe0f}"),
            ("tag\u{e0041}, blank\u{2800}\u{3164}\u{a0}\u{2003}", r"tag\u{e0041}, blank\u{2800}\u{3164}\u{a0}\u{2003}"),
            ("раypal gіt ο", r"\u{440}\u{430}ypal g\u{456}t \u{3bf}"),
            ("ls；rm；", r"ls\u{ff1b}rm\u{ff1b}"),
            ("a\u{37e}b \u{2044}etc\u{2215}x \u{2013}f \u{2019}", r"a\u{37e}b \u{2044}etc\u{2215}x \u{2013}f \u{2019}"),
            ("e\u{301} שלום 一 丨 ノ ı", r"e\u{301} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{4e00} \u{4e28} \u{30ce} \u{131}"),
        ] {
            assert_eq!(exact_line(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_full_row_differs_from_a_line_break() {
        let rows = |text: &str, columns| -> Vec<_> {
            exact_rows(text, columns).into_iter().map(|row| (row.continues, row.text)).collect()
        };
        let row = |continues, text: &str| (continues, text.to_owned());
        assert_eq!(rows("echo rm -rf", 5), [row(false, "echo "), row(true, "rm -r"), row(true, "f")]);
        assert_eq!(rows("echo \nrm\n", 5), [row(false, "echo "), row(false, "rm"), row(false, "")]);
        assert_eq!(rows("日本", 3), [row(false, "日"), row(true, "本")]);
        assert_eq!(rows("", 5), [row(false, "")]);
    }

    proptest! {
        #[test]
        fn no_character_is_lost(text in proptest::collection::vec(any::<char>(), 0..64), columns in 1usize..20) {
            let text: String = text.into_iter().collect();
            let line = exact_line(&text);
            prop_assert!(line.chars().all(is_distinct) && !line.chars().any(is_unprintable));
            let expected: String =
                text.chars().map(|c| if is_distinct(c) { c.to_string() } else { c.escape_default().to_string() }).collect();
            prop_assert_eq!(line, expected);
            let rows = exact_rows(&text, columns);
            let joined = rows.iter().enumerate().map(|(at, row)| match at {
                0 => row.text.clone(),
                _ if row.continues => row.text.clone(),
                _ => format!(r"\n{}", row.text),
            });
            prop_assert_eq!(joined.collect::<String>(), exact_line(&text));
        }
    }
}
