//! One hook call from payload to response.

use std::borrow::Cow;
use std::path::Path;

use belay_agents::hook::{
    HookEncoder, HookInput, HookPoint, HookReply, ParsedHook, PermissionPrompt, condense, resolve_agent,
};
use belay_agents::spec::HookEvent;
use belay_core::event::{Body, Delivered, Source};
use belay_core::{Effect, Event, EventOutcome, InterventionLevel, SessionKey, Timestamp, Verdict};
use belay_engine::EngineAccess;
use belay_ipc::{HookRequest, HookResponse, HookTicket};
use belay_store::session::SessionRow;

use crate::local_facts::{self, LocalFacts};
use crate::{engine_queries, session_summary, tombstones};

/// The tree of a payload up to this size needs at most a few megabytes.
const MAX_UNSCANNED_BYTES: usize = 16 * 1024;

/// In-memory state between hook calls. It only saves repeated reads; losing it is harmless.
#[derive(Debug, Default)]
pub struct HookState {
    local_facts: LocalFacts,
}

impl HookState {
    /// Records what the files of sessions with an open turn report and no hook does. The resident process calls this
    /// every second.
    pub fn poll_session_files(&self, engine: &dyn EngineAccess) {
        let events = self.local_facts.poll_open_turns();
        if !events.is_empty() {
            engine_queries::observe(engine, events);
        }
    }
}

/// What only the resident process does with a hook call.
pub trait HookHost {
    /// The session that a `belay run` turned out to be.
    fn bind_run(&self, _run: &str, _session: &SessionKey) {}

    /// Events that are recorded now.
    fn on_events(&self, _events: &[Event]) {}

    /// Offers a hook to what may answer at its point, such as a person who decides about a permission prompt. With
    /// a ticket, the hook waits; with `None` it says nothing. The hook itself waits for this call, so it must not.
    fn offer(&self, _offer: HookOffer) -> Option<HookTicket> {
        None
    }
}

/// A hook process that decides by itself.
impl HookHost for () {}

/// A hook that has nothing to say, and may wait for an answer. After a tool or a turn, its session may be held.
#[derive(Debug)]
pub struct HookOffer {
    pub session: SessionKey,
    /// Id of the call. A hook that repeats its call keeps it.
    pub hook: String,
    pub point: HookPoint,
    /// What the agent asks a person to permit.
    pub permission: Option<PermissionPrompt>,
    pub cwd: Option<String>,
    /// When the hook process started.
    pub at: Timestamp,
    /// The event of the hook, with how long the agent waits for it if this version has installed it.
    pub event: &'static HookEvent,
    /// The hook runs in continuous integration, so there is no person to answer.
    pub ci: bool,
    pub encoder: HookEncoder,
}

/// Parses the payload, decides, and responds. Never fails: after a fault the agent continues.
pub fn handle_hook(
    state: &HookState,
    engine: &dyn EngineAccess,
    ask: &HookRequest,
    host: &dyn HookHost,
) -> HookResponse {
    let payload = bounded(ask.payload.get().as_bytes());
    let Some(hooks) = resolve_agent(&ask.agent, &payload).and_then(|agent| agent.hooks) else {
        tracing::warn!(agent = ask.agent, "a hook of an agent Belay does not know");
        return HookResponse::default();
    };
    let protocol = hooks.protocol;
    let told = HookInput { id: &ask.id, event: ask.event.as_deref(), payload: &payload, at: ask.at, exit_code: None };
    let mut parsed = state.local_facts.parse_and_enrich(protocol, &told, ask);
    let Some(session) = parsed.session.clone() else { return HookResponse::default() };
    let events = std::mem::take(&mut parsed.events);
    let has_events = !events.is_empty();
    host.on_events(&events);
    let observed = if has_events { engine_queries::observe(engine, events) } else { Vec::new() };
    if let Some(run) = ask.run.as_deref().filter(|_| parsed.point == HookPoint::SessionStart) {
        host.bind_run(run, &session);
    }
    let HookOutcome { verdict, context, delivered } =
        rule(engine, &parsed, &session, has_events.then_some(&*observed), ask.at);
    let ended = (parsed.point == HookPoint::SessionEnd).then(|| engine_queries::session(engine, &session)).flatten();
    let summary = ended.as_ref().and_then(session_summary::summary_sentence);
    if let Some(row) = &ended {
        tombstones::clear_if_overcome(engine, row, ask.at);
    }
    if ask.ci && (ended.is_some() || holds(&verdict)) {
        report(engine, &session, ended, parsed.cwd.as_deref());
    }
    let reply =
        HookReply { verdict: &verdict, context: context.as_deref(), person: summary.as_deref(), continuation: None };
    let say = protocol.encode_bytes(&parsed, &reply);
    if let Some(finding) = delivered.filter(|_| !say.is_empty()) {
        engine_queries::observe(engine, vec![proof(ask, &session, finding)]);
    }
    let headless = |process| local_facts::agent_process::find_headless_agent(ask.pid?, process);
    let interrupt = protocol.interrupt(&parsed, &reply).and_then(headless);
    let stderr_of = protocol.hides_reason(&parsed, &reply).and_then(headless);
    let reason = stderr_of.and(reply.hold_reason()).unwrap_or_default().to_owned();
    // In continuous integration there is no person to wait for.
    let waits = interrupt.is_none() && !ask.ci && protocol.waits_while_held(&parsed, &reply);
    // A held session stays held, and a nudge is not mixed with anything.
    let is_free = verdict == Verdict::Go && say.is_empty();
    let permission = parsed.permission.take();
    let may_wait = permission.is_some() || matches!(parsed.point, HookPoint::AfterTool | HookPoint::TurnEnd);
    let ticket = hooks.event_of(&parsed).filter(|_| is_free && may_wait).and_then(|event| {
        let (session, cwd, encoder) = (session.clone(), parsed.cwd.clone(), HookEncoder::new(protocol, &parsed));
        let (hook, point) = (ask.id.clone(), parsed.point);
        host.offer(HookOffer { session, hook, point, permission, cwd, at: ask.at, event, ci: ask.ci, encoder })
    });
    let wait_for = waits.then_some(session);
    let stdout = String::from_utf8(say).unwrap_or_default();
    HookResponse { stdout, interrupt, stderr_of, reason, wait_for, ticket }
}

/// The payload, condensed unless it is small. The hook process has condensed it, but other clients may not have.
fn bounded(payload: &[u8]) -> Cow<'_, [u8]> {
    match payload.len() {
        0..=MAX_UNSCANNED_BYTES => Cow::Borrowed(payload),
        // An invalid payload yields no session.
        _ => Cow::Owned(condense(payload).unwrap_or_default()),
    }
}

/// The reply to the agent.
struct HookOutcome {
    verdict: Verdict,
    /// Text for the model.
    context: Option<String>,
    /// The finding that the text reports.
    delivered: Option<String>,
}

fn rule(
    engine: &dyn EngineAccess,
    parsed: &ParsedHook,
    session: &SessionKey,
    observed: Option<&[EventOutcome]>,
    at: Timestamp,
) -> HookOutcome {
    // Finished calls were answered before they ran, if at all.
    let over = parsed.point == HookPoint::AfterBatch;
    // These hooks may report no events, and the verdicts of other events do not apply to them.
    let silent = matches!(parsed.point, HookPoint::Permission | HookPoint::BeforeModel);
    let observed = observed.unwrap_or_default();
    let fresh = observed.iter().any(|one| !one.decision.duplicate);
    let mut verdict = hardest(observed.iter().filter(|one| !one.decision.duplicate || !over));
    // If no call was checked, or calls ran that could not be denied, the state of the session decides.
    if verdict == Verdict::Go && (silent || over && fresh) {
        verdict = engine_queries::session_verdict(engine, session);
    }
    // This is the first hook that can respond to those calls.
    let late = if over && fresh { nudge_among(observed) } else { None };
    let (finding, mut context) = late.unzip();
    if parsed.point == HookPoint::SessionStart {
        context = tombstones::reminder_text(engine, parsed, at);
    }
    let delivered = match &verdict {
        Verdict::Nudge { finding, .. } => Some(finding.clone()),
        _ => finding,
    };
    HookOutcome { verdict, context, delivered }
}

fn holds(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Hold { .. } | Verdict::Stop { .. })
}

/// Writes the status of a headless run for programs that wait for it.
fn report(engine: &dyn EngineAccess, session: &SessionKey, row: Option<SessionRow>, cwd: Option<&str>) {
    let (Some(row), Some(cwd)) = (row.or_else(|| engine_queries::session(engine, session)), cwd) else { return };
    if let Err(error) = session_summary::write_result(Path::new(cwd), &row) {
        tracing::warn!(%error, cwd, "the result of a headless run could not be written");
    }
}

/// The strictest verdict of all calls in one payload.
fn hardest<'o>(observed: impl Iterator<Item = &'o EventOutcome>) -> Verdict {
    let weight = |verdict: &Verdict| match verdict {
        Verdict::Go => 0,
        Verdict::Nudge { .. } => 1,
        Verdict::Hold { .. } => 2,
        Verdict::Stop { .. } => 3,
    };
    let verdicts = observed.map(|one| &one.decision.verdict);
    verdicts.max_by_key(|verdict| weight(verdict)).cloned().unwrap_or_default()
}

/// A nudge that is due.
fn nudge_among(observed: &[EventOutcome]) -> Option<(String, String)> {
    observed.iter().flat_map(|one| &one.decision.effects).find_map(|effect| match effect {
        Effect::Intervened(done) if done.level == InterventionLevel::Nudge && !done.dry_run => {
            Some((done.finding.id.clone(), done.message.clone()))
        }
        _ => None,
    })
}

fn proof(ask: &HookRequest, session: &SessionKey, finding: String) -> Event {
    let body = Body::Delivered(Delivered { finding, channel: Source::Hook });
    Event::new(format!("{}.told", ask.id), session.clone(), Source::Hook, ask.at, body)
}
