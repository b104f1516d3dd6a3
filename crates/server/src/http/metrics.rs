//! `/metrics` in the Prometheus text format.

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use belay_engine::Metrics;
use belay_store::StoreTotals;

use super::blocking;
use super::error::ApiError;
use crate::state::DaemonState;

const METRICS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(daemon): State<Arc<DaemonState>>) -> Result<Response, ApiError> {
    let text = blocking(&daemon, |daemon| Ok(read(daemon)?.text())).await?;
    Ok(([(CONTENT_TYPE, METRICS_CONTENT_TYPE)], text).into_response())
}

/// The values of one scrape.
#[derive(Debug, Default)]
struct MetricsSnapshot {
    totals: StoreTotals,
    engine: Metrics,
    started: i64,
    healthy: bool,
    spooled: usize,
    dropped: u64,
    connections: usize,
    queued: usize,
    buffered: usize,
}

fn read(daemon: &DaemonState) -> belay_store::Result<MetricsSnapshot> {
    let status = daemon.status(false);
    Ok(MetricsSnapshot {
        totals: daemon.readers.get()?.totals(None)?,
        engine: daemon.decisions.committer.with_engine(|engine| engine.metrics()),
        started: status.started_at.millis() / 1000,
        healthy: status.health.ok,
        spooled: status.health.spooled,
        dropped: status.health.dropped,
        connections: status.connections,
        queued: status.queued,
        buffered: daemon.runs.relay().map_or(0, |relay| relay.bytes_buffered()),
    })
}

impl MetricsSnapshot {
    fn text(&self) -> String {
        let Self { totals, engine, .. } = self;
        let mut page = MetricsText(String::new());
        page.head("belay_info", "gauge", "Version of the resident process.");
        page.labelled("belay_info", ("version", crate::VERSION), 1);
        page.gauge("process_start_time_seconds", "Start time in Unix seconds.", self.started);
        page.gauge("belay_healthy", "Whether decisions are also stored.", u8::from(self.healthy));
        page.head("belay_sessions", "gauge", "Sessions in the store, by state.");
        for (state, count) in &totals.sessions {
            page.labelled("belay_sessions", ("state", state), count);
        }
        page.gauge("belay_open_incidents", "Open incidents.", totals.open_incidents);
        page.gauge("belay_stored_events", "Events in the store.", totals.events);
        page.gauge("belay_stored_calls", "Tool calls of the sessions in the store.", totals.calls);
        page.gauge("belay_stored_tokens", "Tokens used by the sessions in the store.", totals.tokens);
        let dollars = totals.cost_micros as f64 / 1e6;
        page.gauge("belay_stored_cost_dollars", "Known cost of the sessions in the store.", dollars);
        let dollars = totals.unpriced_micros as f64 / 1e6;
        let help = "Cost of models without a known price in the store, at an assumed price.";
        page.gauge("belay_stored_unpriced_cost_dollars", help, dollars);
        page.gauge("belay_store_bytes", "Size of the store.", totals.bytes);
        page.gauge("belay_outbox_messages", "Alerts that are not yet delivered to every channel.", totals.outbox);
        page.gauge("belay_spooled_events", "Events in memory that are not yet stored.", self.spooled);
        page.gauge("belay_socket_connections", "Open connections to the socket.", self.connections);
        page.gauge("belay_queued_requests", "Queued events.", self.queued);
        page.gauge("belay_relay_buffered_bytes", "Bytes buffered for model requests in flight.", self.buffered);
        page.counter("belay_events_total", "Events recorded since start.", engine.events);
        page.counter("belay_duplicate_events_total", "Duplicate events.", engine.duplicates);
        page.counter("belay_commits_total", "Committed transactions.", engine.commits);
        page.counter("belay_store_faults_total", "Store failures.", engine.faults);
        page.counter("belay_lost_events_total", "Events that were decided on but not stored.", self.dropped);
        page.0
    }
}

/// The text under construction.
struct MetricsText(String);

impl MetricsText {
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "counter", help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Label values come from Belay and need no escaping.
    fn labelled(&mut self, name: &str, (label, of): (&str, &str), value: impl Display) {
        let _ = writeln!(self.0, "{name}{{{label}=\"{of}\"}} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_type_and_a_valid_value() {
        let sessions = [("active".to_owned(), 3), ("paused".to_owned(), 1)].into();
        let totals =
            StoreTotals { sessions, cost_micros: 1_500_000, unpriced_micros: 250_000, ..StoreTotals::default() };
        let text = MetricsSnapshot { totals, healthy: true, ..MetricsSnapshot::default() }.text();
        assert!(text.contains("\nbelay_stored_cost_dollars 1.5\n"), "{text}");
        assert!(text.contains("\nbelay_stored_unpriced_cost_dollars 0.25\n"), "{text}");
        let kinds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let name = name.split('{').next().unwrap_or_default();
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            assert!(kinds.contains(&format!("{name} {kind}").as_str()), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        for line in ["belay_sessions{state=\"paused\"} 1", "belay_stored_cost_dollars 1.5", "belay_healthy 1"] {
            assert!(text.lines().any(|present| present == line), "{line} is missing in {text}");
        }
    }
}
