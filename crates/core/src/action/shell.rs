//! A small lenient shell parser: enough to see which programs run, with which arguments and redirections. It
//! never fails; unknown syntax becomes a word.

/// One program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// The operator before it.
    pub op: ShellOperator,
    /// Arguments with quotes resolved.
    pub words: Vec<String>,
    /// Files it reads from or writes to.
    pub redirects: Vec<Redirect>,
    /// Bodies of here-documents and here-strings.
    pub documents: Vec<String>,
}

/// Operator between two programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShellOperator {
    #[default]
    Start,
    And,
    Or,
    Then,
    Pipe,
    Background,
}

/// A redirection to or from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub writes: bool,
    pub append: bool,
    pub file: String,
}

/// Maximum number of bytes parsed.
const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// Splits a script into its commands.
pub(super) fn parse(script: &str) -> Vec<SimpleCommand> {
    let script = crate::excerpt::floor(script, MAX_COMMAND_BYTES);
    let mut reader = ShellParser {
        rest: script,
        commands: vec![SimpleCommand::default()],
        word: None,
        expected: Vec::new(),
        into: WordTarget::Word,
    };
    reader.run();
    reader.commands.retain(|command| !command.words.is_empty() || !command.redirects.is_empty());
    reader.commands
}

/// Destination of the next word.
#[derive(Clone, Copy)]
enum WordTarget {
    Word,
    File {
        writes: bool,
        append: bool,
    },
    /// `2>&1`: the target is a descriptor and ignored.
    Descriptor,
    /// `<<EOF`: the word is the delimiter.
    DocumentEnd {
        strip_tabs: bool,
    },
    /// `<<< text`
    DocumentText,
}

struct ShellParser<'a> {
    rest: &'a str,
    commands: Vec<SimpleCommand>,
    word: Option<String>,
    /// Here-documents that start on the next line: command index, delimiter, strip tabs.
    expected: Vec<(usize, String, bool)>,
    into: WordTarget,
}

impl ShellParser<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\\' => self.escaped(),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '`' => self.nested_backticks(),
                '$' if self.rest.starts_with("$(") => self.nested_parens(),
                '#' if self.word.is_none() => self.skip_line(),
                '\n' => {
                    self.advance(1);
                    self.end_command(ShellOperator::Then);
                    self.documents();
                }
                ' ' | '\t' | '\r' => {
                    self.advance(1);
                    self.end_word();
                }
                '&' if self.rest.starts_with("&>") => {
                    self.end_word();
                    let append = self.rest.starts_with("&>>");
                    self.advance(if append { 3 } else { 2 });
                    self.into = WordTarget::File { writes: true, append };
                }
                '&' if self.rest.starts_with("&&") => self.operator(2, ShellOperator::And),
                '&' => self.operator(1, ShellOperator::Background),
                '|' if self.rest.starts_with("||") => self.operator(2, ShellOperator::Or),
                '|' if self.rest.starts_with("|&") => self.operator(2, ShellOperator::Pipe),
                '|' => self.operator(1, ShellOperator::Pipe),
                ';' => self.operator(1, ShellOperator::Then),
                '(' | ')' if self.word.is_none() => self.operator(1, ShellOperator::Then),
                ')' => self.operator(1, ShellOperator::Then),
                '>' | '<' => self.redirect(c),
                c => {
                    self.advance(c.len_utf8());
                    self.word.get_or_insert_default().push(c);
                }
            }
        }
        self.end_command(ShellOperator::Then);
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn operator(&mut self, bytes: usize, op: ShellOperator) {
        self.advance(bytes);
        self.end_command(op);
    }

    fn end_command(&mut self, op: ShellOperator) {
        self.end_word();
        self.into = WordTarget::Word;
        match self.commands.last() {
            // `;;`, blank lines, a line break after `&&`: the first operator applies.
            Some(last) if last.words.is_empty() && last.redirects.is_empty() && last.documents.is_empty() => {}
            _ => self.commands.push(SimpleCommand { op, ..SimpleCommand::default() }),
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let at = self.commands.len() - 1;
        let command = &mut self.commands[at];
        match std::mem::replace(&mut self.into, WordTarget::Word) {
            WordTarget::Word => command.words.push(word),
            WordTarget::File { writes, append } => command.redirects.push(Redirect { writes, append, file: word }),
            WordTarget::Descriptor => {}
            WordTarget::DocumentEnd { strip_tabs } => self.expected.push((at, word, strip_tabs)),
            WordTarget::DocumentText => command.documents.push(word),
        }
    }

    fn redirect(&mut self, c: char) {
        // `2>` and `12>`: the digits name a descriptor.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if c == '<' {
            if self.rest.starts_with("<<<") {
                self.advance(3);
                self.into = WordTarget::DocumentText;
            } else if self.rest.starts_with("<<") {
                let strip_tabs = self.rest.starts_with("<<-");
                self.advance(if strip_tabs { 3 } else { 2 });
                self.into = WordTarget::DocumentEnd { strip_tabs };
            } else if self.rest.starts_with("<(") {
                self.advance(1);
                self.nested_parens_at("<");
            } else {
                self.advance(1);
                self.into = WordTarget::File { writes: false, append: false };
            }
            return;
        }
        let append = self.rest.starts_with(">>");
        self.advance(if append { 2 } else { 1 });
        if self.rest.starts_with('&') {
            self.advance(1);
            self.into = WordTarget::Descriptor;
        } else {
            if self.rest.starts_with('|') {
                self.advance(1);
            }
            self.into = WordTarget::File { writes: true, append };
        }
    }

    fn escaped(&mut self) {
        self.advance(1);
        match self.rest.chars().next() {
            Some('\n') => self.advance(1),
            Some(c) => {
                self.advance(c.len_utf8());
                self.word.get_or_insert_default().push(c);
            }
            None => {}
        }
    }

    fn single_quoted(&mut self) {
        self.advance(1);
        let end = self.rest.find('\'').unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.word.get_or_insert_default().push_str(text);
        self.advance((end + 1).min(self.rest.len()));
    }

    fn double_quoted(&mut self) {
        self.advance(1);
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = at;
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\' | '$' | '`'))) => text.push(c),
                    Some((_, '\n')) => {}
                    Some((_, c)) => {
                        text.push('\\');
                        text.push(c);
                    }
                    None => text.push('\\'),
                },
                c => text.push(c),
            }
        }
        self.word.get_or_insert_default().push_str(&text);
        self.advance((end + 1).min(self.rest.len()));
    }

    fn nested_backticks(&mut self) {
        let end = self.rest[1..].find('`').map_or(self.rest.len(), |at| at + 2);
        let text = &self.rest[..end];
        self.word.get_or_insert_default().push_str(text);
        self.advance(end);
    }

    fn nested_parens(&mut self) {
        self.advance(1);
        self.nested_parens_at("$");
    }

    /// Appends a balanced `(...)` to the word verbatim.
    fn nested_parens_at(&mut self, before: &str) {
        let mut depth = 0u32;
        let mut quote = None;
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            match (quote, c) {
                (Some(q), c) if q == c => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => {
                    depth -= 1;
                    if depth == 0 {
                        end = at + 1;
                        break;
                    }
                }
                _ => {}
            }
        }
        let text = &self.rest[..end];
        let word = self.word.get_or_insert_default();
        word.push_str(before);
        word.push_str(text);
        self.advance(end);
    }

    fn skip_line(&mut self) {
        let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        self.advance(end);
    }

    /// Bodies of here-documents announced on the line that just ended.
    fn documents(&mut self) {
        for (command, end, strip_tabs) in std::mem::take(&mut self.expected) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line_end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
                let line = &self.rest[..line_end];
                self.advance((line_end + 1).min(self.rest.len()));
                let line = if strip_tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if let Some(command) = self.commands.get_mut(command) {
                command.documents.push(body);
            }
        }
    }
}
