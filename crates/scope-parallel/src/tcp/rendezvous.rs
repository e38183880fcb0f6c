//! How ranks find each other: all come to rank 0, learn where the others listen, and connect with those before them.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    thread,
    time::{Duration, Instant},
};

use crate::launch::{Launch, Rendezvous};

/// What a rank says first; anyone who says something else is a stranger.
const GREETING: &[u8; 8] = b"SCOPE r1";
/// How long a stranger may keep others waiting.
const STRANGER: Duration = Duration::from_secs(2);
/// Between two attempts to reach rank 0, or to see who has come.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest text of a refusal, and of the list of all ranks.
const MOST_TEXT: u64 = 1 << 24;

/// Who comes to whom.
#[derive(Clone, Copy, Debug)]
struct Greeting {
    rank: usize,
    size: usize,
    /// Where it listens.
    port: u16,
    /// What rank 0 gave to all of this launch; zero for who comes to rank 0.
    launch: u64,
}

impl Greeting {
    fn write(&self, to: &mut TcpStream) -> io::Result<()> {
        let words = [self.rank as u64, self.size as u64, u64::from(self.port), self.launch];
        to.write_all(&[&GREETING[..], &words.map(u64::to_le_bytes).concat()].concat())
    }

    fn read(from: &mut TcpStream) -> io::Result<Self> {
        let mut bytes = [0; 40];
        from.set_read_timeout(Some(STRANGER))?;
        from.read_exact(&mut bytes)?;
        let word = |k: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 + 8 * k + byte]));
        let port = u16::try_from(word(2)).ok().filter(|_| bytes.starts_with(GREETING));
        let port = port.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "a stranger"))?;
        Ok(Self { rank: word(0) as usize, size: word(1) as usize, port, launch: word(3) })
    }
}

/// A connection with every other rank, by rank.
pub(super) fn meet(
    launch: &Launch,
    at: &Rendezvous,
    patience: Duration,
) -> io::Result<Vec<Option<TcpStream>>> {
    let deadline = Instant::now() + patience;
    if launch.rank == 0 { receive(launch, at, deadline) } else { join(launch, at, deadline) }
}

/// Rank 0: takes in all others, and tells each where all are.
fn receive(launch: &Launch, at: &Rendezvous, deadline: Instant) -> io::Result<Vec<Option<TcpStream>>> {
    let listener = listen(resolved(at)?.ip(), at.port)?;
    let mut streams: Vec<Option<TcpStream>> = (0..launch.size).map(|_| None).collect();
    let mut places = vec![String::new(); launch.size];
    while streams[1..].iter().any(Option::is_none) {
        let missing = || {
            let ranks = (1..launch.size).filter(|rank| streams[*rank].is_none());
            let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
            format!("nobody came as rank {}", ranks.join(", "))
        };
        let (mut stream, from) = accept(&listener, deadline, missing)?;
        let Ok(greeting) = Greeting::read(&mut stream) else { continue };
        let Greeting { rank, size, port, .. } = greeting;
        let refusal = match streams.get(rank) {
            _ if size != launch.size => Some(format!("rank 0 has been told that there are {}", launch.size)),
            Some(None) if rank > 0 => None,
            _ => Some(format!("somebody else came as rank {rank} before")),
        };
        if let Some(refusal) = refusal {
            let _ = write_text(&mut stream, &format!("!{refusal}"));
            continue;
        }
        places[rank] = SocketAddr::new(from.ip(), port).to_string();
        streams[rank] = Some(stream);
    }
    let told = format!("{} {}", launch_number(&places), places[1..].join(" "));
    for stream in streams.iter_mut().flatten() {
        write_text(stream, &told)?;
    }
    Ok(streams)
}

/// Any other rank: goes to rank 0, then to those before it, and takes in those after it.
fn join(launch: &Launch, at: &Rendezvous, deadline: Instant) -> io::Result<Vec<Option<TcpStream>>> {
    let mut streams: Vec<Option<TcpStream>> = (0..launch.size).map(|_| None).collect();
    let mut first = reach(|| resolved(at), deadline)?;
    let here = first.local_addr()?.ip();
    let listener = listen(here, 0)?;
    let port = listener.local_addr()?.port();
    let Launch { rank, size, .. } = *launch;
    Greeting { rank, size, port, launch: 0 }.write(&mut first)?;
    first.set_read_timeout(Some(deadline.saturating_duration_since(Instant::now()).max(PAUSE)))?;
    let told = read_text(&mut first)?;
    if let Some(refusal) = told.strip_prefix('!') {
        return Err(io::Error::other(refusal.to_owned()));
    }
    streams[0] = Some(first);
    let garbled = || io::Error::new(ErrorKind::InvalidData, "what rank 0 told makes no sense");
    let mut words = told.split(' ');
    let launch: u64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(garbled)?;
    let places: Vec<SocketAddr> = words.filter_map(|word| word.parse().ok()).collect();
    if places.len() != size - 1 {
        return Err(garbled());
    }
    for (other, place) in (1..rank).zip(places) {
        let mut stream = reach(|| Ok(place), deadline)?;
        Greeting { rank, size, port, launch }.write(&mut stream)?;
        streams[other] = Some(stream);
    }
    while streams.iter().skip(rank + 1).any(Option::is_none) {
        let (mut stream, _) =
            accept(&listener, deadline, || "not all ranks connected with this one".to_owned())?;
        match Greeting::read(&mut stream) {
            Ok(greeting) if greeting.launch == launch && (rank + 1..size).contains(&greeting.rank) => {
                streams[greeting.rank] = Some(stream);
            }
            _ => {}
        }
    }
    Ok(streams)
}

/// A number that ranks of another launch do not know, made of where all are and of the moment.
fn launch_number(places: &[String]) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let text = format!("{} {} {}", places.join(" "), std::process::id(), now.as_nanos());
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes().iter().take(8).fold(1, |number, byte| number << 8 | u64::from(*byte))
}

fn resolved(at: &Rendezvous) -> io::Result<SocketAddr> {
    let unknown = || io::Error::new(ErrorKind::NotFound, format!("{} has no address", at.host));
    (at.host.as_str(), at.port).to_socket_addrs()?.next().ok_or_else(unknown)
}

/// Listens where the address is reached: on this machine alone if that is where it leads, else from everywhere, since a
/// name may be of a service that passes connections on.
fn listen(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let all = match address {
        _ if address.is_loopback() => address,
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let listener = TcpListener::bind((all, port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Waits for a connection; `missing` says what is missing when none comes.
fn accept(
    listener: &TcpListener,
    deadline: Instant,
    missing: impl Fn() -> String,
) -> io::Result<(TcpStream, SocketAddr)> {
    loop {
        match listener.accept() {
            Ok((stream, from)) => {
                stream.set_nonblocking(false)?;
                return Ok((stream, from));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if Instant::now() >= deadline {
                    return Err(io::Error::new(ErrorKind::TimedOut, missing()));
                }
                thread::sleep(PAUSE);
            }
            // A connection that was given up before it was taken.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Connects with someone who may not listen yet, or not be known by name yet.
fn reach(place: impl Fn() -> io::Result<SocketAddr>, deadline: Instant) -> io::Result<TcpStream> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        match place().and_then(|place| TcpStream::connect_timeout(&place, left)) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn write_text(to: &mut TcpStream, text: &str) -> io::Result<()> {
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

fn read_text(from: &mut TcpStream) -> io::Result<String> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_TEXT {
        return Err(io::Error::new(ErrorKind::InvalidData, "what rank 0 told is too long"));
    }
    let mut text = String::new();
    from.take(length).read_to_string(&mut text)?;
    Ok(text)
}
