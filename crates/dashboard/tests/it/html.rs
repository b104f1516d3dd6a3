//! A reader for the HTML that pages consist of: enough to tell elements from text.

/// An element's start tag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) attributes: Vec<(&'a str, &'a str)>,
}

/// All start tags. Attribute values are quoted everywhere, so a `>` inside of one does not end a tag.
pub(crate) fn tags(html: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if rest.starts_with(['/', '!']) {
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(rest.len());
        let (name, mut tail) = rest.split_at(end);
        let mut attributes = Vec::new();
        loop {
            tail = tail.trim_start();
            if tail.is_empty() || tail.starts_with('>') {
                break;
            }
            let end = tail.find(|c: char| c.is_whitespace() || c == '=' || c == '>').unwrap_or(tail.len());
            let (key, after) = tail.split_at(end);
            match after.strip_prefix("=\"").and_then(|value| value.split_once('"')) {
                Some((value, after)) => {
                    attributes.push((key, value));
                    tail = after;
                }
                None => {
                    attributes.push((key, ""));
                    tail = after;
                }
            }
        }
        tags.push(Tag { name, attributes });
        rest = tail;
    }
    tags
}

impl<'a> Tag<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}
