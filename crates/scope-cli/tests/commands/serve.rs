//! `scope serve`: the real program, asked over a real connection.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
};

use crate::program::{refused, succeed};

const SENSORS: &str = "x,y,u\n0.25,0.5,0.003\n0.75,0.25,-0.002\n0.5,0.7,0.001\n";

#[test]
fn the_service_gives_the_command_s_fields_and_stops_when_asked() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("sensors.csv"), SENSORS).unwrap();
    succeed(
        root.path(),
        &[
            "recover",
            "--model",
            "poisson",
            "--sensors",
            "sensors.csv",
            "--out",
            "recovered",
            "--device",
            "cpu",
        ],
    );
    let mut program = Command::new(assert_cmd::cargo::cargo_bin("scope"))
        .args(["serve", "--port", "0", "--device", "cpu", "--threads", "2"])
        .current_dir(root.path())
        .env_remove("SCOPE_MODELS")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().split(' ').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "POST /v1/recover?model=poisson HTTP/1.1\r\nhost: scope\r\nconnection: close\r\ncontent-type: text/csv\r\n";
    write!(stream, "{head}accept: application/x-npy\r\ncontent-length: {}\r\n\r\n{SENSORS}", SENSORS.len())
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let field = |name: &str| fs::read(root.path().join("recovered").join(name)).unwrap().split_off(128);
    let fields = [field("a.npy"), field("u.npy")].concat();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(&fields), "the same in every bit");
    let killed = Command::new("kill").arg(program.id().to_string()).status().unwrap();
    assert!(killed.success() && program.wait().unwrap().success());
}

#[test]
fn listening_widely_without_a_token_is_misuse() {
    let root = tempfile::tempdir().unwrap();
    let complaint = refused(root.path(), &["serve", "--host", "0.0.0.0"], 2);
    assert!(complaint.contains("--token-file"), "{complaint}");
}
