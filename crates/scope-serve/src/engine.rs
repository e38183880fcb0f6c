//! The engine: one thread that computes fields, and the bounded queue before it.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
};

use axum::http::StatusCode;
use scope::{Recovered, RecoveryError, recovery::Problem};
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use crate::{metrics::Metrics, models::Models, refusal::Refusal};

/// A problem that waits, and where its fields are wanted.
struct Job {
    model: usize,
    problem: Problem,
    reply: oneshot::Sender<Result<Recovered, Refusal>>,
}

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
    pub(crate) async fn recover(
        &self,
        model: usize,
        problems: Vec<Problem>,
    ) -> Result<Vec<Recovered>, Refusal> {
        let permits = self.0.try_reserve_many(problems.len()).map_err(|error| match error {
            TrySendError::Full(()) => {
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests wait already: ask again later")
            }
            TrySendError::Closed(()) => Refusal::stopping(),
        })?;
        let mut replies = Vec::with_capacity(problems.len());
        for (permit, problem) in permits.zip(problems) {
            let (reply, answer) = oneshot::channel();
            permit.send(Job { model, problem, reply });
            replies.push(answer);
        }
        let mut all = Vec::with_capacity(replies.len());
        for reply in replies {
            all.push(reply.await.map_err(|_| Refusal::stopping())??);
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
}

/// Recovers what was taken: the problems of each model together.
fn serve(models: &Models, metrics: &Metrics, mut jobs: Vec<Job>) {
    // Nobody waits any more for what took too long, or was asked for by a client that has gone.
    jobs.retain(|job| !job.reply.is_closed());
    jobs.sort_by_key(|job| job.model);
    while let Some(model) = jobs.first().map(|job| job.model) {
        let others = jobs.split_off(jobs.partition_point(|job| job.model == model));
        let (problems, replies): (Vec<_>, Vec<_>) =
            std::mem::replace(&mut jobs, others).into_iter().map(|job| (job.problem, job.reply)).unzip();
        metrics.count_batch(problems.len());
        for (reply, recovered) in replies.into_iter().zip(recover(models, model, problems)) {
            // A client that has gone meanwhile needs no answer.
            let _ = reply.send(recovered);
        }
    }
}

/// Recovers problems together, or one by one where that fails, so that none suffers from another.
fn recover(models: &Models, model: usize, problems: Vec<Problem>) -> Vec<Result<Recovered, Refusal>> {
    let recovery = &models.at(model).recovery;
    let refuse = |error: RecoveryError| Refusal::fault(error);
    if let Ok(all) = recovery.recover_all(problems.clone(), &|_| true) {
        return all.into_iter().map(Ok).collect();
    }
    let one = |problem| recovery.recover_all(vec![problem], &|_| true).map(|mut all| all.remove(0));
    problems.into_iter().map(|problem| one(problem).map_err(refuse)).collect()
}
