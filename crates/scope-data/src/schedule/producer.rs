//! Batches made ahead of time on background threads.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::JoinHandle,
};

use scope_pde::cylinder::Disk;

use super::batches::Schedule;
use crate::observation::{Condition, MaskSampler, Namespace, words_for};

/// A batch without its floats, which are gathered where they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its number.
    pub number: u64,
    /// The observation condition of all its records.
    pub condition: Condition,
    /// The records.
    pub records: Vec<usize>,
    /// \[B, 2, words\]: the masks of a and u of each record, as in
    /// [`Mask::words`](crate::observation::Mask::words).
    pub bits: Vec<u64>,
}

/// Makes the batches of training: a schedule, a sampler of masks, and the disks of the cylinder.
#[derive(Debug)]
pub struct BatchMaker {
    /// Which records and conditions.
    pub schedule: Schedule,
    /// Which points.
    pub sampler: MaskSampler,
    /// One a record for the cylinder, else empty.
    pub disks: Vec<Disk>,
    /// Grid points along each axis.
    pub size: usize,
}

impl BatchMaker {
    /// The batch of a number: a pure function.
    pub fn batch(&self, number: u64) -> Batch {
        let plan = self.schedule.plan(number);
        let mut bits = Vec::with_capacity(plan.draws.len() * 2 * words_for(self.size));
        for &(record, draw) in &plan.draws {
            let namespace = Namespace::Train { draw };
            let masks = self.sampler.masks(namespace, record as u64, plan.condition, self.disks.get(record));
            bits.extend_from_slice(masks.a.words());
            bits.extend_from_slice(masks.u.words());
        }
        let records = plan.draws.into_iter().map(|(record, _)| record).collect();
        Batch { number, condition: plan.condition, records, bits }
    }
}

/// Hands out batches in order, while threads make the next ones. At most `ahead` batches wait.
pub struct Producer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    maker: BatchMaker,
    ahead: u64,
    state: Mutex<State>,
    /// Signalled when a batch is ready.
    ready: Condvar,
    /// Signalled when there is room for another, or no more are wanted.
    room: Condvar,
}

struct State {
    /// The next batch to begin.
    begin: u64,
    /// The next batch to hand out.
    hand_out: u64,
    finished: BTreeMap<u64, Batch>,
    stopped: bool,
}

impl Producer {
    /// Starts `threads` threads at batch `first`.
    pub fn start(maker: BatchMaker, first: u64, threads: usize, ahead: usize) -> Self {
        let state = State { begin: first, hand_out: first, finished: BTreeMap::new(), stopped: false };
        let shared = Arc::new(Shared {
            maker,
            ahead: ahead.max(1) as u64,
            state: Mutex::new(state),
            ready: Condvar::new(),
            room: Condvar::new(),
        });
        let work = |_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work())
        };
        let threads = (0..threads.max(1)).map(work).collect();
        Self { shared, threads }
    }
}

impl Iterator for Producer {
    type Item = Batch;

    /// The next batch; there is always one.
    fn next(&mut self) -> Option<Batch> {
        let mut state = self.shared.lock();
        let number = state.hand_out;
        loop {
            if let Some(batch) = state.finished.remove(&number) {
                state.hand_out += 1;
                self.shared.room.notify_all();
                return Some(batch);
            }
            // A maker that died would leave us waiting for ever.
            if self.threads.iter().all(JoinHandle::is_finished) {
                return None;
            }
            state = self.shared.ready.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.room.notify_all();
        for thread in self.threads.drain(..) {
            // A panic in a thread has been printed already.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes batches until it is told to stop.
    fn work(&self) {
        while let Some(number) = self.begin() {
            let batch = self.maker.batch(number);
            self.lock().finished.insert(number, batch);
            self.ready.notify_all();
        }
    }

    /// Waits for room; `None` when no more batches are wanted.
    fn begin(&self) -> Option<u64> {
        let mut state = self.lock();
        while !state.stopped && state.begin >= state.hand_out + self.ahead {
            state = self.room.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.begin += 1;
        (!state.stopped).then_some(state.begin - 1)
    }
}
