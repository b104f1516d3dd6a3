//! What is told: JSON lines for programs, text and a page for people.

mod compare;
mod html;
mod lines;
mod names;
mod text;
mod words;

pub use compare::{Differences, compare};
pub use html::html;
pub use lines::{AlarmLine, Line, SavedLine, SessionLine, TotalLine, lines, total};
pub use names::Names;
pub use text::text;
