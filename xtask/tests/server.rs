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

fn status(server: &Server, target: &str) -> u16 {
    let answer = ask(server, &format!("GET {target}"));
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn body(server: &Server, target: &str) -> String {
    let answer = ask(server, &format!("GET {target}"));
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn a_folder_means_its_index() {
    let server = Server::start(site("index"), 0).unwrap();
    assert_eq!(body(&server, "/"), "<p>front");
    assert_eq!(body(&server, "/sub/"), "<p>sub");
    assert!(ask(&server, "GET /sub").contains("location: /sub/\r\n"));
}

#[test]
fn names_are_percent_decoded() {
    let server = Server::start(site("percent"), 0).unwrap();
    assert_eq!(body(&server, "/a%20b.js?v=1"), "1");
    assert_eq!(status(&server, "/a%2"), 404);
    assert_eq!(status(&server, "/%ff"), 404);
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let server = Server::start(site("outside"), 0).unwrap();
    for target in [
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/nothing",
    ] {
        assert_eq!(status(&server, target), 404, "{target}");
    }
}

#[test]
fn headers_fit_the_file() {
    let server = Server::start(site("headers"), 0).unwrap();
    let page = ask(&server, "GET /");
    assert!(page.contains("content-type: text/html; charset=utf-8\r\n"));
    assert!(page.contains("cache-control: no-cache\r\n"));
    assert!(page.contains("x-content-type-options: nosniff\r\n"));
    let module = ask(&server, "GET /app.wasm?v=1f");
    assert!(module.contains("content-type: application/wasm\r\n"));
    assert!(module.contains("immutable"));
}

#[test]
fn head_sends_no_body() {
    let server = Server::start(site("head"), 0).unwrap();
    let answer = ask(&server, "HEAD /");
    assert!(answer.contains("content-length: 8\r\n"));
    assert!(answer.ends_with("\r\n\r\n"));
    assert!(ask(&server, "POST /").starts_with("HTTP/1.1 405 "));
}

#[test]
fn under_a_path_only_that_path_answers() {
    let server = Server::start(site("under").under("/a/b/"), 0).unwrap();
    assert!(server.url().ends_with("/a/b/"));
    assert_eq!(body(&server, "/a/b/"), "<p>front");
    assert!(ask(&server, "GET /a/b").contains("location: /a/b/\r\n"));
    assert_eq!(status(&server, "/"), 404);
    assert_eq!(status(&server, "/index.html"), 404);
    assert!(ask(&server, "GET /a/b/sub").contains("location: /a/b/sub/\r\n"));
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
    let request = |method: &str, target: &str, status| Request {
        method: method.to_owned(),
        target: target.to_owned(),
        status,
    };
    assert_eq!(
        server.log(),
        [
            request("GET", "/?v=1", 200),
            request("HEAD", "/nothing", 404)
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
