//! An afternoon with seven sessions, one of them in a loop.

use belay_core::session::CallMark;
use belay_core::{SessionKey, Timestamp};
use belay_ipc::views::{
    CallView, FailingTestView, FailingView, FileView, FlagKind, NeedView, OverviewView, PictureFlag, PictureRow,
    PictureView, ReviewAttention, ReviewPhase, ReviewSummaryView, Round, SessionPageView, SessionView, StripBucket,
};
use serde_json::{Value, json};

pub(super) fn now() -> Timestamp {
    at("13:53:00")
}

pub(super) fn at(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-18T{time}Z")).unwrap()
}

pub(super) fn key() -> SessionKey {
    SessionKey::new("claude-code", "3f9c21d0")
}

/// A session with these fields besides the usual ones.
pub(super) fn session(id: &str, agent: &str, task: &str, more: &Value) -> SessionView {
    let cost = json!({ "calls": 0, "tokens": 0, "cost_micros": 0 });
    let mut since = cost.clone();
    since["at"] = json!(at("13:50:00"));
    let mut view = json!({
        "session": format!("{agent}:{id}"), "short": format!("{agent}:{}", &id[..4]), "agent": agent, "id": id,
        "state": "active", "task": task, "project": "/home/ada/src/shop", "branch": "main",
        "status": status("working", "13:03:00", "The model is responding."),
        "started_at": at("11:48:00"), "last_at": at("13:52:58"),
        "events": 900, "calls": 402, "errors": 3, "edits": 8, "human_turns": 2, "findings": 0, "nudges": 0, "pauses": 0,
        "tokens": 18_500_000, "cost_micros": 8_900_000, "budget": {}, "limits": { "cost_micros": 15_000_000 },
        "usage": { "input": 214_000, "output": 49_000, "cache_read": 17_500_000, "cache_write": 730_000 },
        "sub_agents": cost, "since_progress": since, "cost_per_hour_micros": 4_100_000, "context_percent": 66,
        "newest_call": { "what": "cargo test -p ledger refunds", "at": at("13:52:22"), "running": true },
        "burn": (0..24).map(|minute| 900 + minute * 37 % 11 * 400).collect::<Vec<u64>>(),
    });
    for (name, value) in more.as_object().unwrap() {
        view[name] = value.clone();
    }
    serde_json::from_value(view).unwrap()
}

fn status(value: &str, since: &str, why: &str) -> Value {
    json!({ "value": value, "since": at(since), "source": "hook", "evidence": "tool_called", "why": why })
}

pub(super) fn need(kind: &str, since: &str, reason: &str, session: SessionView) -> NeedView {
    let need = json!({ "kind": kind, "since": at(since), "reason": reason, "session": session });
    serde_json::from_value(need).unwrap()
}

pub(super) const SENTENCE: &str = "Edit, test, undo: the same three calls 6 times, the same test failing each time. $1.57 and 19 calls without progress.";

/// The session in a loop.
pub(super) fn looping() -> SessionView {
    let held = json!({ "incident": "inc-1", "since": at("13:30:00"), "resume_requires": "person" });
    let more = json!({
        "state": "paused", "held": held, "status": status("held", "13:30:00", SENTENCE), "branch": "fix/cart-discount",
        "calls": 412, "cost_micros": 9_370_000, "model": "claude-sonnet-4-5", "agent_version": "2.1.291",
        "context_percent": 82, "cost_per_hour_micros": 0,
        "since_progress": { "at": at("13:23:27"), "calls": 19, "tokens": 2_200_000, "cost_micros": 1_570_000 },
    });
    session("3f9c21d0", "claude-code", "Fix the cart discount test", &more)
}

pub(super) fn overview() -> OverviewView {
    let waiting = |what: &str| {
        let mut status = status("waiting", "13:12:00", "");
        status["waiting_for"] = json!(what);
        json!({ "status": status, "project": "/home/ada/src/billing-api", "branch": "feat/invoices-pdf" })
    };
    let question = session("aaaa1111", "claude-code", "PDF invoices for EU customers", &waiting("question"));
    let budget_held = json!({ "incident": "inc-2", "since": at("13:44:00"), "resume_requires": "person" });
    let spent = json!({
        "state": "paused", "held": budget_held, "status": status("held", "13:44:00", ""), "project": "/home/ada/src/infra",
        "branch": "tf/split-state", "limits": { "cost_micros": 5_000_000 },
    });
    let mut over = need(
        "over_budget",
        "13:44:00",
        "$5.02 of $5.00. Held before the next model call; last progress 2 min before the hold.",
        session("bbbb1111", "codex", "Split the Terraform state", &spent),
    );
    over.next_budget_micros = Some(10_000_000);
    let mut permission = need(
        "permission",
        "13:51:12",
        "Asks to run a command in ~/src/orders.",
        session("cccc1111", "codex", "Refund column and backfill", &waiting("permission")),
    );
    permission.subject =
        Some("psql \"$DATABASE_URL\" -c \"ALTER TABLE orders ADD COLUMN refunded_at timestamptz\"".to_owned());
    let done = json!({ "status": status("finished", "13:35:00", ""), "branch": "l10n/pt-br" });
    let finished = session("dddd1111", "gemini-cli", "Translate the setup guide", &done);
    let mut limited = status("limited", "13:40:00", "Usage limit: 5 hours, opus");
    limited["until"] = json!(at("15:10:00"));
    let limited = json!({ "status": limited, "cost_per_hour_micros": 0, "burn": vec![0; 24] });
    let today = json!({
        "spent": { "calls": 900, "tokens": 130_100_000, "cost_micros": 57_300_000 },
        "by_hour": [0, 0, 0, 0, 1, 2, 6, 9, 12, 11, 14, 18, 20, 24],
        "by_agent": [
            { "name": "claude-code", "tokens": 66_800_000, "cost_micros": 28_640_000 },
            { "name": "codex", "tokens": 41_000_000, "cost_micros": 18_410_000 },
        ],
        "avoided": { "cost_micros": 11_600_000, "loops": [
            { "incident": "inc-1", "session": "claude-code:3f9c21d0", "name": "shop", "how": "held 23 min", "cost_micros": 5_500_000 },
        ] },
        "quotas": [{ "account": "Claude, work@acme", "limit": "5 hours", "used_percent": 62.0, "resets_at": at("15:10:00"), "reported_at": at("13:50:00") }],
    });
    let mut looped = need("loop", "13:30:00", SENTENCE, looping());
    looped.calls = calls().split_off(13);
    OverviewView {
        reviews: Vec::new(),
        now: now(),
        needs: vec![
            need(
                "question",
                "13:12:00",
                "“Two customers have no VAT id. Leave the line out, or block the invoice?”",
                question,
            ),
            looped,
            need("finished", "13:35:00", "14 files changed, 3 commits.", finished),
            over,
            permission,
        ],
        active: vec![
            session("eeee1111", "claude-code", "Refunds, milestone m5", &json!({ "branch": "fleet/builder-1" })),
            session("ffff1111", "claude-code", "Plan of the ledger rewrite", &limited),
        ],
        resting: 3,
        today: serde_json::from_value(today).unwrap(),
        trial: false,
    }
}

/// The overview with review tasks among the sessions.
pub(super) fn with_reviews() -> OverviewView {
    let task = |id: &str, title: &str, since: &str, phase: ReviewPhase, status: &str| ReviewSummaryView {
        id: id.to_owned(),
        title: title.to_owned(),
        project_dir: "/home/ada/src/billing-api".to_owned(),
        phase,
        status: status.to_owned(),
        since: serde_json::from_value(json!(at(since))).unwrap(),
        round: 4,
        max_rounds: 4,
        builder: "claude".to_owned(),
        reviewers: vec!["codex".to_owned(), "gemini@pro".to_owned()],
        open_issues: 2,
        cost_micros: 4_730_000,
        ..ReviewSummaryView::default()
    };
    let rounds = ReviewSummaryView {
        attention: Some(ReviewAttention::RoundsUsed),
        ..task(
            "r-3d2e",
            "Round taxes the same way everywhere",
            "13:20:00",
            ReviewPhase::NeedsAttention,
            "Issues are open after all 4 rounds.",
        )
    };
    let done = task(
        "r-04ce",
        "Retry webhooks with backoff",
        "12:10:00",
        ReviewPhase::Done,
        "Approved by Codex and Gemini CLI after 3 rounds.",
    );
    OverviewView { reviews: vec![rounds, ReviewSummaryView { open_issues: 0, round: 3, ..done }], ..overview() }
}

/// 12 calls of new ground, then six rounds of edit, test, undo, and one call that was held back.
fn calls() -> Vec<CallView> {
    let call = |at: u64| {
        let (pair, mark, first, what) = match at {
            1..=12 => (format!("n{at}"), CallMark::Ok, true, "Read src/cart.ts".to_owned()),
            31 => ("a".to_owned(), CallMark::HeldBack, false, "Edit src/cart.ts".to_owned()),
            _ => match at % 3 {
                1 => ("a".to_owned(), CallMark::Written, at < 16, "Edit src/cart.ts".to_owned()),
                2 => ("b".to_owned(), CallMark::Failed, at < 16, "npm test".to_owned()),
                _ => ("c".to_owned(), CallMark::Reverted, at < 16, "Edit src/cart.ts".to_owned()),
            },
        };
        CallView {
            call: at,
            at: self::at("13:20:00") + std::time::Duration::from_secs(at * 20),
            batch: u32::try_from(at).unwrap(),
            pair,
            first,
            distinct: at.min(15),
            progress: at <= 12 && at % 3 != 1,
            mark,
            what,
            outcome: "1 failing".to_owned(),
            file: None,
            reads: at <= 12,
            check: false,
            cost_micros: 80_000,
            since_progress_micros: at.saturating_sub(12) * 82_600,
            fresh_tokens: 4_000,
            cached_tokens: 100_000 + at * 1_000,
            context_percent: Some(u32::try_from(50 + at).unwrap()),
        }
    };
    (1..=31).map(call).collect()
}

pub(super) fn page() -> SessionPageView {
    let row = |pair: &str, what: &str, outcome: &str, count: u64, in_finding: bool| PictureRow {
        pair: pair.to_owned(),
        what: what.to_owned(),
        outcome: outcome.to_owned(),
        count,
        in_finding,
    };
    let flag = |after: u64, time: &str, kind: FlagKind, text: &str| PictureFlag {
        after,
        at: at(time),
        kind,
        text: text.to_owned(),
    };
    let finding = json!({
        "id": "fnd-8c41d7", "pattern": "cycle", "count": 6, "sentence": SENTENCE,
        "unchanged": "adds up a cart with a discount: expected 90, received 100.",
        "progress_would_be": "A different result, or content of src/cart.ts never seen before.",
        "evidence": [], "from_call": 12, "call": 30, "action": "00000000000000aa", "outcome": "00000000000000bb",
        "spent": { "calls": 19, "usage": { "input": 0, "output": 0, "cache_read": 0, "cache_write": 0 }, "cost_micros": 1_570_000, "unpriced_micros": 0, "secs": 393 },
        "at": at("13:30:00"),
    });
    let intervention = |level: &str, time: &str| {
        let mut finding = finding.clone();
        finding["at"] = json!(at(time));
        json!({ "session": key(), "level": level, "finding": finding, "message": "", "alert": false, "dry_run": false })
    };
    let incident = json!({
        "id": "inc-1", "session": key().to_string(), "state": "open", "level": "pause", "sentence": SENTENCE,
        "opened_at": at("13:30:00"), "finding": finding,
    });
    let failed = |name: &str, runs: &[bool]| FailingTestView { name: name.to_owned(), failed: runs.to_vec() };
    let event = |seq: u64, call: u64, pair: &str, what: &str, outcome: &str| {
        json!({
            "seq": seq, "at": at("13:30:57"), "kind": "tool_called", "source": "hook", "call": call, "pair": pair,
            "what": what, "outcome": outcome, "tokens": 142_100,
        })
    };
    let events = json!([
        event(1633, 31, "a", "Edit src/cart.ts", "held by Belay"),
        event(1632, 30, "c", "Edit src/cart.ts", "back to 77c0"),
        event(1631, 29, "b", "npm test", "1 failing: discount"),
    ]);
    SessionPageView {
        now: now(),
        session: looping(),
        incident: serde_json::from_value(incident).unwrap(),
        findings: serde_json::from_value(json!([
            intervention("pause", "13:30:00"),
            intervention("nudge", "13:27:00"),
            intervention("notice", "13:26:00"),
        ]))
        .unwrap(),
        notes: Vec::new(),
        picture: PictureView {
            total: 412,
            calls: calls(),
            rows: vec![
                row("a", "Edit src/cart.ts", "content a91f", 7, true),
                row("b", "npm test", "1 failing: discount", 6, true),
                row("c", "Edit src/cart.ts", "back to 77c0", 6, true),
            ],
            rounds: (0..6).map(|round| Round { first: 13 + 3 * round, last: 15 + 3 * round }).collect(),
            flags: vec![
                flag(16, "13:26:00", FlagKind::Notice, "The same three calls twice."),
                flag(21, "13:27:00", FlagKind::Nudge, "Try something else."),
                flag(31, "13:30:00", FlagKind::Pause, SENTENCE),
            ],
            strip: (0..64)
                .map(|at| StripBucket { calls: 8, new: u32::from(at % 3 == 0), in_finding: u32::from(at > 58) })
                .collect(),
            bucket_calls: 8,
            finding_from: Some(13),
            calls_without_new: 16,
        },
        files: vec![
            FileView { path: "src/cart.ts".to_owned(), reads: 5, writes: 12, contents: 2, alternates: true },
            FileView { path: "src/tax.ts".to_owned(), reads: 1, writes: 0, contents: 0, alternates: false },
        ],
        failing: Some(FailingView {
            runs: vec![5, 8, 14, 17, 20],
            tests: vec![
                failed("formats EUR", &[true, false, false, false, false]),
                failed("adds up a cart with a discount", &[true, true, true, true, true]),
            ],
            same_from: Some(8),
        }),
        tree: Vec::new(),
        events: serde_json::from_value(events).unwrap(),
        older: None,
        sensors: vec!["hooks".to_owned(), "proxy".to_owned()],
        previous: None,
        next: None,
    }
}
