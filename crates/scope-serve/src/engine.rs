//! The engine: one thread that computes fields, and the bounded queue before it.

use std::{
    collections::BTreeMap,
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use axum::http::StatusCode;
use scope::{Recovered, RecoveryError, data::Fields, recovery::Problem};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use crate::{metrics::Metrics, models::Models, refusal::Refusal};

/// A problem that waits.
struct Job {
    model: usize,
    problem: Problem,
    reply: Reply,
}

/// What is wanted of a problem, and where. No more than that is computed.
enum Reply {
    /// Both fields.
    Fields(Sender<Fields>),
    /// And all that is said of them.
    Everything(Sender<Recovered>),
}

type Sender<T> = oneshot::Sender<Result<T, Refusal>>;

/// The way to the engine. The engine ends once all that wait are served and the last of these is gone.
#[derive(Clone)]
pub(crate) struct Queue(mpsc::Sender<Job>);

impl Queue {
    /// Starts the engine, which recovers at most `together` problems at once.
    pub(crate) fn start(
        length: usize,
        together: usize,
        models: Arc<Models>,
        metrics: Arc<Metrics>,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (sender, mut waiting) = mpsc::channel(length);
        let work = move || {
            let mut jobs = Vec::with_capacity(together);
            while waiting.blocking_recv_many(&mut jobs, together) > 0 {
                serve(&models, &metrics, std::mem::take(&mut jobs));
            }
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work)?;
        Ok((Self(sender), thread))
    }

    /// Fields of problems of one model, in order. All of them are taken, or none where the queue is too full.
    pub(crate) async fn fields(&self, model: usize, problems: Vec<Problem>) -> Result<Vec<Fields>, Refusal> {
        self.answers(model, problems, Reply::Fields).await
    }

    /// The same with all that is said of them.
    pub(crate) async fn recover(
        &self,
        model: usize,
        problems: Vec<Problem>,
    ) -> Result<Vec<Recovered>, Refusal> {
        self.answers(model, problems, Reply::Everything).await
    }

    async fn answers<T>(
        &self,
        model: usize,
        problems: Vec<Problem>,
        to: fn(Sender<T>) -> Reply,
    ) -> Result<Vec<T>, Refusal> {
        let permits = self.0.try_reserve_many(problems.len()).map_err(|error| match error {
            TrySendError::Full(()) => {
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests wait already: ask again later")
            }
            TrySendError::Closed(()) => Refusal::no_engine(),
        })?;
        let mut answers = Vec::with_capacity(problems.len());
        for (permit, problem) in permits.zip(problems) {
            let (reply, answer) = oneshot::channel();
            permit.send(Job { model, problem, reply: to(reply) });
            answers.push(answer);
        }
        let mut all = Vec::with_capacity(answers.len());
        for answer in answers {
            all.push(answer.await.map_err(|_| Refusal::no_engine())??);
        }
        Ok(all)
    }

    /// How many problems wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.max_capacity() - self.0.capacity()
    }

    /// Whether there is an engine at its end.
    pub(crate) fn is_alive(&self) -> bool {
        !self.0.is_closed()
    }

    /// One whose engine has ended, as after a panic.
    #[cfg(test)]
    pub(crate) fn without_engine() -> Self {
        Self(mpsc::channel(1).0)
    }
}

/// Answers what was taken: the problems of each model together, those of which fields alone are wanted before the
/// others.
fn serve(models: &Models, metrics: &Metrics, jobs: Vec<Job>) {
    let mut fields = BTreeMap::new();
    let mut everything = BTreeMap::new();
    for Job { model, problem, reply } in jobs {
        match reply {
            Reply::Fields(reply) => wait_for(&mut fields, model, problem, reply),
            Reply::Everything(reply) => wait_for(&mut everything, model, problem, reply),
        }
    }
    for (model, waiting) in fields {
        let recovery = &models.at(model).recovery;
        answer(metrics, waiting, |problems| recovery.fields_of_all(problems, &|_| true));
    }
    for (model, waiting) in everything {
        let recovery = &models.at(model).recovery;
        answer(metrics, waiting, |problems| recovery.recover_all(problems, &|_| true));
    }
}

/// Problems of one model of which the same is wanted.
type Waiting<T> = Vec<(Problem, Sender<T>)>;

/// Puts a problem with those of its model; not where nobody waits any more, because it took too long or the client has
/// gone.
fn wait_for<T>(all: &mut BTreeMap<usize, Waiting<T>>, model: usize, problem: Problem, reply: Sender<T>) {
    if !reply.is_closed() {
        all.entry(model).or_default().push((problem, reply));
    }
}

/// Computes problems together, or one by one where that fails, so that none suffers from another.
fn answer<T>(
    metrics: &Metrics,
    waiting: Waiting<T>,
    compute: impl Fn(Vec<Problem>) -> Result<Vec<T>, RecoveryError>,
) {
    let (problems, replies): (Vec<Problem>, Vec<Sender<T>>) = waiting.into_iter().unzip();
    metrics.count_batch(problems.len());
    let answers: Vec<Result<T, Refusal>> = match compute(problems.clone()) {
        Ok(all) => all.into_iter().map(Ok).collect(),
        Err(_) => {
            let one = |problem| compute(vec![problem]).map(|mut all| all.remove(0)).map_err(Refusal::fault);
            problems.into_iter().map(one).collect()
        }
    };
    for (reply, answer) in replies.into_iter().zip(answers) {
        // A client that has gone meanwhile needs no answer.
        let _ = reply.send(answer);
    }
}
