//! Stopping in good order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level,
};

/// Interrupts closer together than this are one request to stop: `timeout` and job schedulers send theirs to the
/// program and to its group.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);
/// The same for signals that no key sends: a machine that shuts down sends several, for several reasons, while the
/// state is saved.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// The signals that ask to stop. A terminal that is closed sends a hangup; it is not listened for where whoever started
/// the program has it ignored, as `nohup` does.
fn stop_signals() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

#[allow(unsafe_code)]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: a `sigaction` of zeros is a valid one, and a call without a new action does nothing but fill it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Set by the first interrupt, termination or hangup signal. A later one ends the program at once, whatever its threads
/// are doing: an interrupt a second or more after the first signal, any other after ten.
pub(crate) struct Interrupt(Arc<StopRequest>);

/// When the first signal came.
struct StopRequest {
    listening: Instant,
    /// Milliseconds since then, plus one; zero before any signal.
    first: AtomicU64,
}

impl Interrupt {
    /// Starts listening.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let request = Arc::new(StopRequest { listening: Instant::now(), first: AtomicU64::new(0) });
        for signal in stop_signals() {
            let shared = Arc::clone(&request);
            let receive = move || {
                if shared.receive(signal, shared.listening.elapsed()) {
                    low_level::exit(128 + signal);
                }
            };
            // SAFETY: what runs inside a signal is an atomic number, the clock and _exit, all of which may.
            #[allow(unsafe_code)]
            let listening = unsafe { low_level::register(signal, receive) };
            listening.context("signals cannot be caught")?;
        }
        Ok(Self(request))
    }

    /// Whether the user has asked to stop.
    pub(crate) fn requested(&self) -> bool {
        self.0.first.load(Ordering::Relaxed) != 0
    }
}

impl StopRequest {
    /// Takes note of a signal at some time after listening began; whether the program is to end at once.
    fn receive(&self, signal: i32, at: Duration) -> bool {
        let now = at.as_millis() as u64 + 1;
        let grace = if signal == SIGINT { INTERRUPT_GRACE } else { SHUTDOWN_GRACE };
        match self.first.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => false,
            Err(first) => Duration::from_millis(now.saturating_sub(first)) >= grace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether signals, each with its milliseconds, end the program.
    fn ends_program<const N: usize>(signals: [(i32, u64); N]) -> [bool; N] {
        let request = StopRequest { listening: Instant::now(), first: AtomicU64::new(0) };
        signals.map(|(signal, at)| request.receive(signal, Duration::from_millis(at)))
    }

    #[test]
    fn signals_close_together_are_one_request_and_a_later_one_ends_the_program() {
        assert_eq!(ends_program([(SIGTERM, 0), (SIGTERM, 1), (SIGINT, 999)]), [false; 3]);
        assert_eq!(ends_program([(SIGINT, 5000), (SIGINT, 5999), (SIGINT, 6000)]), [false, false, true]);
        assert_eq!(ends_program([(SIGTERM, 70), (SIGINT, 1070)]), [false, true]);
        assert_eq!(ends_program([(SIGTERM, 0), (SIGTERM, 9999), (SIGTERM, 10_000)]), [false, false, true]);
    }
}
