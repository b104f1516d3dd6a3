//! Styles. Grey is normal; a colour stands for a state or a finding, never alone.

use ratatui::style::{Color, Modifier, Style};

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// No statement.
    Plain,
    /// Moving or done.
    Ok,
    /// Needs a person, or limited.
    Warn,
    /// Held, failed, over budget.
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) color: bool,
}

impl Theme {
    pub(crate) fn plain(self) -> Style {
        Style::new()
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn muted(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn tone(self, tone: Tone) -> Style {
        let color = match tone {
            Tone::Plain => return Style::new(),
            Tone::Ok => Color::Green,
            Tone::Warn => Color::Yellow,
            Tone::Bad => Color::Red,
        };
        self.colored(color)
    }

    /// The row of a finding in the loop picture; from the fifth on, letter and place tell them apart.
    pub(crate) fn loop_row(self, row: usize) -> Style {
        match [Color::Yellow, Color::Magenta, Color::Cyan, Color::LightRed].get(row) {
            Some(color) => self.colored(*color).add_modifier(Modifier::BOLD),
            None => self.strong(),
        }
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// The tone of a share of a budget or of the context.
    pub(crate) fn share(self, percent: u32) -> Style {
        self.tone(match percent {
            0..=75 => Tone::Plain,
            76..=90 => Tone::Warn,
            _ => Tone::Bad,
        })
    }
}
