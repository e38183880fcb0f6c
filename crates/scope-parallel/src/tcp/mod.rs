//! Ranks that are processes, on one machine or on many: a connection between every two of them.
//!
//! A thread a peer takes in whatever comes, so that no rank ever waits for another to listen, and a heartbeat every few
//! seconds tells that a rank which computes for long is there. One that is silent for half a minute is lost, and so is
//! one whose connection breaks, which is noticed at once.

mod frame;
mod rendezvous;

use std::{
    net::TcpStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use crate::{
    communicator::Communicator,
    error::ParallelError,
    launch::Launch,
    mailbox::{Mailbox, News},
};
use frame::Frame;

/// How often a rank tells that it is there.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A rank that is silent for so long, or takes in nothing, is lost.
const SILENCE: Duration = Duration::from_secs(30);
/// How long ranks wait for each other to start.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long a process has to notice a lost rank by itself.
const NOTICE: Duration = Duration::from_secs(15);

/// What is called when a rank is lost and the process does not notice.
type Alarm = Box<dyn Fn(&str) + Send>;

/// Whether the connections are in use, and what to call when one breaks.
#[derive(Default)]
struct Watch {
    closed: AtomicBool,
    alarm: Mutex<Option<Alarm>>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "closed: {:?}", self.closed)
    }
}

/// A process among several, connected with all others.
#[derive(Debug)]
pub struct Tcp {
    watch: Arc<Watch>,
    mailbox: Mailbox,
    /// The connection with each rank but this one.
    peers: Vec<Option<Peer>>,
    /// Ends the heartbeat when it is dropped.
    _alive: Sender<()>,
}

type Peer = Arc<Mutex<TcpStream>>;

fn locked(peer: &Peer) -> MutexGuard<'_, TcpStream> {
    peer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tcp {
    /// Meets the other processes of a launch, which must all do so within five minutes.
    pub fn connect(launch: &Launch) -> Result<Self, ParallelError> {
        let failed = |reason: std::io::Error| ParallelError::Rendezvous {
            size: launch.size,
            address: launch
                .rendezvous
                .as_ref()
                .map_or_else(String::new, |at| format!("{}:{}", at.host, at.port)),
            reason: reason.to_string(),
        };
        let streams = match launch.size {
            1 => vec![None],
            _ => rendezvous::meet(launch, launch.require_rendezvous()?, PATIENCE).map_err(failed)?,
        };
        let watch = Arc::new(Watch::default());
        let (mailbox, news) = Mailbox::new(launch.rank, launch.size);
        let mut peers = Vec::new();
        for (rank, stream) in streams.into_iter().enumerate() {
            let Some(stream) = stream else {
                peers.push(None);
                continue;
            };
            stream.set_nodelay(true).map_err(failed)?;
            stream.set_read_timeout(Some(SILENCE)).map_err(failed)?;
            stream.set_write_timeout(Some(SILENCE)).map_err(failed)?;
            let incoming = stream.try_clone().map_err(failed)?;
            let news = news.clone();
            let watch = Arc::clone(&watch);
            thread::Builder::new()
                .name(format!("rank {rank}"))
                .spawn(move || take_in(rank, incoming, &news, &watch))
                .map_err(failed)?;
            peers.push(Some(Arc::new(Mutex::new(stream))));
        }
        let alive = start_heartbeat(peers.iter().flatten().cloned().collect()).map_err(failed)?;
        Ok(Self { watch, mailbox, peers, _alive: alive })
    }

    /// Calls a function with a sentence when a rank is lost and this process, busy with something that waits for that
    /// very rank, has not noticed fifteen seconds later: it may end the process.
    pub fn when_lost(&self, alarm: impl Fn(&str) + Send + 'static) {
        let mut kept = self.watch.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Box::new(alarm));
    }
}

/// Puts what a peer sends into the mailbox, until it ends or nobody reads it.
fn take_in(rank: usize, mut stream: TcpStream, news: &Sender<(usize, News)>, watch: &Watch) {
    let why = loop {
        let heard = match Frame::read(&mut stream) {
            Ok(Frame::Heartbeat) => continue,
            Ok(Frame::Message { exchange, bytes }) => News::Message { exchange, bytes },
            Ok(Frame::Abort(why)) => News::Abort(why),
            Err(error) => News::Lost(frame::described(&error, SILENCE)),
        };
        let why = match &heard {
            News::Message { .. } => None,
            News::Abort(why) => Some(format!("rank {rank} has stopped: {why}")),
            News::Lost(reason) => Some(format!("rank {rank} is lost: {reason}")),
        };
        if news.send((rank, heard)).is_err() {
            return;
        }
        if let Some(why) = why {
            break why;
        }
    };
    thread::sleep(NOTICE);
    let alarm = watch.alarm.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(alarm) = alarm.as_ref().filter(|_| !watch.closed.load(Ordering::Relaxed)) {
        alarm(&why);
    }
}

/// Tells all peers every few seconds that this rank is there, until the sender that is returned is dropped.
fn start_heartbeat(peers: Vec<Peer>) -> std::io::Result<Sender<()>> {
    let (alive, ended) = mpsc::channel();
    thread::Builder::new().name("heartbeat".to_owned()).spawn(move || {
        while ended.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
            for peer in &peers {
                // Whoever cannot be told is found out by whoever needs it.
                let _ = Frame::Heartbeat.write(&mut *locked(peer));
            }
        }
    })?;
    Ok(alive)
}

impl Communicator for Tcp {
    fn rank(&self) -> usize {
        self.mailbox.rank()
    }

    fn size(&self) -> usize {
        self.mailbox.size()
    }

    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let rank = self.rank();
        let size = self.size();
        let exchange = self.mailbox.exchange();
        // Each begins with its neighbour, so that not all write to one at once.
        for to in (1..size).map(|step| (rank + step) % size) {
            let Some(peer) = &self.peers[to] else { continue };
            let written = frame::write_message(&mut *locked(peer), exchange, messages[to]);
            if let Err(error) = written {
                return Err(self.mailbox.why_unreachable(to, frame::described(&error, SILENCE)));
            }
        }
        self.mailbox.collect(messages[rank])
    }

    fn abort(&mut self, why: &str) {
        for peer in self.peers.iter().flatten() {
            // The rank ends anyway; whoever does not hear of it notices.
            let _ = Frame::Abort(why.to_owned()).write(&mut *locked(peer));
        }
    }
}

impl Drop for Tcp {
    /// Closes the connections, so that the threads which take in what comes end too.
    fn drop(&mut self) {
        self.watch.closed.store(true, Ordering::Relaxed);
        for peer in self.peers.iter().flatten() {
            let _ = locked(peer).shutdown(std::net::Shutdown::Write);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::{
        communicator::{all_gather, broadcast},
        launch::Rendezvous,
    };

    /// Ranks that are threads of this test, each connected as a process would be.
    fn on_ranks<T: Send>(size: usize, work: impl Fn(Tcp) -> T + Sync) -> Vec<T> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let rendezvous = Some(Rendezvous { host: "127.0.0.1".to_owned(), port: free });
        thread::scope(|scope| {
            let started: Vec<_> = (0..size)
                .map(|rank| {
                    let work = &work;
                    let launch = Launch {
                        rank,
                        size,
                        local_rank: rank,
                        local_size: size,
                        rendezvous: rendezvous.clone(),
                    };
                    scope.spawn(move || work(Tcp::connect(&launch).unwrap()))
                })
                .collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn messages_larger_than_any_buffer_arrive_in_order() {
        let got = on_ranks(3, |mut rank| {
            let me = rank.rank();
            let large = vec![me as u8; 8 << 20];
            let first = all_gather(&mut rank, &large).unwrap();
            let second = broadcast(&mut rank, b"again").unwrap();
            first.iter().enumerate().all(|(from, bytes)| *bytes == vec![from as u8; 8 << 20])
                && second == b"again"
        });
        assert_eq!(got, [true; 3]);
    }

    #[test]
    fn a_rank_that_ends_is_noticed_at_once_and_what_it_said_is_told() {
        let said = |why: Option<&str>| {
            let mut errors = on_ranks(2, |mut rank| {
                all_gather(&mut rank, &[]).unwrap();
                if rank.rank() == 0 {
                    return all_gather(&mut rank, &[1]).unwrap_err().to_string();
                }
                why.into_iter().for_each(|why| rank.abort(why));
                String::new()
            });
            errors.swap_remove(0)
        };
        assert_eq!(said(Some("the disk is full")), "rank 1 of 2 has stopped: the disk is full");
        assert_eq!(said(None), "rank 1 of 2 is lost: its connection is closed: the process has ended");
    }

    #[test]
    fn ranks_of_other_launches_are_refused_and_strangers_ignored() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = Rendezvous { host: "127.0.0.1".to_owned(), port: free };
        let launch =
            |rank, size| Launch { rank, size, local_rank: 0, local_size: 1, rendezvous: Some(at.clone()) };
        thread::scope(|scope| {
            let first = scope.spawn(|| Tcp::connect(&launch(0, 2)).map(|_| ()));
            let stranger = loop {
                if let Ok(stream) = TcpStream::connect(("127.0.0.1", free)) {
                    break stream;
                }
                thread::yield_now();
            };
            drop(stranger);
            let other = Tcp::connect(&launch(2, 3)).map(|_| ()).unwrap_err().to_string();
            assert!(other.contains("3 processes"), "{other}");
            assert!(other.contains("rank 0 has been told that there are 2"), "{other}");
            let second = Tcp::connect(&launch(1, 2));
            assert!(second.is_ok() && first.join().unwrap().is_ok());
        });
    }
}
