//! The APIs whose conversations we can follow.

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Api {
    /// OpenAI's Chat Completions and everything compatible with it.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's generateContent.
    Generate,
}

/// What a request asks of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// For the next turn of a conversation.
    Turn(Api),
    /// For something beside it: token counts, models, files.
    Aside,
}

impl Asks {
    /// What a request to this path asks for; the query does not matter.
    pub(crate) fn of(method: &str, path: &str) -> Self {
        if method != "POST" {
            return Self::Aside;
        }
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
        let api = match path.rsplit('/').next().unwrap_or_default() {
            "completions" if path.ends_with("/chat/completions") => Api::Chat,
            "responses" => Api::Responses,
            "messages" => Api::Messages,
            last if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") => Api::Generate,
            _ => return Self::Aside,
        };
        Self::Turn(api)
    }
}

impl Api {
    /// The field that holds the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            Self::Chat | Self::Messages => "messages",
            Self::Responses => "input",
            Self::Generate => "contents",
        }
    }

    /// The model that a path names, where it does.
    pub(crate) fn model_in_path(self, path: &str) -> Option<&str> {
        let last = path.split(['?', '#']).next()?.rsplit('/').next()?;
        (self == Self::Generate).then(|| last.split(':').next()).flatten()
    }
}
