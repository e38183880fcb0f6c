//! What the service has done, for Prometheus.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Counters since the service began.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Requests by route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// Problems recovered, and the batches they were in.
    problems: AtomicU64,
    batches: AtomicU64,
    /// Durations of requests for fields.
    buckets: [AtomicU64; BUCKETS.len()],
    answered: AtomicU64,
    microseconds: AtomicU64,
}

impl Metrics {
    pub(crate) fn count_request(&self, route: &'static str, status: u16) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((route, status)).or_default() += 1;
    }

    pub(crate) fn count_batch(&self, problems: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.problems.fetch_add(problems as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_answer(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            bucket.fetch_add(u64::from(seconds <= end), Ordering::Relaxed);
        }
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }

    /// All of it in Prometheus' text format; `waiting` problems are in the queue now, and so many bytes of bodies are
    /// held.
    pub(crate) fn text(&self, waiting: usize, held: usize) -> String {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut text = String::new();
        let head =
            |name: &str, kind: &str, help: &str| format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        text += &head("scope_requests_total", "counter", "Requests by route and status.");
        for ((route, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(text, "scope_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        let plain = [
            ("scope_problems_total", "counter", "Problems recovered.", load(&self.problems)),
            ("scope_batches_total", "counter", "Batches that they were recovered in.", load(&self.batches)),
            ("scope_queue_problems", "gauge", "Problems that wait for the engine.", waiting as u64),
            ("scope_body_bytes", "gauge", "Bytes of requests' bodies that are held.", held as u64),
        ];
        for (name, kind, help, value) in plain {
            text += &head(name, kind, help);
            let _ = writeln!(text, "{name} {value}");
        }
        let name = "scope_answer_seconds";
        text += &head(name, "histogram", "Seconds from a whole request for fields to its answer.");
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(text, "{name}_bucket{{le=\"{end}\"}} {}", load(bucket));
        }
        let answered = load(&self.answered);
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {answered}");
        let _ = writeln!(text, "{name}_sum {}", load(&self.microseconds) as f64 / 1e6);
        let _ = writeln!(text, "{name}_count {answered}");
        text
    }
}
