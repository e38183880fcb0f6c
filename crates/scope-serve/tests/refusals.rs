//! What cannot be done is refused with a status and a sentence.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
};

use scope::Device;
use scope_serve::{Limits, Options, ServeError, Server};

use crate::client::{Answer, Running, models, table};

const RECOVER: &str = "/v1/recover?model=poisson";
const CSV: &str = "content-type: text/csv";

#[test]
fn bad_requests_hear_what_is_wrong() {
    let service = Running::start(Limits::default(), None);
    let refused = |path: &str, headers: &[&str], body: &str| {
        let answer = service.post(path, headers, body.as_bytes());
        (answer.status, answer.error())
    };
    let good = table(0, 4);
    let cases = [
        (RECOVER, vec![CSV], "x,y,u\n0.5,0.5,much\n", 400, "line 2: u is \"much\""),
        (RECOVER, vec![CSV], "", 400, "is empty"),
        (RECOVER, vec![CSV], "x,y,u\n0.5,7,0.1\n", 422, "line 2"),
        (RECOVER, vec!["content-type: application/json"], "{\"sensors\": [", 400, "cut short"),
        (RECOVER, vec![], &good, 415, "text/csv"),
        (RECOVER, vec![CSV, "content-encoding: gzip"], &good, 415, "compressed"),
        (RECOVER, vec![CSV, "accept: image/png"], &good, 406, "application/x-npz"),
        ("/v1/recover?model=heat", vec![CSV], &good, 404, "the models here are poisson"),
        ("/v1/recover", vec![CSV], &good, 400, "the query has to name a model and nothing else"),
        ("/v1/models", vec![CSV], &good, 405, "another method"),
        ("/v3/recover", vec![CSV], &good, 404, "/openapi.json"),
    ];
    for (path, headers, body, status, words) in cases {
        let (got, sentence) = refused(path, &headers, body);
        assert!(got == status && sentence.contains(words), "{path} {headers:?}: {got} {sentence}");
    }
}

#[test]
fn too_much_is_refused() {
    let limits = Limits { body: 4096, sensors: 5, problems: 2, ..Limits::default() };
    let service = Running::start(limits, None);
    let many = service.post(RECOVER, &[CSV], table(0, 6).as_bytes());
    assert_eq!((many.status, many.error().contains("at most 5")), (413, true));
    let problems = "problem,x,y,u\n1,0.5,0.5,0\n2,0.5,0.5,0\n3,0.5,0.5,0\n";
    assert_eq!(service.post(RECOVER, &[CSV], problems.as_bytes()).status, 413);
    assert_eq!(service.post(RECOVER, &[CSV], &[b' '; 4097]).status, 413);
    // A body of a gigabyte is refused by what its head says, before any of it has come.
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = format!("POST {RECOVER} HTTP/1.1\r\nhost: scope\r\nconnection: close\r\n{CSV}\r\n");
    write!(stream, "{head}content-length: 1000000000\r\n\r\n").unwrap();
    assert_eq!(Answer::read(stream).status, 413);
    // One that does not say how long it is, once it is too long.
    let mut stream = TcpStream::connect(service.address).unwrap();
    write!(stream, "{head}transfer-encoding: chunked\r\n\r\n1001\r\n{}\r\n", " ".repeat(4097)).unwrap();
    assert_eq!(Answer::read(stream).status, 413);
}

/// Announced bytes take no room, and those that have come do until their request is read or given up.
#[test]
fn bodies_have_so_much_memory_together() {
    let limits = Limits { bodies: 4000, ..Limits::default() };
    let service = Running::start(limits, None);
    let held = |bytes: usize| {
        let line = format!("scope_body_bytes {bytes}\n");
        while !String::from_utf8_lossy(&service.get("/metrics", &[]).body).contains(&line) {
            std::thread::yield_now();
        }
    };
    let begin = |sent: usize| {
        let mut stream = TcpStream::connect(service.address).unwrap();
        let head = format!("POST {RECOVER} HTTP/1.1\r\nhost: scope\r\nconnection: close\r\n{CSV}\r\n");
        write!(stream, "{head}content-length: 16000000\r\n\r\n{}", " ".repeat(sent)).unwrap();
        stream
    };
    let (one, other) = (begin(3000), begin(0));
    held(3000);
    let refused = service.post(RECOVER, &[CSV], &[b' '; 1001]);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")));
    assert!(refused.error().contains("4000 bytes"));
    assert_eq!(service.post(RECOVER, &[CSV], table(0, 4).as_bytes()).status, 200);
    drop((one, other));
    held(0);
    assert_eq!(service.post(RECOVER, &[CSV], table(0, 60).as_bytes()).status, 200);
}

#[test]
fn a_full_queue_asks_to_come_again() {
    let service = Running::start(Limits { queue: 1, ..Limits::default() }, None);
    let two = "problem,x,y,u\n1,0.5,0.5,0.001\n2,0.5,0.5,0.001\n";
    let answer = service.post(RECOVER, &[CSV], two.as_bytes());
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    assert_eq!(service.post(RECOVER, &[CSV], table(0, 4).as_bytes()).status, 200);
}

#[test]
fn a_connection_too_many_waits_for_another_to_end() {
    let service = Running::start(Limits { connections: 2, ..Limits::default() }, None);
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET /v2/health/live HTTP/1.1\r\nhost: scope\r\n\r\n").unwrap();
    };
    let hear = |stream: &mut TcpStream| {
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        let mut rest = [0; 4096];
        assert!(stream.read(&mut rest).unwrap() > 0);
    };
    let connect = || TcpStream::connect(service.address).unwrap();
    let mut open = [connect(), connect()];
    open.iter_mut().for_each(&ask);
    open.iter_mut().for_each(hear);
    let mut waiting = connect();
    ask(&mut waiting);
    open.iter_mut().for_each(ask);
    open.iter_mut().for_each(hear);
    waiting.set_nonblocking(true).unwrap();
    let nothing = waiting.peek(&mut [0]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    waiting.set_nonblocking(false).unwrap();
    drop(open);
    hear(&mut waiting);
}

#[test]
fn a_request_that_does_not_come_is_not_waited_for() {
    let limits = Limits { arrival: std::time::Duration::from_millis(50), ..Limits::default() };
    let service = Running::start(limits, None);
    let mut stream = TcpStream::connect(service.address).unwrap();
    write!(
        stream,
        "POST {RECOVER} HTTP/1.1\r\nhost: scope\r\nconnection: close\r\n{CSV}\r\ncontent-length: 9\r\n\r\nx,y"
    )
    .unwrap();
    assert_eq!(Answer::read(stream).status, 408);
    // Nor is the head.
    let mut stream = TcpStream::connect(service.address).unwrap();
    write!(stream, "POST {RECOVER} HTT").unwrap();
    let answer = Answer::read(stream);
    assert!(answer.status == 408 && answer.error().contains("the head"));
    // A connection on which nothing is asked is ended without a word: another request may be on its way.
    for idle in ["", "GET /v2/health/live HTTP/1.1\r\nhost: scope\r\n\r\n"] {
        let mut stream = TcpStream::connect(service.address).unwrap();
        stream.write_all(idle.as_bytes()).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert!(!String::from_utf8_lossy(&heard).contains("408"));
    }
}

#[test]
fn a_token_keeps_strangers_out() {
    let token = "sixteen-letters!";
    let service = Running::start(Limits::default(), Some(token));
    let stranger = service.get("/v1/models", &[]);
    assert_eq!((stranger.status, stranger.header("www-authenticate").is_some()), (401, true));
    assert_eq!(service.get("/v1/models", &["authorization: Bearer sixteen-letters?"]).status, 401);
    assert_eq!(service.get("/v1/models", &[&format!("authorization: Bearer {token}")]).status, 200);
    assert_eq!(service.get("/v1/models", &[&format!("authorization: bearer  {token}")]).status, 200);
    assert_eq!(service.get("/v1/models", &[&format!("authorization: {token}")]).status, 401);
    let browser = "authorization: Basic c2NvcGU6c2l4dGVlbi1sZXR0ZXJzIQ==";
    assert_eq!(service.get("/", &[browser]).status, 200);
    assert_eq!(service.get("/nothing/here", &[]).status, 401);
    assert_eq!(service.get("/v2/health/ready", &[]).status, 200);
}

#[test]
fn nobody_listens_widely_without_a_token() {
    let bind = |token: Option<&str>| {
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let options = Options { address, token: token.map(str::to_owned), limits: Limits::default() };
        Server::bind(options, models(), &Device::cpu(1)).err()
    };
    assert!(matches!(bind(None), Some(ServeError::TokenRequired(_))));
    assert!(matches!(bind(Some("short")), Some(ServeError::Token(5, 16))));
}
