//! Two invented sessions that show how to read the picture.

use belay_core::Timestamp;
use belay_core::session::CallMark;
use belay_ipc::views::CallView;

use crate::picture::mini::Shape;

#[derive(Debug)]
pub(super) struct Example {
    calls: Vec<CallView>,
    pairs: Vec<String>,
    from: Option<u64>,
}

impl Example {
    pub(super) fn shape(&self) -> Shape<'_> {
        Shape { calls: &self.calls, pairs: &self.pairs, from: self.from }
    }
}

/// Calls: `o` is new, `+` is progress, `.` is a repeat; letters are the rows of a loop.
fn example(shape: &str, pairs: &[&str]) -> Example {
    let mut distinct = 0;
    let mut seen: Vec<char> = Vec::new();
    let calls = shape
        .chars()
        .zip(1..)
        .map(|(sign, number)| {
            let first = match sign {
                'o' | '+' => true,
                '.' => false,
                letter => {
                    !seen.contains(&letter) && {
                        seen.push(letter);
                        false
                    }
                }
            };
            distinct += u64::from(first);
            let mark = match sign {
                'A' => CallMark::Written,
                'B' => CallMark::Failed,
                'C' => CallMark::Reverted,
                _ => CallMark::Ok,
            };
            call(number, sign, first, distinct, mark)
        })
        .collect();
    let from = shape.find('A').map(|at| at as u64 + 1);
    Example { calls, pairs: pairs.iter().map(|pair| (*pair).to_owned()).collect(), from }
}

fn call(number: u64, sign: char, first: bool, distinct: u64, mark: CallMark) -> CallView {
    CallView {
        call: number,
        at: Timestamp::UNKNOWN,
        batch: u32::try_from(number).unwrap_or(u32::MAX),
        pair: sign.to_string(),
        first,
        distinct,
        progress: sign == '+',
        mark,
        what: String::new(),
        outcome: String::new(),
        file: None,
        reads: false,
        check: false,
        cost_micros: 0,
        since_progress_micros: 0,
        fresh_tokens: 0,
        cached_tokens: 0,
        context_percent: None,
    }
}

pub(super) fn working() -> Example {
    example("o++o.+o+.o++o.+o++o.+o+.o++o.+o++o.+o+.o++o+", &[])
}

pub(super) fn looping() -> Example {
    example("o+.o++.++o+.o++o++.++o+.o+ABCABCABC.ABCABCABC", &["A", "B", "C"])
}
