//! Positions of keys in a file. The text is parsed again with spans, because the common case needs no positions.

use toml_edit::{Document, Item, Table, TableLike, Value};

use crate::diagnostic::Position;

/// One step of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    Name(String),
    Index(usize),
}

/// The position of the key at `path`, or of its deepest ancestor that is in the text.
pub(crate) fn position(text: &str, path: &[PathStep]) -> Option<Position> {
    let document = Document::parse(text).ok()?;
    let mut best = None;
    let mut here = SyntaxNode::Item(document.as_item());
    for step in path {
        let (start, next) = match here.step(step) {
            Some(found) => found,
            None => break,
        };
        best = start.or(best);
        here = next;
    }
    best.map(|byte| Position::from_offset(text, byte))
}

enum SyntaxNode<'d> {
    Item(&'d Item),
    Table(&'d Table),
    Value(&'d Value),
}

impl<'d> SyntaxNode<'d> {
    fn step(&self, step: &PathStep) -> Option<(Option<usize>, Self)> {
        match step {
            PathStep::Name(name) => {
                let table: &'d dyn TableLike = match self {
                    Self::Item(item) => item.as_table_like()?,
                    Self::Table(table) => *table,
                    Self::Value(value) => value.as_inline_table()?,
                };
                let (key, item) = table.get_key_value(name)?;
                let start = key.span().or_else(|| item.span()).map(|span| span.start);
                Some((start, Self::Item(item)))
            }
            PathStep::Index(index) => match self {
                Self::Item(Item::ArrayOfTables(tables)) => {
                    let table = tables.get(*index)?;
                    Some((table.span().map(|span| span.start), Self::Table(table)))
                }
                Self::Item(item) => Self::element(item.as_array()?, *index),
                Self::Value(value) => Self::element(value.as_array()?, *index),
                Self::Table(_) => None,
            },
        }
    }

    fn element(array: &'d toml_edit::Array, index: usize) -> Option<(Option<usize>, Self)> {
        let value = array.get(index)?;
        Some((value.span().map(|span| span.start), Self::Value(value)))
    }
}
