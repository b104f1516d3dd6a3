//! Where everything is: pure data, so that it can be tested without looking at SVG.

use std::ops::Range;

use belay_ipc::views::PictureView;

use super::fold::{Fold, folded_ranges};

pub(crate) const COLUMN: f64 = 18.0;
const FOLD: f64 = 156.0;
const MARGIN: f64 = 4.0;

pub(crate) const FLAGS: f64 = 32.0;
pub(crate) const GROUND: f64 = 112.0;
pub(crate) const LOOP_ROW: f64 = 32.0;
pub(crate) const OTHER_ROW: f64 = 20.0;
pub(crate) const BAND: f64 = 56.0;
const AXIS: f64 = 24.0;

/// Rows of a finding that are drawn.
const MAX_LOOP_ROWS: usize = 12;

/// Other repeated pairs that are drawn.
const MAX_OTHER_ROWS: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    pub(crate) width: f64,
    /// Top of "since progress".
    pub(crate) hill: f64,
    pub(crate) burn: f64,
    pub(crate) context: f64,
    pub(crate) axis: f64,
    pub(crate) height: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) x: f64,
    pub(crate) width: f64,
    pub(crate) kind: ColumnKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnKind {
    /// Indices into the window's calls: one call, or several that ran in parallel.
    Calls(Range<usize>),
    Fold(Fold),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Index into the view's rows.
    pub(crate) index: usize,
    /// Number within the finding.
    pub(crate) letter: Option<usize>,
    /// Middle of the row.
    pub(crate) y: f64,
}

impl Column {
    pub(crate) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }
}

impl Layout {
    pub(crate) fn new(view: &PictureView) -> Self {
        let columns = columns(view);
        let width = columns.last().map_or(0.0, |column| column.x + column.width) + MARGIN;
        let (rows, hill) = rows(view);
        let (burn, context, axis) = (hill + BAND, hill + 2.0 * BAND, hill + 3.0 * BAND);
        Self { columns, rows, width, hill, burn, context, axis, height: axis + AXIS }
    }

    /// The row of a pair.
    pub(crate) fn row(&self, view: &PictureView, pair: &str) -> Option<&Row> {
        self.rows.iter().find(|row| view.rows.get(row.index).is_some_and(|known| known.pair == pair))
    }

    /// The column of a call; a fold, if the call is not drawn.
    pub(crate) fn column(&self, view: &PictureView, call: u64) -> Option<&Column> {
        let mut before = None;
        for column in &self.columns {
            match &column.kind {
                ColumnKind::Calls(calls) if view.calls[calls.clone()].iter().any(|known| known.call == call) => {
                    return Some(column);
                }
                ColumnKind::Calls(calls) if view.calls[calls.start].call > call => return before,
                ColumnKind::Calls(_) => before = None,
                ColumnKind::Fold(_) => before = Some(column),
            }
        }
        None
    }

    /// Columns with calls, and their indices.
    pub(crate) fn drawn(&self) -> impl DoubleEndedIterator<Item = (&Column, Range<usize>)> {
        self.columns.iter().filter_map(|column| match &column.kind {
            ColumnKind::Calls(calls) => Some((column, calls.clone())),
            ColumnKind::Fold(_) => None,
        })
    }
}

fn columns(view: &PictureView) -> Vec<Column> {
    let folded = folded_ranges(&view.calls, &view.rounds);
    let is_folded = |call: u64| folded.iter().any(|(from, to)| (*from..=*to).contains(&call));
    let mut columns: Vec<Column> = Vec::new();
    let mut x = MARGIN;
    let mut push = |columns: &mut Vec<Column>, width: f64, kind: ColumnKind| {
        columns.push(Column { x, width, kind });
        x += width;
    };
    let mut previous: Option<usize> = None;
    for (index, call) in view.calls.iter().enumerate() {
        if is_folded(call.call) {
            continue;
        }
        if let Some(before) = previous {
            let last = &view.calls[before];
            if call.call > last.call + 1 {
                let fold = Fold::between(last, call, &view.calls[before + 1..index], &view.rounds);
                push(&mut columns, FOLD, ColumnKind::Fold(fold));
            } else if call.batch == last.batch
                && let Some(Column { kind: ColumnKind::Calls(calls), .. }) = columns.last_mut()
            {
                calls.end = index + 1;
                previous = Some(index);
                continue;
            }
        }
        push(&mut columns, COLUMN, ColumnKind::Calls(index..index + 1));
        previous = Some(index);
    }
    columns
}

fn rows(view: &PictureView) -> (Vec<Row>, f64) {
    let indexed = || view.rows.iter().enumerate();
    let in_finding = indexed().filter(|(_, row)| row.in_finding).take(MAX_LOOP_ROWS);
    let others = indexed().filter(|(_, row)| !row.in_finding).take(MAX_OTHER_ROWS);
    let mut top = FLAGS + GROUND;
    let mut rows = Vec::new();
    for (letter, (index, _)) in in_finding.enumerate() {
        rows.push(Row { index, letter: Some(letter), y: top + LOOP_ROW / 2.0 });
        top += LOOP_ROW;
    }
    for (index, _) in others {
        rows.push(Row { index, letter: None, y: top + OTHER_ROW / 2.0 });
        top += OTHER_ROW;
    }
    (rows, top)
}
