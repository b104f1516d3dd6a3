//! The loop picture: which rows a window of calls falls on, and where the rounds of a loop are.

use std::collections::BTreeMap;

use belay_core::Digest;
use belay_core::effect::Finding;
use belay_core::session::{CallRecord, CallStrip};
use belay_ipc::views::{CallView, PictureRow, PictureView, Round, StripBucket};

/// Rows besides those of the finding.
const MAX_OTHER_ROWS: usize = 4;
/// Rows of the finding.
const MAX_FINDING_ROWS: usize = 8;

/// Calls as they are shown; numbers begin with 1.
pub(super) fn call_views(calls: &[CallRecord]) -> Vec<CallView> {
    let mut distinct = calls.first().and_then(|call| call.figures).map_or(0, |figures| figures.distinct);
    distinct = distinct.saturating_sub(calls.first().map_or(0, |call| u64::from(call.first)));
    calls
        .iter()
        .map(|call| {
            distinct += u64::from(call.first);
            let figures = call.figures.unwrap_or_default();
            CallView {
                call: call.ordinal + 1,
                at: call.at,
                batch: call.batch,
                pair: pair_of(call),
                first: call.first,
                distinct,
                progress: call.progress,
                mark: call.mark,
                what: call.what.clone(),
                outcome: call.result.clone(),
                file: call.file.clone(),
                reads: call.reads,
                check: call.check,
                cost_micros: figures.cost_micros,
                since_progress_micros: figures.since_progress_micros,
                fresh_tokens: figures.fresh_tokens,
                cached_tokens: figures.cached_tokens,
                context_percent: figures.context_percent,
            }
        })
        .collect()
}

/// Names the pair of action and outcome.
fn pair_of(call: &CallRecord) -> String {
    let parts = [call.action.0.to_le_bytes(), call.outcome.0.to_le_bytes()];
    format!("{:016x}", Digest::of_parts(parts.iter().map(<[u8; 8]>::as_slice)).0)
}

/// The picture of a window of calls. `finding` colours what belongs to it.
pub(super) fn picture(total: u64, calls: &[CallRecord], finding: Option<&Finding>, strip: &CallStrip) -> PictureView {
    let calls = call_views(calls);
    let evidence = finding.map(|finding| evidence_pairs(&calls, finding)).unwrap_or_default();
    let from = finding.map(|finding| finding.from_call + 1);
    let last_new = calls.iter().rposition(|call| call.first).map(|at| calls[at].call);
    let newest = calls.last().map_or(0, |call| call.call);
    PictureView {
        total,
        rows: rows(&calls, &evidence, from),
        rounds: rounds(&calls, &evidence, from),
        flags: Vec::new(),
        strip: strip
            .buckets()
            .iter()
            .map(|bucket| StripBucket { calls: bucket.calls, new: bucket.new, in_finding: bucket.in_finding })
            .collect(),
        bucket_calls: strip.bucket_calls(),
        finding_from: from.filter(|_| !evidence.is_empty()),
        calls_without_new: newest - last_new.unwrap_or_else(|| calls.first().map_or(0, |call| call.call - 1)),
        calls,
    }
}

/// The pairs of the finding's evidence, in the order of the cycle.
fn evidence_pairs(calls: &[CallView], finding: &Finding) -> Vec<String> {
    let mut pairs: Vec<String> = Vec::new();
    for evidence in &finding.evidence {
        let call = calls.iter().find(|call| call.call == evidence.call + 1);
        if let Some(call) = call.filter(|call| !pairs.contains(&call.pair)) {
            pairs.push(call.pair.clone());
        }
    }
    pairs.truncate(MAX_FINDING_ROWS);
    pairs
}

fn rows(calls: &[CallView], evidence: &[String], from: Option<u64>) -> Vec<PictureRow> {
    let row = |pair: &str, in_finding: bool| {
        let mut same = calls.iter().filter(|call| call.pair == pair);
        let count = same.clone().count() as u64;
        // A call of the finding describes the row best.
        let call = same.clone().find(|call| from.is_some_and(|from| call.call >= from)).or_else(|| same.next())?;
        Some(PictureRow {
            pair: pair.to_owned(),
            what: describe(call),
            outcome: written(call).unwrap_or_else(|| call.outcome.clone()),
            count,
            in_finding,
        })
    };
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for call in calls {
        let (count, first) = counts.entry(&call.pair).or_insert((0, call.call));
        (*count, *first) = (*count + 1, (*first).min(call.call));
    }
    let mut others: Vec<(&str, (u64, u64))> = counts
        .into_iter()
        .filter(|(pair, (count, _))| *count > 1 && !evidence.iter().any(|known| known == pair))
        .collect();
    others.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
    let in_finding = evidence.iter().filter_map(|pair| row(pair, true));
    in_finding.chain(others.into_iter().take(MAX_OTHER_ROWS).filter_map(|(pair, _)| row(pair, false))).collect()
}

/// What an edit writes, which tells it from other edits of the file.
fn written(call: &CallView) -> Option<String> {
    let (_, new) = call.what.split_once(" --- ")?.1.split_once(" +++ ")?;
    Some(format!("+ {new}"))
}

/// What a row shows: tool and file, or the command.
fn describe(call: &CallView) -> String {
    match &call.file {
        Some(file) => {
            let tool = call.what.split_whitespace().next().unwrap_or_default();
            format!("{tool} {file}")
        }
        None => call.what.clone(),
    }
}

/// A round begins with each call of the finding's first pair.
fn rounds(calls: &[CallView], evidence: &[String], from: Option<u64>) -> Vec<Round> {
    let Some((first, from)) = evidence.first().zip(from) else { return Vec::new() };
    let mut rounds: Vec<Round> = Vec::new();
    for call in calls.iter().filter(|call| call.call >= from && evidence.contains(&call.pair)) {
        match rounds.last_mut() {
            Some(round) if call.pair != *first => round.last = call.call,
            _ => rounds.push(Round { first: call.call, last: call.call }),
        }
    }
    rounds
}

#[cfg(test)]
mod tests;
