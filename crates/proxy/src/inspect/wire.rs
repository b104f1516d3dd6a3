//! The APIs whose conversations we can follow.

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WireApi {
    /// OpenAI's Chat Completions and everything compatible with it.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Gemini's generateContent.
    GenerateContent,
}

/// What a request asks of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// For the next turn of a conversation.
    ModelTurn(WireApi),
    /// For something beside it: token counts, models, files.
    Auxiliary,
}

impl RequestKind {
    /// What a request to this path asks for; the query does not matter.
    pub(crate) fn classify(method: &str, path: &str) -> Self {
        if method != "POST" {
            return Self::Auxiliary;
        }
        let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
        let api = match path.rsplit('/').next().unwrap_or_default() {
            "completions" if path.ends_with("/chat/completions") => WireApi::Chat,
            "responses" => WireApi::Responses,
            "messages" => WireApi::Messages,
            last if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") => {
                WireApi::GenerateContent
            }
            _ => return Self::Auxiliary,
        };
        Self::ModelTurn(api)
    }
}

impl WireApi {
    /// The field that holds the conversation.
    pub(crate) fn messages_field(self) -> &'static str {
        match self {
            Self::Chat | Self::Messages => "messages",
            Self::Responses => "input",
            Self::GenerateContent => "contents",
        }
    }

    /// The model that a path names, where it does.
    pub(crate) fn model_in_path(self, path: &str) -> Option<&str> {
        let last = path.split(['?', '#']).next()?.rsplit('/').next()?;
        (self == Self::GenerateContent).then(|| last.split(':').next()).flatten()
    }
}
