//! Batches made ahead of time on background threads.

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle},
};

use scope_pde::GridShape;

use super::batches::Schedule;
use crate::{
    observation::{Condition, MaskSampler, Namespace, ReadingNoise, words_for},
    record_region::RecordRegion,
};

/// A batch without its floats, which are gathered where they are used.
#[derive(Clone, Debug, PartialEq)]
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
    /// How readings are off; none where no draw ever has noise.
    pub noise: Option<BatchNoise>,
}

impl Batch {
    /// Some of its rows.
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let words = self.bits.len() / (2 * self.records.len()).max(1);
        let cut = |words: usize| rows.start * words..rows.end * words;
        Self {
            number: self.number,
            condition: self.condition,
            records: self.records[rows.clone()].to_vec(),
            bits: self.bits[cut(2 * words)].to_vec(),
            noise: self.noise.as_ref().map(|noise| BatchNoise {
                rows: noise.rows[cut(2)].to_vec(),
                exact: noise.exact[cut(words)].to_vec(),
            }),
        }
    }
}

/// The noise of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchNoise {
    /// \[B, 2\]: of a and u of each record.
    pub rows: Vec<ReadingNoise>,
    /// \[B, words\]: points that come with the problem and are exact: a known disk.
    pub exact: Vec<u64>,
}

/// Makes the batches of training: a schedule, a sampler of masks, and where records are known by themselves.
#[derive(Debug)]
pub struct BatchMaker {
    /// Which records and conditions.
    pub schedule: Schedule,
    /// Which points.
    pub sampler: MaskSampler,
    /// One a record for problems whose records have regions of their own, else empty.
    pub regions: Vec<RecordRegion>,
    /// Grid points along each axis.
    pub shape: GridShape,
}

impl BatchMaker {
    /// The batch of a number: a pure function.
    pub fn batch(&self, number: u64) -> Batch {
        let plan = self.schedule.plan(number);
        let mut bits = Vec::with_capacity(plan.draws.len() * 2 * words_for(self.shape));
        let mix = self.schedule.mix().filter(|mix| mix.is_noisy());
        let mut noise = mix.map(|_| BatchNoise::default());
        for &(record, draw) in &plan.draws {
            let namespace = Namespace::Train { draw };
            let number = record as u64;
            let masks = self.sampler.masks(namespace, number, plan.condition, self.regions.get(record));
            masks.seen.iter().for_each(|mask| bits.extend_from_slice(mask.words()));
            if let Some((mix, noise)) = mix.zip(noise.as_mut()) {
                noise.rows.extend(mix.noise_of(&self.sampler, namespace, number, plan.condition));
                noise.exact.extend_from_slice(masks.given.words());
            }
        }
        let records = plan.draws.into_iter().map(|(record, _)| record).collect();
        Batch { number, condition: plan.condition, records, bits, noise }
    }
}

/// Hands out batches in order, while threads make the next ones. At most `ahead` batches wait.
pub struct Producer {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Makes the batch of a number.
type Make = dyn Fn(u64) -> Batch + Send + Sync;

struct Shared {
    make: Box<Make>,
    ahead: u64,
    state: Mutex<State>,
    /// Signalled when a batch is ready, or none will be.
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
    /// The first batch that will never be: a thread has died making it, or there is no number after it.
    lost: u64,
    /// No more batches are wanted.
    stopped: bool,
}

impl Producer {
    /// Starts `threads` threads at batch `first`. A system that refuses threads gets fewer; without any, batches are
    /// made where they are asked for.
    pub fn start(maker: BatchMaker, first: u64, threads: usize, ahead: usize) -> Self {
        let spawn =
            |work: Box<dyn FnOnce() + Send>| thread::Builder::new().name("batches".into()).spawn(work);
        Self::with(Box::new(move |number| maker.batch(number)), first, threads, ahead, spawn)
    }

    /// The same for anything that makes batches, on threads that `spawn` starts.
    fn with(
        make: Box<Make>,
        first: u64,
        threads: usize,
        ahead: usize,
        spawn: impl Fn(Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>>,
    ) -> Self {
        let finished = BTreeMap::new();
        let state = State { begin: first, hand_out: first, finished, lost: u64::MAX, stopped: false };
        let shared = Arc::new(Shared {
            make,
            ahead: ahead.max(1) as u64,
            state: Mutex::new(state),
            ready: Condvar::new(),
            room: Condvar::new(),
        });
        let work = |_| {
            let shared = Arc::clone(&shared);
            spawn(Box::new(move || shared.work())).ok()
        };
        let threads = (0..threads.max(1)).map_while(work).collect();
        Self { shared, threads }
    }
}

impl Iterator for Producer {
    type Item = Batch;

    /// The next batch; none after a thread has died making it, or when there are no more numbers.
    fn next(&mut self) -> Option<Batch> {
        if self.threads.is_empty() {
            let number = self.shared.begin()?;
            let batch = (self.shared.make)(number);
            self.shared.lock().hand_out = number + 1;
            return Some(batch);
        }
        let mut state = self.shared.lock();
        let number = state.hand_out;
        loop {
            if let Some(batch) = state.finished.remove(&number) {
                state.hand_out += 1;
                self.shared.room.notify_all();
                return Some(batch);
            }
            if number >= state.lost {
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

/// Tells everyone when a thread dies making a batch: whoever waits for it would wait for ever.
struct Making<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.shared.lock();
            state.lost = state.lost.min(self.number);
            drop(state);
            self.shared.ready.notify_all();
            self.shared.room.notify_all();
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
            let making = Making { shared: self, number };
            let batch = (self.make)(number);
            drop(making);
            self.lock().finished.insert(number, batch);
            self.ready.notify_all();
        }
    }

    /// Waits for room; `None` when no more batches are wanted, or can be made.
    fn begin(&self) -> Option<u64> {
        let mut state = self.lock();
        let full = |state: &State| state.begin - state.hand_out >= self.ahead && state.begin < state.lost;
        while !state.stopped && full(&state) {
            state = self.room.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        let number = state.begin;
        if state.stopped || number >= state.lost {
            return None;
        }
        state.begin += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Family, Task};

    /// A batch that holds its own number.
    fn numbered(number: u64) -> Batch {
        let condition = Condition::new(Task::Forward, Family::UNIFORM, 500).unwrap();
        Batch { number, condition, records: Vec::new(), bits: vec![number], noise: None }
    }

    fn started(work: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().spawn(work)
    }

    fn numbers(producer: Producer) -> Vec<u64> {
        producer.map(|batch| batch.number).collect()
    }

    #[test]
    fn a_thread_that_dies_ends_the_batches_and_nobody_waits() {
        for threads in [1, 2, 3] {
            let make = |number: u64| {
                assert!(number < 5, "batch {number} cannot be made");
                numbered(number)
            };
            let got = numbers(Producer::with(Box::new(make), 0, threads, 4, started));
            assert_eq!(got, [0, 1, 2, 3, 4], "{threads} threads");
        }
    }

    #[test]
    fn batches_end_with_the_last_number() {
        for threads in [1, 2] {
            let producer = Producer::with(Box::new(numbered), u64::MAX - 3, threads, 8, started);
            assert_eq!(numbers(producer), [u64::MAX - 3, u64::MAX - 2, u64::MAX - 1], "{threads} threads");
        }
        assert_eq!(numbers(Producer::with(Box::new(numbered), u64::MAX, 2, 8, started)), [0; 0]);
    }

    /// As under a limit on the number of threads.
    #[test]
    fn refused_threads_are_done_without() {
        for allowed in [0, 1, 2] {
            let left = Mutex::new(allowed);
            let spawn = |work: Box<dyn FnOnce() + Send>| {
                let mut left = left.lock().unwrap();
                if *left == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                *left -= 1;
                started(work)
            };
            let producer = Producer::with(Box::new(numbered), 7, 4, 4, spawn);
            assert_eq!(producer.threads.len(), allowed);
            assert!(producer.take(20).map(|batch| batch.number).eq(7..27), "{allowed} threads");
        }
    }
}
