//! Ranks that are threads of one process, for tests and for programs that need no other process.

use std::sync::mpsc::Sender;

use crate::{
    communicator::Communicator,
    error::ParallelError,
    mailbox::{Mailbox, News},
};

/// One of the ranks of a process.
#[derive(Debug)]
pub struct Threads {
    mailbox: Mailbox,
    others: Vec<Sender<(usize, News)>>,
}

impl Threads {
    /// So many ranks, to be given to as many threads.
    pub fn ranks(size: usize) -> Vec<Self> {
        let (mailboxes, senders): (Vec<_>, Vec<_>) = (0..size).map(|rank| Mailbox::new(rank, size)).unzip();
        mailboxes.into_iter().map(|mailbox| Self { mailbox, others: senders.clone() }).collect()
    }

    /// Tells all others something; one that has ended hears nothing.
    fn tell(&self, news: impl Fn() -> News) {
        let rank = self.mailbox.rank();
        for other in self.others.iter().enumerate().filter(|(other, _)| *other != rank).map(|(_, to)| to) {
            let _ = other.send((rank, news()));
        }
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.mailbox.rank()
    }

    fn size(&self) -> usize {
        self.mailbox.size()
    }

    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let rank = self.rank();
        let exchange = self.mailbox.exchange();
        for (to, (sender, message)) in self.others.iter().zip(messages).enumerate() {
            let news = News::Message { exchange, bytes: message.to_vec() };
            if to != rank && sender.send((rank, news)).is_err() {
                return Err(self.mailbox.why_unreachable(to, "its thread has ended".to_owned()));
            }
        }
        self.mailbox.collect(messages[rank])
    }

    fn abort(&mut self, why: &str) {
        self.tell(|| News::Abort(why.to_owned()));
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.tell(|| News::Lost("its thread has ended".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::communicator::{all_gather, any, broadcast, first_unlike};

    /// What each rank's thread returns.
    fn on_ranks<T: Send>(size: usize, work: impl Fn(Threads) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let started: Vec<_> = Threads::ranks(size)
                .into_iter()
                .map(|rank| {
                    let work = &work;
                    scope.spawn(move || work(rank))
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn everyone_gets_what_was_meant_for_it() {
        let got = on_ranks(4, |mut rank| {
            let me = rank.rank() as u8;
            let messages: Vec<Vec<u8>> = (0..4_u8).map(|to| vec![me, to]).collect();
            let first = rank.exchange(&messages.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
            let gathered = all_gather(&mut rank, &vec![me; usize::from(me)]).unwrap();
            let told = broadcast(&mut rank, format!("from {me}").as_bytes()).unwrap();
            (first, gathered, told, any(&mut rank, [me == 2, false]).unwrap())
        });
        for (me, (first, gathered, told, wanted)) in got.into_iter().enumerate() {
            assert_eq!(first, (0..4_u8).map(|from| vec![from, me as u8]).collect::<Vec<_>>());
            assert_eq!(gathered, (0..4_u8).map(|from| vec![from; usize::from(from)]).collect::<Vec<_>>());
            assert_eq!((told.as_slice(), wanted), (&b"from 0"[..], [true, false]));
        }
    }

    #[test]
    fn whoever_says_something_else_is_named() {
        let found = |own: fn(usize) -> Vec<u8>| {
            on_ranks(3, move |mut rank| {
                let own = own(rank.rank());
                first_unlike(&mut rank, &own).map_err(|error| error.to_string())
            })
        };
        assert_eq!(found(|_| vec![7; 4]), [const { Ok(None) }; 3]);
        assert_eq!(found(|me| vec![u8::from(me == 2); 4]), [const { Ok(Some(2)) }; 3]);
        let said = found(|me| vec![0; 4 + usize::from(me == 1)]).swap_remove(0).unwrap_err();
        assert!(said.starts_with("rank 1 does something else than this one (it says 5 bytes"), "{said}");
    }

    #[test]
    fn whoever_ends_is_named_with_what_it_said() {
        let said = |why: Option<&str>| {
            let mut errors = on_ranks(2, |mut rank| {
                if rank.rank() == 0 {
                    return all_gather(&mut rank, &[]).unwrap_err().to_string();
                }
                why.into_iter().for_each(|why| rank.abort(why));
                String::new()
            });
            errors.swap_remove(0)
        };
        assert_eq!(said(Some("the data are gone")), "rank 1 of 2 has stopped: the data are gone");
        assert_eq!(said(None), "rank 1 of 2 is lost: its thread has ended");
    }
}
