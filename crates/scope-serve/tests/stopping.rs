//! What was begun is finished.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use scope_serve::Limits;

use crate::client::{Answer, Running, table};

#[test]
fn a_request_that_has_begun_is_answered_though_the_service_stops() {
    let service = Running::start(Limits::default(), None);
    let body = table(3, 20);
    let mut stream = TcpStream::connect(service.address).unwrap();
    let head = "POST /v1/recover?model=poisson HTTP/1.1\r\nhost: scope\r\ncontent-type: text/csv\r\nexpect: 100-continue\r\n";
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
