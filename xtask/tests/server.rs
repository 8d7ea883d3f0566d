//! The server answers as any static host does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use xtask::server::{Request, Server, Site};

/// A folder with a page, a module and a file with a space in its name, and beside it one that must not be reached.
fn site(name: &str) -> Site {
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let dist = base.join("dist");
    fs::create_dir_all(dist.join("sub")).unwrap();
    fs::write(base.join("secret.txt"), "secret").unwrap();
    fs::write(dist.join("index.html"), "<p>front").unwrap();
    fs::write(dist.join("sub/index.html"), "<p>sub").unwrap();
    fs::write(dist.join("a b.js"), "1").unwrap();
    fs::write(dist.join("app.wasm"), "wasm").unwrap();
    Site::new(dist)
}

/// Sends one request line, gives the whole answer.
fn ask(server: &Server, line: &str) -> String {
    let host = server.url().replace("http://", "");
    let host = host.split('/').next().unwrap().to_owned();
    let mut stream = TcpStream::connect(&host).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Requests: line, status and body of the answer, and some of its headers.
fn answers(server: &Server, cases: &[(&str, u16, &str, &[&str])]) {
    for (line, status, body, headers) in cases {
        let answer = ask(server, line);
        let (head, found) = answer.split_once("\r\n\r\n").unwrap();
        let is_status = head.starts_with(&format!("HTTP/1.1 {status} "));
        assert!(is_status && found == *body, "{line}: {answer}");
        for header in *headers {
            assert!(head.lines().any(|own| own == *header), "{line}: {answer}");
        }
    }
}

#[test]
fn files_are_served_as_any_static_host_does() {
    let server = Server::start(site("files"), 0).unwrap();
    let page = [
        "content-type: text/html; charset=utf-8",
        "cache-control: no-cache",
        "x-content-type-options: nosniff",
    ];
    let module = [
        "content-type: application/wasm",
        "cache-control: public, max-age=31536000, immutable",
    ];
    answers(
        &server,
        &[
            ("GET /", 200, "<p>front", &page),
            ("GET /app.wasm?v=1f", 200, "wasm", &module),
            // A folder means its index.
            ("GET /sub/", 200, "<p>sub", &[]),
            ("GET /sub", 307, "", &["location: /sub/"]),
            ("HEAD /", 200, "", &["content-length: 8"]),
            ("POST /", 405, "", &[]),
            // Names are percent-decoded.
            ("GET /a%20b.js?v=1", 200, "1", &[]),
            ("GET /a%2", 404, "", &[]),
            ("GET /%ff", 404, "", &[]),
            // Nothing outside the folder is served.
            ("GET /../secret.txt", 404, "", &[]),
            ("GET /sub/../../secret.txt", 404, "", &[]),
            ("GET /%2e%2e/secret.txt", 404, "", &[]),
            ("GET /..%2fsecret.txt", 404, "", &[]),
            ("GET //etc/passwd", 404, "", &[]),
            ("GET /nothing", 404, "", &[]),
        ],
    );
}

#[test]
fn under_a_path_only_that_path_answers() {
    let server = Server::start(site("under").under("/a/b/"), 0).unwrap();
    assert!(server.url().ends_with("/a/b/"));
    answers(
        &server,
        &[
            ("GET /a/b/", 200, "<p>front", &[]),
            ("GET /a/b", 308, "", &["location: /a/b/"]),
            ("GET /a/b/sub", 307, "", &["location: /a/b/sub/"]),
            ("GET /", 404, "", &[]),
            ("GET /index.html", 404, "", &[]),
        ],
    );
}

#[test]
fn wasm_can_be_sent_with_a_wrong_type() {
    let site = site("wrong_type").wasm_type("text/plain");
    let server = Server::start(site, 0).unwrap();
    assert!(ask(&server, "GET /app.wasm").contains("content-type: text/plain\r\n"));
}

#[test]
fn the_log_names_every_request() {
    let server = Server::start(site("log"), 0).unwrap();
    ask(&server, "GET /?v=1");
    ask(&server, "HEAD /nothing");
    let mut stream = TcpStream::connect(server.url().split('/').nth(2).unwrap()).unwrap();
    let headers = "Host: a\r\nCookie: login=1\r\nConnection: close\r\n\r\n";
    write!(stream, "GET / HTTP/1.1\r\n{headers}").unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    let request = |method: &str, target: &str, status, identifying: &[&'static str]| Request {
        method: method.to_owned(),
        target: target.to_owned(),
        status,
        identifying: identifying.to_vec(),
    };
    assert_eq!(
        server.log(),
        [
            request("GET", "/?v=1", 200, &[]),
            request("HEAD", "/nothing", 404, &[]),
            request("GET", "/", 200, &["cookie"]),
        ]
    );
}

#[test]
fn a_stopped_server_refuses() {
    let server = Server::start(site("stopped"), 0).unwrap();
    let host = server.url().replace("http://", "");
    server.stop();
    assert!(TcpStream::connect(host.trim_end_matches('/')).is_err());
}
