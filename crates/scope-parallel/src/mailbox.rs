//! What has arrived at a rank: messages in the order of their exchanges, and who will send no more.

use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, Sender, channel},
};

use crate::error::ParallelError;

/// What a rank hears of another.
#[derive(Debug)]
pub(crate) enum News {
    /// Its message of an exchange, by number.
    Message { exchange: u64, bytes: Vec<u8> },
    /// It has said why it ends.
    Abort(String),
    /// It is not heard of any more.
    Lost(String),
}

/// News of all ranks, as they come.
#[derive(Debug)]
pub(crate) struct Mailbox {
    rank: usize,
    size: usize,
    /// The number of the next exchange.
    exchange: u64,
    news: Receiver<(usize, News)>,
    /// Messages of each rank that nobody has asked for yet.
    waiting: Vec<VecDeque<(u64, Vec<u8>)>>,
    /// Why a rank will send no more.
    ended: Vec<Option<ParallelError>>,
}

impl Mailbox {
    /// An empty one, and where news are put in.
    pub(crate) fn new(rank: usize, size: usize) -> (Self, Sender<(usize, News)>) {
        let (sender, news) = channel();
        let waiting = (0..size).map(|_| VecDeque::new()).collect();
        let ended = (0..size).map(|_| None).collect();
        (Self { rank, size, exchange: 0, news, waiting, ended }, sender)
    }

    /// The number of the exchange that begins now.
    pub(crate) fn exchange(&self) -> u64 {
        self.exchange
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Waits for everyone's message of this exchange; `own` is this rank's to itself. Fails as soon as a rank that
    /// still owes its message is known to have ended: one that has given it and ended since is found out in the next.
    pub(crate) fn collect(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let owes = |mailbox: &Self, rank: usize| rank != mailbox.rank && mailbox.waiting[rank].is_empty();
        while let Some(rank) = (0..self.size).find(|rank| owes(self, *rank)) {
            let ended = (0..self.size).find(|rank| owes(self, *rank) && self.ended[*rank].is_some());
            if let Some(error) = ended.and_then(|rank| self.ended[rank].take()) {
                return Err(error);
            }
            let Ok((from, news)) = self.news.recv() else {
                return Err(self.lost(rank, "its connection is closed".to_owned()));
            };
            self.take_in(from, news);
        }
        let mut messages = Vec::with_capacity(self.size);
        for rank in 0..self.size {
            let Some((exchange, bytes)) = self.waiting[rank].pop_front() else {
                messages.push(own.to_vec());
                continue;
            };
            if exchange != self.exchange {
                let problem = format!("it is at exchange {exchange} and this one at {}", self.exchange);
                return Err(ParallelError::OutOfStep { rank, problem });
            }
            messages.push(bytes);
        }
        self.exchange += 1;
        Ok(messages)
    }

    fn take_in(&mut self, from: usize, news: News) {
        let size = self.size;
        match news {
            News::Message { exchange, bytes } => self.waiting[from].push_back((exchange, bytes)),
            News::Abort(why) => {
                self.ended[from].get_or_insert(ParallelError::Stopped { rank: from, size, why });
            }
            News::Lost(reason) => {
                let lost = self.lost(from, reason);
                self.ended[from].get_or_insert(lost);
            }
        }
    }

    fn lost(&self, rank: usize, reason: String) -> ParallelError {
        ParallelError::Lost { rank, size: self.size, reason }
    }

    /// What is known of a rank that could not be sent anything: what it said itself, if it said anything.
    pub(crate) fn why_unreachable(&mut self, rank: usize, reason: String) -> ParallelError {
        while let Ok((from, news)) = self.news.try_recv() {
            self.take_in(from, news);
        }
        let said = self.ended[rank].take();
        said.unwrap_or_else(|| self.lost(rank, reason))
    }
}
