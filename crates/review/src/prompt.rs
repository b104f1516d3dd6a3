//! What agents are asked, as templates.
//!
//! The templates are part of the binary. A user or a trusted project may replace each one; the slots are the fields of
//! [`WorkPrompt`] and [`ReviewPrompt`]. Nothing is escaped: prompts are text, and what comes from the work itself is
//! fenced with more backticks than it contains, so that it cannot pose as an instruction.

mod history;
mod slots;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use thiserror::Error;

pub use history::history;
pub use slots::{ClosedIssue, GateOutput, GateSummary, OpenIssue, ReviewPrompt, WorkPrompt, objections};

use crate::task::ReviewKind;
use crate::verdict::VerdictError;

/// The names of the templates, as in `review-work.md`.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("work", include_str!("prompt/templates/work.md")),
    ("review", include_str!("prompt/templates/review.md")),
    ("reask", include_str!("prompt/templates/reask.md")),
    ("format_text", include_str!("prompt/templates/format_text.md")),
    ("format_schema", include_str!("prompt/templates/format_schema.md")),
];

/// The templates of a task.
#[derive(Debug)]
pub struct Prompts(Environment<'static>);

/// Why a template cannot be used.
#[derive(Debug, Error)]
pub enum PromptError {
    #[error("unknown template `{0}`; the templates are work, review, reask, format_text and format_schema")]
    UnknownTemplate(String),
    #[error("the template `{name}` is not valid: {source}")]
    Invalid { name: String, source: minijinja::Error },
    #[error("the template `{name}` cannot be rendered: {source}")]
    Render { name: &'static str, source: minijinja::Error },
}

/// How a reviewer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// A status line and a list.
    Text,
    /// JSON; the agent's CLI enforces the schema.
    Schema,
}

impl Prompts {
    /// The built-in templates, with replacements by name.
    pub fn new(replacements: &BTreeMap<String, String>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_trim_blocks(false);
        environment.add_filter("fenced", |text: &str| fenced(text));
        environment.add_filter("indented", |text: &str| text.trim().replace('\n', "\n  "));
        if let Some(name) = replacements.keys().find(|name| TEMPLATES.iter().all(|(known, _)| known != name)) {
            return Err(PromptError::UnknownTemplate(name.clone()));
        }
        for (name, built_in) in TEMPLATES {
            let text = replacements.get(*name).map_or(*built_in, String::as_str);
            let added = environment.add_template_owned((*name).to_owned(), text.to_owned());
            added.map_err(|source| PromptError::Invalid { name: (*name).to_owned(), source })?;
        }
        Ok(Self(environment))
    }

    /// What the builder is asked.
    pub fn work(&self, prompt: &WorkPrompt<'_>) -> Result<String, PromptError> {
        self.render("work", prompt)
    }

    /// What a reviewer is asked.
    pub fn review(&self, prompt: &ReviewPrompt<'_>, format: AnswerFormat) -> Result<String, PromptError> {
        #[derive(Serialize)]
        struct Slots<'a> {
            #[serde(flatten)]
            prompt: &'a ReviewPrompt<'a>,
            kind: ReviewKind,
            format: String,
        }
        self.render("review", &Slots { prompt, kind: prompt.kind, format: self.format(format)? })
    }

    /// Asks for the verdict once more, in the right form.
    pub fn reask(&self, error: &VerdictError, format: AnswerFormat) -> Result<String, PromptError> {
        let slots = BTreeMap::from([("error", error.to_string()), ("format", self.format(format)?)]);
        self.render("reask", &slots)
    }

    fn format(&self, format: AnswerFormat) -> Result<String, PromptError> {
        let name = match format {
            AnswerFormat::Text => "format_text",
            AnswerFormat::Schema => "format_schema",
        };
        self.render(name, &())
    }

    fn render(&self, name: &'static str, slots: &impl Serialize) -> Result<String, PromptError> {
        let template = self.0.get_template(name).map_err(|source| PromptError::Render { name, source })?;
        let text = template.render(slots).map_err(|source| PromptError::Render { name, source })?;
        Ok(text.trim().to_owned() + "\n")
    }
}

/// Text in a fence that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end())
}
