//! The operations of the socket protocol.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;

use belay_config::EnvSnapshot;
use belay_core::{Event, SessionKey};
use belay_hooks::install::installed_timeout;
use belay_hooks::process_chain::ProcessChain;
use belay_hooks::{HookHost, HookOffer, root_session};
use belay_ipc::protocol::parse_request;
use belay_ipc::views::OverviewView;
use belay_ipc::{
    ErrorBody, ErrorCode, HookRequest, HookResponse, HookTicket, ListenRequest, ListenResponse, ObserveRequest,
    ObserveResponse, Operation, OverviewRequest, PROTOCOL_VERSION, PingResponse, Response, ResponseBody,
    RevokeLoginsResponse, SubscribeRequest, SubscribeResponse,
};
use belay_store::{EventQuery, Order};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::approvals;
use crate::follower::{self, POLL_INTERVAL};
use crate::intake::{self, Authority, store_error_to_ipc};
use crate::listeners::OpenListener;
use crate::operator;
use crate::proxy_service;
use crate::reads::StoreRead;
use crate::reviews;
use crate::state::DaemonState;
use crate::views::EventView;

/// What a connection does after its response.
pub(crate) enum AfterReply {
    /// Reads the next line.
    Line,
    /// Stops the resident process.
    Stop,
    /// Streams events of the log.
    Follow(SubscribeRequest),
    /// Responds once a ticket is answered.
    AwaitAnswer(String),
}

/// Handles one request line of the process `peer` and writes the response to `out`.
pub(crate) fn handle_line(daemon: &DaemonState, peer: Option<u32>, line: &[u8], out: &mut Vec<u8>) -> AfterReply {
    let (id, operation) = match parse_request(line, crate::VERSION) {
        Ok(request) => request,
        Err(error) => {
            write_error(out, error.id, &error.body);
            return AfterReply::Line;
        }
    };
    let next = match &operation {
        Operation::Stop {} => AfterReply::Stop,
        Operation::Subscribe(what) => AfterReply::Follow(what.clone()),
        Operation::AwaitAnswer(request) => AfterReply::AwaitAnswer(request.id.clone()),
        _ => AfterReply::Line,
    };
    let result = match operation {
        Operation::Ping {} | Operation::Stop {} => accept(out, id, &ping_response()),
        Operation::Status(request) => accept(out, id, &daemon.status(request.token)),
        Operation::Observe(request) => accept(out, id, &observe(daemon, &request)),
        Operation::Approvals(_) => accept(out, id, &daemon.approvals.pending()),
        Operation::Answer(request) => {
            approvals::answer(daemon, &request).and_then(|response| accept(out, id, &response))
        }
        // The task that waits responds.
        Operation::AwaitAnswer(_) => Ok(()),
        Operation::Decide(request) => {
            operator::decide(daemon, peer, request).and_then(|outcome| accept(out, id, &outcome))
        }
        Operation::Hook(request) => accept(out, id, &handle_hook(daemon, &request)),
        Operation::Run(request) => {
            proxy_service::handle_run(daemon, &request).and_then(|response| accept(out, id, &response))
        }
        Operation::Listen(request) => listen(daemon, &request).and_then(|response| accept(out, id, &response)),
        Operation::LoginLink {} => operator::login_link(daemon, peer).and_then(|response| accept(out, id, &response)),
        Operation::RevokeLogins {} => accept(out, id, &RevokeLoginsResponse { revoked: daemon.logins.revoke_all() }),
        Operation::Resolve(request) => read(daemon, out, id, &request),
        Operation::Sessions(request) => read(daemon, out, id, &request),
        Operation::Session(request) => read(daemon, out, id, &request),
        Operation::Incidents(request) => read(daemon, out, id, &request),
        Operation::Findings(request) => read(daemon, out, id, &request),
        Operation::Finding(request) => read(daemon, out, id, &request),
        Operation::Notes(request) => read(daemon, out, id, &request),
        Operation::Tombstones(request) => read(daemon, out, id, &request),
        Operation::ShortNames(request) => read(daemon, out, id, &request),
        Operation::Totals(request) => read(daemon, out, id, &request),
        Operation::Overview(request) => overview(daemon, &request).and_then(|view| accept(out, id, &view)),
        Operation::SessionPage(request) => read(daemon, out, id, &request),
        Operation::FileReview(request) => {
            reviews::file_from_shell(daemon, &request).and_then(|task| accept(out, id, &task))
        }
        Operation::DecideReview(request) => reviews::decide(daemon, &request).and_then(|task| accept(out, id, &task)),
        Operation::LandReview(request) => reviews::land(daemon, &request).and_then(|landed| accept(out, id, &landed)),
        Operation::Reviews(request) => reviews::list(daemon, &request).and_then(|list| accept(out, id, &list)),
        Operation::Review(request) => reviews::view(daemon, &request).and_then(|task| accept(out, id, &task)),
        Operation::PauseReviews(request) => reviews::pause(daemon, request).and_then(|list| accept(out, id, &list)),
        Operation::Subscribe(_) => accept(out, id, &SubscribeResponse { subscribed: true }),
    };
    match result {
        Ok(()) => next,
        Err(error) => {
            write_error(out, id, &error);
            AfterReply::Line
        }
    }
}

fn accept<T: Serialize>(out: &mut Vec<u8>, id: Option<&RawValue>, body: &T) -> Result<(), ErrorBody> {
    let reply = Response { id, body: ResponseBody::Ok(body) };
    serde_json::to_writer(&mut *out, &reply).map_err(|e| ErrorBody::new(ErrorCode::Internal, e.to_string()))?;
    out.push(b'\n');
    Ok(())
}

fn read<R: StoreRead>(
    daemon: &DaemonState,
    out: &mut Vec<u8>,
    id: Option<&RawValue>,
    request: &R,
) -> Result<(), ErrorBody> {
    let store = daemon.readers.get().map_err(|error| store_error_to_ipc(&error))?;
    let response = request.run(Some(&*store)).map_err(|error| store_error_to_ipc(&error))?;
    accept(out, id, &response)
}

fn overview(daemon: &DaemonState, request: &OverviewRequest) -> Result<OverviewView, ErrorBody> {
    let store = daemon.readers.get();
    let view = store.and_then(|store| request.run(Some(&*store)));
    let mut view = view.map_err(|error| store_error_to_ipc(&error))?;
    view.today.quotas = daemon.limits.view(belay_clock::now());
    view.reviews = reviews::for_overview(daemon);
    Ok(view)
}

/// Writes an error response.
pub(crate) fn write_error(out: &mut Vec<u8>, id: Option<&RawValue>, refusal: &ErrorBody) {
    out.clear();
    let reply: Response<'_, ()> = Response { id, body: ResponseBody::Error(refusal.clone()) };
    // Strings and numbers always serialise.
    let _ = serde_json::to_writer(&mut *out, &reply);
    out.push(b'\n');
}

fn handle_hook(daemon: &DaemonState, request: &HookRequest) -> HookResponse {
    let foreign = is_of_another_run(daemon, request).then(|| HookRequest { run: None, ..request.clone() });
    let request = foreign.as_ref().unwrap_or(request);
    belay_hooks::handle_hook(&daemon.hook_state, &daemon.decisions.committer, request, daemon)
}

/// Whether a hook names a run with settings of its own, but is not below it. The key of a run is not a secret: a
/// repository that sets it for another agent would choose that agent's settings.
fn is_of_another_run(daemon: &DaemonState, request: &HookRequest) -> bool {
    let process = request.run.as_deref().and_then(|run| daemon.runs.pending_decisions.process_with_settings(run));
    process.is_some_and(|process| {
        let chain = request.pid.map(|pid| ProcessChain::of_process(pid, &EnvSnapshot::default()));
        !chain.is_some_and(|chain| chain.processes.iter().any(|above| above.pid == process))
    })
}

impl HookHost for DaemonState {
    fn bind_run(&self, run: &str, session: &SessionKey) {
        proxy_service::bind_run_session(self, run, session);
    }

    fn on_events(&self, events: &[Event]) {
        self.approvals.on_events(events);
    }

    fn offer(&self, offer: HookOffer) -> Option<HookTicket> {
        // The configuration is read for permissions only: other hooks are far more frequent.
        if offer.permission.is_none() {
            return self.mail.offer(self, &offer);
        }
        let config = self.config.approvals()?;
        let root = root_session(&self.decisions.committer, &offer.session);
        let cwd = offer.cwd.as_deref().map(Path::new);
        let timeout = installed_timeout(&self.config.paths, &offer.session.agent, offer.event, cwd);
        self.approvals.offer(offer, root, timeout, &config)
    }
}

fn listen(daemon: &DaemonState, request: &ListenRequest) -> Result<ListenResponse, ErrorBody> {
    let listeners = &daemon.runs.listeners;
    let (listener, opened) = listeners.open(request.address, request.tls.as_ref()).map_err(|error| {
        let address = request.address.unwrap_or_else(|| listeners.configured());
        ErrorBody::new(ErrorCode::Refused, format!("cannot listen on {address}: {error}"))
            .field("address")
            .hint(error.hint())
    })?;
    if request.keep_running {
        daemon.lifecycle.disable_idle_exit();
    }
    let OpenListener { url, fingerprint, .. } = listener;
    Ok(ListenResponse { pid: std::process::id(), url, opened, fingerprint })
}

fn ping_response() -> PingResponse {
    PingResponse { pid: std::process::id(), version: crate::VERSION.to_owned(), protocol: PROTOCOL_VERSION }
}

fn observe(daemon: &DaemonState, request: &ObserveRequest) -> ObserveResponse {
    daemon.throttle.admit(request.events.len());
    // Only the owner can open the socket.
    let events = request.events.iter().map(|event| event.get().as_bytes());
    ObserveResponse { answers: intake::observe_json(&daemon.decisions.committer, events, Authority::Owner) }
}

/// Streams events of the log until the client disconnects or the process shuts down.
pub(crate) fn stream_events(daemon: &DaemonState, stream: &mut UnixStream, what: &SubscribeRequest) {
    if let Err(refusal) = try_stream_events(daemon, stream, what) {
        let mut out = Vec::new();
        write_error(&mut out, None, &refusal);
        // The client may have disconnected.
        let _ = stream.write_all(&out);
    }
}

fn try_stream_events(daemon: &DaemonState, stream: &mut UnixStream, what: &SubscribeRequest) -> Result<(), ErrorBody> {
    let store = daemon.readers.get().map_err(|error| store_error_to_ipc(&error))?;
    let mut query = EventQuery { session: what.session.clone(), kinds: what.kinds.clone(), ..EventQuery::default() };
    query.after = what.after;
    if query.after.is_none() {
        let last = EventQuery { order: Order::Last, limit: 1, kinds: Vec::new(), ..query.clone() };
        let last = store.events(&last).map_err(|error| store_error_to_ipc(&error))?;
        query.after = Some(last.last().map_or(0, |row| position(what, row)));
    }
    let mut seen = 0;
    let mut out = Vec::new();
    while !daemon.lifecycle.shutdown.is_set() {
        let rows = store.events(&query).map_err(|error| store_error_to_ipc(&error))?;
        for row in &rows {
            query.after = Some(position(what, row));
            out.clear();
            if serde_json::to_writer(&mut out, &EventView::from_row(row)).is_ok() {
                out.push(b'\n');
                if stream.write_all(&out).is_err() {
                    return Ok(());
                }
            }
        }
        if rows.is_empty() {
            daemon.lifecycle.mark_active();
            if is_disconnected(stream) {
                return Ok(());
            }
            seen = daemon.decisions.committer.commits().wait(seen, POLL_INTERVAL);
        }
    }
    Ok(())
}

fn position(what: &SubscribeRequest, row: &belay_store::EventRow) -> u64 {
    if what.session.is_some() { row.seq } else { follower::position(row) }
}

/// A subscriber sends nothing, so readable input means that it disconnected.
fn is_disconnected(stream: &UnixStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut wait = [PollFd::new(stream, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut wait, Some(&now)).is_ok_and(|ready| ready > 0)
}
