//! Detects structured text (code, tables, lists, data), which repeats by nature.

/// Tracks lines, code fences and the share of punctuation.
#[derive(Clone, Debug)]
pub(super) struct TextLayout {
    /// First non-blank characters of the line.
    lead: [char; 3],
    led: usize,
    /// Blanks at the start of the line.
    indent: u32,
    fenced: bool,
    listed: bool,
    /// Share of punctuation in the last hundred or so characters, in 65536ths.
    signs: u32,
}

impl Default for TextLayout {
    fn default() -> Self {
        Self { lead: ['\0'; 3], led: 0, indent: 0, fenced: false, listed: false, signs: 0 }
    }
}

impl TextLayout {
    pub(super) fn push(&mut self, c: char) {
        let weight = if is_sign(c) { 65_536 } else { 0 };
        // Moves 1/128 of the way with every character.
        self.signs = self.signs - self.signs / 128 + weight / 128;
        if c == '\n' {
            self.led = 0;
            self.indent = 0;
            self.listed = false;
            return;
        }
        if self.led == 0 && c.is_whitespace() {
            self.indent += if c == '\t' { 4 } else { 1 };
            return;
        }
        if self.led < self.lead.len() {
            self.lead[self.led] = c;
            self.led += 1;
            match (self.led, self.lead) {
                (3, ['`', '`', '`'] | ['~', '~', '~']) => self.fenced = !self.fenced,
                (1, ['|' | '>' | '#' | '+', ..]) => self.listed = true,
                (2, ['-' | '*' | '\u{2022}', ' ', _]) => self.listed = true,
                (2, [digit, '.' | ')', _]) if digit.is_ascii_digit() => self.listed = true,
                (3, [a, b, '.' | ')']) if a.is_ascii_digit() && b.is_ascii_digit() => self.listed = true,
                _ => {}
            }
        }
    }

    pub(super) fn is_structured(&self) -> bool {
        // Prose has less than one punctuation character in eleven.
        self.fenced || self.listed || self.indent >= 4 || self.signs > 65_536 / 11
    }
}

/// Punctuation that structures text.
fn is_sign(c: char) -> bool {
    matches!(
        c,
        '{' | '}'
            | '['
            | ']'
            | '('
            | ')'
            | '<'
            | '>'
            | '='
            | ';'
            | ':'
            | '"'
            | '|'
            | '/'
            | '\\'
            | '_'
            | '$'
            | '%'
            | '&'
            | '*'
            | '+'
            | '#'
            | '@'
            | '^'
            | '`'
            | '~'
    ) || matches!(c, '\u{2500}'..='\u{259f}')
}
