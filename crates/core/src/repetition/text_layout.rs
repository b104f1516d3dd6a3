//! Whether the text at hand is structured: code, a table, a list, data. Such text repeats by nature.

/// Follows lines and fences, and how much of the text is signs.
#[derive(Clone, Debug)]
pub(super) struct TextLayout {
    /// First characters of the line, blanks aside.
    lead: [char; 3],
    led: usize,
    /// Blanks at the start of the line.
    indent: u32,
    fenced: bool,
    listed: bool,
    /// Share of signs among the last hundred-odd characters, in 65536ths.
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
        // One sign in eleven is more than prose has.
        self.fenced || self.listed || self.indent >= 4 || self.signs > 65_536 / 11
    }
}

/// Signs that structure rather than speak.
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
