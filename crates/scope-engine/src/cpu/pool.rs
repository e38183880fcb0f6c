//! A fork-join pool for regions of microseconds.
//!
//! Between regions its workers spin for a moment before they sleep, so that the next region of a forward pass
//! starts within a fraction of a microsecond. A region ends as soon as its tasks are done: a worker that was
//! slow to wake is not waited for.

use std::{
    cell::{Cell, UnsafeCell},
    io,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

/// Turns of the waiting loop before a worker sleeps: some tens of microseconds.
const SPINS: u32 = 20_000;
/// Turns before the caller lets others run while it waits for the last tasks.
const PATIENCE: u32 = 5_000;

/// The gate of a region: its number in the upper half, then one bit for "open", then the workers inside.
const REGION: u64 = 1 << 32;
const OPEN: u64 = 1 << 31;

thread_local! {
    /// Whether this thread is running a task; a region begun inside one runs on the spot.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A region's work: called with the numbers of its tasks.
type Work = dyn Fn(usize) + Sync;

/// Threads that run the tasks of one region at a time.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One region at a time; who finds it taken runs its tasks alone.
    turn: Mutex<()>,
}

#[derive(Debug)]
struct Shared {
    gate: AtomicU64,
    next: AtomicUsize,
    region: UnsafeCell<Option<Region>>,
    stop: AtomicBool,
    failed: AtomicBool,
    /// Whether each worker sleeps.
    asleep: Vec<AtomicBool>,
}

#[derive(Clone, Copy)]
struct Region {
    work: *const Work,
    tasks: usize,
}

impl std::fmt::Debug for Region {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a region of {} tasks", self.tasks)
    }
}

// SAFETY: `region` is written while the gate is closed and nobody is inside, and read only from inside.
unsafe impl Sync for Shared {}
// SAFETY: the pointer in it is followed only during `Pool::run`, which outlives every visit.
unsafe impl Send for Shared {}

impl Pool {
    /// A pool of `threads` threads, the caller's included. A system that refuses a thread gets a smaller pool.
    pub(crate) fn new(threads: usize) -> Self {
        Self::with(threads, |worker, serve| {
            thread::Builder::new().name(format!("scope-{worker}")).spawn(serve)
        })
    }

    /// The same with threads that `spawn` starts.
    fn with(
        threads: usize,
        spawn: impl Fn(usize, Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
    ) -> Self {
        let workers = if cfg!(target_family = "wasm") { 0 } else { threads.max(1) - 1 };
        let shared = Arc::new(Shared {
            gate: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            region: UnsafeCell::new(None),
            stop: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        });
        let start = |worker: usize| {
            let shared = shared.clone();
            spawn(worker, Box::new(move || shared.serve(worker))).ok()
        };
        let workers = (0..workers).map_while(start).collect();
        Self { shared, workers, turn: Mutex::new(()) }
    }

    /// How many threads it has, the caller's included.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `work(0)` to `work(tasks - 1)`, in any order, on any thread.
    pub(crate) fn run(&self, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            // A region that panicked has left the gate closed and empty, as any other.
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if tasks <= 1 || self.workers.is_empty() || INSIDE.get() || turn.is_none() {
            return (0..tasks).for_each(work);
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime is forgotten; `CallerInside` empties the region before `work` ends.
        let work = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const Work>(work) };
        let region = Region { work, tasks };
        // SAFETY: the gate is closed and empty, so nobody reads.
        unsafe { *shared.region.get() = Some(region) };
        shared.next.store(0, Ordering::Relaxed);
        shared.failed.store(false, Ordering::Relaxed);
        let before = shared.gate.load(Ordering::Relaxed);
        shared.gate.store((before & !(REGION - 1)).wrapping_add(REGION) | OPEN, Ordering::SeqCst);
        for (worker, asleep) in self.workers.iter().zip(&shared.asleep) {
            if asleep.load(Ordering::SeqCst) {
                worker.thread().unpark();
            }
        }
        let leave = CallerInside(shared);
        shared.take_tasks(region);
        drop(leave);
        if shared.failed.swap(false, Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("a task of a parallel region panicked"));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            let _ = worker.join();
        }
    }
}

/// Closes the gate and waits for those inside, also when a task of the caller's own panics.
struct CallerInside<'a>(&'a Shared);

impl Drop for CallerInside<'_> {
    fn drop(&mut self) {
        self.0.gate.fetch_and(!OPEN, Ordering::AcqRel);
        let mut turns = 0_u32;
        while self.0.gate.load(Ordering::Acquire) & (OPEN - 1) != 0 {
            turns += 1;
            if turns < PATIENCE { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// Counts a worker out, also when its task panics.
struct WorkerInside<'a>(&'a Shared);

impl Drop for WorkerInside<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.gate.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    /// A worker's life.
    fn serve(&self, worker: usize) {
        let mut seen = 0;
        while let Some(region) = self.wait(worker, seen) {
            seen = region;
            if self.enter(region) {
                let _inside = WorkerInside(self);
                // SAFETY: inside, the region stands still.
                if let Some(region) = unsafe { *self.region.get() } {
                    let tasks = std::panic::AssertUnwindSafe(|| self.take_tasks(region));
                    if std::panic::catch_unwind(tasks).is_err() {
                        self.failed.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    /// Waits for a region after `seen`; none when the pool ends.
    fn wait(&self, worker: usize, seen: u64) -> Option<u64> {
        let mut turns = 0_u32;
        loop {
            let region = self.gate.load(Ordering::Acquire) / REGION;
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if region != seen {
                return Some(region);
            }
            turns += 1;
            if turns < SPINS {
                std::hint::spin_loop();
                continue;
            }
            self.asleep[worker].store(true, Ordering::SeqCst);
            let still = self.gate.load(Ordering::SeqCst) / REGION == seen;
            if still && !self.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            self.asleep[worker].store(false, Ordering::SeqCst);
            turns = 0;
        }
    }

    /// Passes the gate of a region if it is still open.
    fn enter(&self, region: u64) -> bool {
        let step = |gate: u64| (gate / REGION == region && gate & OPEN != 0).then_some(gate + 1);
        self.gate.fetch_update(Ordering::AcqRel, Ordering::Acquire, step).is_ok()
    }

    /// Runs tasks until none is left.
    fn take_tasks(&self, region: Region) {
        INSIDE.set(true);
        let _outside = Outside;
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= region.tasks {
                break;
            }
            // SAFETY: `Pool::run` does not return while anybody is here.
            unsafe { (*region.work)(task) };
        }
    }
}

/// Marks the thread as outside again.
struct Outside;

impl Drop for Outside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once_in_every_region() {
        for threads in [1, 2, 5] {
            let pool = Pool::new(threads);
            for round in 0..2_000 {
                let counts: Vec<AtomicUsize> = (0..round % 37).map(|_| AtomicUsize::new(0)).collect();
                pool.run(counts.len(), &|task| {
                    counts[task].fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            }
        }
    }

    /// As under a limit on the number of threads.
    #[test]
    fn refused_threads_are_done_without() {
        for allowed in [0, 2] {
            let pool = Pool::with(5, |worker, serve| match worker {
                few if few < allowed => thread::Builder::new().spawn(serve),
                _ => Err(io::ErrorKind::WouldBlock.into()),
            });
            assert_eq!(pool.threads(), allowed + 1);
            let sum = AtomicUsize::new(0);
            pool.run(100, &|task| {
                sum.fetch_add(task, Ordering::Relaxed);
            });
            assert_eq!(sum.load(Ordering::Relaxed), 4950);
        }
    }

    #[test]
    fn regions_inside_tasks_and_from_other_threads_run_too() {
        let pool = Pool::new(3);
        let total = AtomicUsize::new(0);
        let nested = || {
            pool.run(8, &|_| {
                pool.run(8, &|_| {
                    total.fetch_add(1, Ordering::Relaxed);
                });
            });
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| nested()));
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 4 * 50 * 64);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        for failing in [7, 0, 15] {
            let fail = || pool.run(16, &|task| assert!(task != failing && task != failing + 1));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fail)).is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.run(10, &|task| {
            sum.fetch_add(task, Ordering::Relaxed);
        });
        assert_eq!(sum.load(Ordering::Relaxed), 45);
    }
}
