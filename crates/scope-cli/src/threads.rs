//! Threads for work in parallel, as many as the system allows: under a limit (`ulimit -u`, a container's) fewer than
//! asked for, or none beside the one that is there. Results do not depend on their number.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::terminal::notice;

/// Threads that work is run on: its own, or those that the program has anyway.
pub(crate) struct Threads(Option<ThreadPool>);

impl Threads {
    /// Threads of the work's own if a number is named.
    pub(crate) fn start(count: Option<usize>) -> Self {
        let threads = Self(count.and_then(|count| at_most(count, build)));
        if let Some(count) = count {
            tell(threads.count().min(count), count);
        }
        threads
    }

    /// The number of threads.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads)
    }

    /// Runs work on them.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }
}

/// Runs the program's work with threads for everything that asks for none of its own: all cores', or as many as there
/// may be.
pub(crate) fn with_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if ThreadPoolBuilder::new().build_global().is_ok() {
        return work();
    }
    let wanted = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = at_most(wanted, build);
    tell(pool.as_ref().map_or(1, ThreadPool::current_num_threads), wanted);
    if let Some(pool) = pool {
        return pool.install(work);
    }
    // The thread that is here becomes a pool: work in parallel then has a place to be run in.
    let _here = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    work()
}

/// So many threads; where they are refused, half as many and so on, and none at last.
fn at_most(count: usize, build: impl Fn(usize) -> Option<ThreadPool>) -> Option<ThreadPool> {
    let fewer = std::iter::successors(Some(count), |count| Some(count / 2));
    fewer.take_while(|count| *count > 0).find_map(build)
}

fn build(count: usize) -> Option<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(count).build().ok()
}

/// Tells of fewer threads than were wanted.
fn tell(got: usize, wanted: usize) {
    if got < wanted {
        notice(&format!("the system allows {got} of {wanted} threads: the work takes longer"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_threads_are_done_without() {
        let allow = |most: usize| {
            let threads = at_most(8, |count| if count <= most { build(count) } else { None });
            threads.map(|pool| pool.current_num_threads())
        };
        assert_eq!([9, 8, 5, 3, 1, 0].map(allow), [Some(8), Some(8), Some(4), Some(2), Some(1), None]);
    }
}
