//! Threads for work in parallel, as many as the system allows: under a limit (`ulimit -u`, a container's) fewer than asked for,
//! or none beside the one that is there. Results do not depend on their number.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::terminal::notice;

/// Threads that work is run on; without any of its own, where it is called.
pub(crate) struct Threads(Option<ThreadPool>);

impl Threads {
    /// Starts threads: all cores' where no number is named.
    pub(crate) fn start(count: Option<usize>) -> Self {
        Self::with(count, |count| ThreadPoolBuilder::new().num_threads(count).build().ok())
    }

    /// The same with threads that `build` starts, all cores' for zero. Where they are refused, half as many are asked for.
    fn with(count: Option<usize>, build: impl Fn(usize) -> Option<ThreadPool>) -> Self {
        if let Some(pool) = build(count.unwrap_or(0)) {
            return Self(Some(pool));
        }
        let wanted = count.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let fewer = std::iter::successors(Some(wanted / 2), |count| Some(count / 2));
        let pool = fewer.take_while(|count| *count > 0).find_map(build);
        let got = pool.as_ref().map_or(1, ThreadPool::current_num_threads);
        notice(&format!("the system allows {got} of {wanted} threads: the work takes longer"));
        Self(pool)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads)
    }

    /// Runs work on them.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// Runs the program's work with threads for everything that asks for none of its own.
pub(crate) fn with_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if ThreadPoolBuilder::new().build_global().is_ok() {
        return work();
    }
    let threads = Threads::start(None);
    // Without a thread, the one that is here becomes a pool: work in parallel then has a place to be run in.
    let here = match &threads.0 {
        None => ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok(),
        Some(_) => None,
    };
    let outcome = threads.install(work);
    drop(here);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_threads_are_done_without() {
        let allow = |most: usize| {
            Threads::with(Some(8), move |count| {
                (count <= most).then(|| ThreadPoolBuilder::new().num_threads(count).build().unwrap())
            })
        };
        assert_eq!([8, 5, 3, 1].map(|most| allow(most).count()), [8, 4, 2, 1]);
        let none = allow(0);
        assert!(none.0.is_none());
        assert_eq!(none.install(|| 7), 7);
    }
}
