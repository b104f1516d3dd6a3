//! The socket protocol: what the resident process and its clients send each other.
//!
//! # Theory of operation
//!
//! Requests and responses are JSON objects, one per line. A request is
//! `{"v": 1, "id": 7, "op": "observe", "params": {...}}`. The response echoes `id`, so a client can send several
//! requests before it reads: `{"id": 7, "ok": {...}}` or `{"id": 7, "error": {"code": ..., "message": ...}}`.
//!
//! [`Operation`] lists every operation with its parameters. To add one, add a variant, its parameter and result types,
//! and a row to `docs/reference/socket.md`; a test compares the two. The meaning of an existing operation never changes.
//!
//! [`Client`] is synchronous and needs no runtime, because hook processes use it: connecting, writing and reading share
//! one deadline.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`protocol`] | requests, responses, errors |
//! | [`operations`] | the operations, their parameters and results |
//! | [`reads`], [`views`] | operations that change nothing, and their results |
//! | [`approvals`] | permission prompts that a person can answer |
//! | [`reviews`] | review tasks: filing, deciding, landing |
//! | [`hook`] | a hook call and its response |
//! | [`lines`] | splitting a stream into lines of bounded length |
//! | [`client`] | the client |
//! | [`same_user`] | the check that socket and peer belong to this user |

#![cfg(unix)]

pub mod approvals;
pub mod client;
pub mod hook;
pub mod lines;
pub mod operations;
pub mod protocol;
pub mod reads;
pub mod reviews;
pub mod same_user;
pub mod views;

pub use approvals::{AnswerRequest, AnswerResponse, ApprovalsRequest, AwaitAnswerRequest, AwaitAnswerResponse};
pub use client::{Client, ClientError, DisconnectEvent, DisconnectWatcher};
pub use hook::{HookRequest, HookResponse, HookTicket};
pub use lines::{Line, LineReader};
pub use operations::{
    DecideRequest, EventResult, HealthView, ListenRequest, ListenResponse, LoginLinkResponse, LoginView,
    ObserveRequest, ObserveResponse, Operation, PingResponse, RevokeLoginsResponse, RunRequest, RunResponse,
    StatusRequest, StatusResponse, SubscribeRequest, SubscribeResponse,
};
pub use protocol::{
    ErrorBody, ErrorCode, MAX_LINE_BYTES, PROTOCOL_VERSION, ParseError, Request, Response, ResponseBody,
};
pub use reads::{
    FindingRequest, FindingsRequest, IncidentsRequest, NotesRequest, OverviewRequest, ReadRequest, ResolveRequest,
    SessionPageRequest, SessionRequest, SessionsRequest, SessionsResponse, ShortNamesRequest, TombstonesRequest,
    TotalsRequest,
};
pub use reviews::{
    DecideReviewRequest, FileReviewRequest, LandReviewRequest, PauseReviewsRequest, ReviewDecision, ReviewRequest,
    ReviewsRequest,
};
