//! Work that takes long, without Python's lock, heard of and stopped from Python.

use std::{
    sync::{
        Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};

/// How often Python is asked for signals, and at most how often it hears of progress.
const TURN: Duration = Duration::from_millis(50);

/// The stack of the thread that works: what the main thread of a process usually has.
const STACK_BYTES: usize = 8 << 20;

/// What work and the thread that waits for it tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The latest news, as JSON.
    news: Option<String>,
    done: bool,
}

impl Watch {
    /// Whether the work is to go on. Asking costs nothing.
    pub(crate) fn go_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Tells how far the work has come. Only the latest news is kept: a slow listener does not hold up the work.
    pub(crate) fn tell(&self, news: impl FnOnce() -> String) {
        self.locked().news = Some(news());
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self) {
        self.locked().done = true;
        self.changed.notify_all();
    }

    /// Waits for a turn or for the end of the work: the latest news, and whether it has ended.
    fn wait(&self) -> (Option<String>, bool) {
        let state = self.locked();
        let waited = self.changed.wait_timeout_while(state, TURN, |state| !state.done);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (state.news.take(), state.done)
    }
}

/// Ends the work whatever becomes of it.
struct Finish<'a>(&'a Watch);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Works on another thread, while this one, without Python's lock but for moments, listens for signals and tells
/// `listener` the news. What a signal or the listener raises stops the work, and is raised when it has ended.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> PyResult<T> + Send,
) -> PyResult<T> {
    require_own_threads()?;
    let listener = listener.map(|listener| listener.clone().unbind());
    py.detach(|| {
        let watch = Watch::default();
        thread::scope(|scope| {
            let watch = &watch;
            let working = thread::Builder::new().name("fieldscope".to_owned()).stack_size(STACK_BYTES);
            let working = working.spawn_scoped(scope, move || {
                let _finish = Finish(watch);
                work(watch)
            })?;
            let mut raised = None;
            loop {
                let (news, done) = watch.wait();
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    match (&listener, news) {
                        (Some(listener), Some(news)) if raised.is_none() => {
                            listener.call1(py, (news,)).map(drop)
                        }
                        _ => Ok(()),
                    }
                });
                if let Err(error) = heard {
                    watch.stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
                if done {
                    break;
                }
            }
            let result = working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match raised {
                Some(error) => Err(error),
                None => result,
            }
        })
    })
}

/// Refuses work in a process that was forked from one that had worked: it would wait for ever for threads that a fork
/// does not inherit.
pub(crate) fn require_own_threads() -> PyResult<()> {
    static WORKED_IN: OnceLock<u32> = OnceLock::new();
    let own = std::process::id();
    if *WORKED_IN.get_or_init(|| own) == own {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "this process was forked from one that had worked with fieldscope already, and a fork inherits no threads: start \
         processes with multiprocessing.get_context(\"spawn\")",
    ))
}

/// Work that was asked to stop and says so is a matter of whoever asked.
pub(crate) fn stopped() -> PyErr {
    PyRuntimeError::new_err("interrupted")
}
