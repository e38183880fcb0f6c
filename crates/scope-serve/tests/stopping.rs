//! What was begun is finished.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use scope_serve::Limits;

use crate::client::{Answer, Running, table};

#[test]
fn a_request_that_has_begun_is_answered_though_the_service_stops() {
    let service = Running::start(Limits::default(), None);
    let body = table(3, 20);
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = "POST /v1/recover?model=poisson HTTP/1.1\r\nhost: scope\r\ncontent-type: text/csv\r\nexpect: \
                100-continue\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n", body.len()).unwrap();
    // The service asks for the body: it has begun.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    service.ask_to_stop();
    // It takes no connection any more once it has heard.
    while TcpStream::connect(service.address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(body.as_bytes()).unwrap();
    let answer = Answer::read(stream);
    assert_eq!(answer.status, 200);
    assert!(!answer.json()["fields"].as_array().unwrap().is_empty());
}

#[test]
fn a_client_that_does_not_read_holds_up_neither_others_nor_the_end() {
    let limits = Limits { drain: Duration::from_millis(100), ..Limits::default() };
    let service = Running::start(limits, None);
    let mut slow = TcpStream::connect(service.address).unwrap();
    // Answers of 7 MB each, more than a connection holds that nobody reads from.
    let request = "GET /models/poisson.safetensors HTTP/1.1\r\nhost: scope\r\n\r\n";
    slow.write_all(request.repeat(8).as_bytes()).unwrap();
    let mut begun = [0; 12];
    slow.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let answer =
        service.post("/v1/recover?model=poisson", &["content-type: text/csv"], table(4, 9).as_bytes());
    assert_eq!(answer.status, 200);
    // Dropped, it ends without an error though the slow one is still there.
    drop(service);
    drop(slow);
}
