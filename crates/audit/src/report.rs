//! Reports: JSON lines for programs, text and HTML for people.

mod advice;
mod compare;
mod format;
mod html;
mod json_lines;
mod labels;
mod text;

pub use advice::{Advice, advice};
pub use compare::{Difference, Differences, compare};
pub use html::html;
pub use json_lines::{InterventionLine, Line, SavedLine, SessionLine, TotalLine, lines, total};
pub use labels::LabelStyle;
pub use text::text;
