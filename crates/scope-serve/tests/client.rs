//! A service on a free port, and requests to it as bytes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use scope::{Device, model::Catalogue};
use scope_serve::{Limits, Models, Options, ServeError, Server};

/// The shipped Poisson model, alone in a catalogue.
pub(crate) fn models() -> Models {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut found = Catalogue::new(vec![folder], Vec::new()).list().unwrap().models;
    found.retain(|found| found.name() == Some("poisson"));
    Models::load(&found, &Device::cpu(1)).unwrap()
}

/// A service that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    pub(crate) fn start(limits: Limits, token: Option<&str>) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = Options { address, token: token.map(str::to_owned), limits };
        let server = Server::bind(options, models(), &Device::cpu(1)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let address = server.address();
        let run = move || server.run(|| asked.load(Ordering::Relaxed));
        Self { address, stop, thread: Some(std::thread::spawn(run)) }
    }

    pub(crate) fn ask_to_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn post(&self, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        self.send("POST", path, headers, body)
    }

    pub(crate) fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.send("GET", path, headers, b"")
    }

    fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: scope\r\nconnection: close\r\n");
        headers.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        // A body that is refused unread may end the connection.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask_to_stop();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(Ok(())))));
    }
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The sentence of a refusal.
    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A table of sensors of u, different for each seed.
pub(crate) fn table(seed: usize, sensors: usize) -> String {
    let mut text = "x,y,u\n".to_owned();
    for k in 0..sensors {
        let (i, j) = ((7 * k + 13 * seed + 3) % 128, (11 * k + 5 * seed) % 128);
        let value = 0.004 * ((k + seed) as f64).sin();
        text.push_str(&format!("{},{},{value}\n", i as f64 / 127.0, j as f64 / 127.0));
    }
    text
}
