//! `dormer open`, tested over sockets: what it serves, to whom, and when it exits.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::command::OpenCommand;
use super::{Folder, TRACE, gzip};

/// The page served here, in the structure of a built one.
const PAGE: &str = "<!DOCTYPE html><head><meta content=\"connect-src 'none'\">\
    <meta charset=\"utf-8\"><style></style></head>";

/// A running `dormer open`.
struct Opened(OpenCommand);

/// A response: the status, the lines before the body, and the body.
struct Got {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Opened {
    /// Starts it on the content of a folder, without a browser.
    fn start(folder: &Folder, arguments: &str) -> Opened {
        folder.add("dormer.html", PAGE);
        folder.add("index.html", PAGE);
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let (program, folder) = (env!("CARGO_BIN_EXE_dormer"), folder.0.path());
        Opened(OpenCommand::start(program, folder, folder, &arguments))
    }

    /// `127.0.0.1:PORT`.
    fn host(&self) -> &str {
        self.0.url.split('/').nth(2).unwrap()
    }

    fn token(&self) -> &str {
        self.0.url.split('/').nth(3).unwrap()
    }

    /// The hash of the page's address.
    fn place(&self) -> &str {
        &self.0.url[self.0.url.find('#').unwrap()..]
    }

    /// Sends bytes verbatim.
    fn raw(&self, request: &str) -> Got {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        Got {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: answer[end + 4..].to_vec(),
        }
    }

    /// Sends a request like a browser that was given the address; additional headers are lines.
    fn ask(&self, method: &str, path: &str, headers: &str) -> Got {
        let (host, token) = (self.host(), self.token());
        self.raw(&format!(
            "{method} /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n"
        ))
    }

    fn get(&self, path: &str) -> Got {
        self.ask("GET", path, "")
    }

    /// The response status for a request.
    fn status(&self, line: &str, headers: &str) -> u16 {
        let line = line.replace("TOKEN", self.token());
        let headers = headers.replace("HOST", self.host());
        self.raw(&format!("{line} HTTP/1.1\r\n{headers}\r\n"))
            .status
    }

    fn list(&self) -> Value {
        serde_json::from_slice(&self.get("traces/list.json").body).unwrap()
    }
}

#[test]
fn the_page_and_the_traces_that_were_named_are_served() {
    let folder = Folder::with("a b.json", TRACE);
    let packed = gzip(TRACE);
    folder.add("b.json.gz", &packed);
    let path = folder.0.path().join("a b.json");
    std::fs::rename(path, folder.0.path().join("a+b.json")).unwrap();
    let opened = Opened::start(&folder, "a+b.json b.json.gz");
    assert_eq!(
        opened.place(),
        "#/?url=traces/0/a%252Bb.json&url=traces/1/b.json.gz"
    );
    assert!(opened.host().starts_with("127.0.0.1:") && opened.token().len() == 32);

    let page = opened.get("");
    let text = String::from_utf8(page.body).unwrap();
    assert_eq!(page.status, 200);
    assert!(
        text.contains("connect-src 'self'") && !text.contains("connect-src 'none'"),
        "{text}"
    );
    assert!(
        text.contains("<meta name=\"dormer-open\" content=\"traces\">"),
        "{text}"
    );
    for line in [
        "Content-Type: text/html; charset=utf-8",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin",
        "Cross-Origin-Opener-Policy: same-origin",
        "Content-Security-Policy: frame-ancestors 'none'",
        "Connection: close",
    ] {
        assert!(
            page.head.lines().any(|known| known == line),
            "{line}: {}",
            page.head
        );
    }
    assert!(!page.head.contains("Access-Control") && !page.head.contains(opened.token()));

    assert_eq!(opened.get("traces/0/a%2Bb.json").body, TRACE.as_bytes());
    // A compressed file is sent unchanged.
    let got = opened.get("traces/1/b.json.gz");
    assert_eq!(got.body, packed);
    assert!(!got.head.contains("Content-Encoding"), "{}", got.head);
    let length = format!("Content-Length: {}", packed.len());
    let head = opened.ask("HEAD", "traces/1/b.json.gz", "");
    assert!(
        head.head.contains(&length) && head.body.is_empty(),
        "{}",
        head.head
    );
    assert_eq!(
        opened.get("traces/list.json").status,
        404,
        "no folder was named"
    );
}

#[test]
fn nobody_else_gets_anything() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("other.json", TRACE);
    let opened = Opened::start(&folder, "trace.json");
    let own = "Host: HOST\r\n";
    for (line, headers, status) in [
        // Token.
        ("GET /", own, 404),
        ("GET /TOKEN", own, 404),
        ("GET /00000000000000000000000000000000/", own, 404),
        (
            "GET /00000000000000000000000000000000/traces/0/trace.json",
            own,
            404,
        ),
        // Host name.
        ("GET /TOKEN/", "", 421),
        ("GET /TOKEN/", "Host: localhost:80\r\n", 421),
        ("GET /TOKEN/", "Host: evil.test\r\n", 421),
        ("GET /TOKEN/", "Host: HOST\r\nHost: HOST\r\n", 421),
        // Other pages: from another site, from another port, without an origin.
        (
            "GET /TOKEN/",
            "Host: HOST\r\nOrigin: https://evil.test\r\n",
            403,
        ),
        (
            "GET /TOKEN/",
            "Host: HOST\r\nOrigin: http://127.0.0.1:1\r\n",
            403,
        ),
        ("POST /TOKEN/bye", "Host: HOST\r\nOrigin: null\r\n", 403),
        (
            "GET /TOKEN/",
            "Host: HOST\r\nSec-Fetch-Site: cross-site\r\n",
            403,
        ),
        (
            "GET /TOKEN/traces/0/trace.json",
            "Host: HOST\r\nSec-Fetch-Site: same-site\r\n",
            403,
        ),
        (
            "GET /TOKEN/",
            "Host: HOST\r\nOrigin: http://HOST\r\nSec-Fetch-Site: same-origin\r\n",
            200,
        ),
        // Methods.
        ("POST /TOKEN/", own, 405),
        ("PUT /TOKEN/traces/0/trace.json", own, 405),
        ("OPTIONS /TOKEN/", own, 405),
        ("GET /TOKEN/bye", own, 405),
        // Paths.
        ("GET /TOKEN/traces/0/other.json", own, 404),
        ("GET /TOKEN/traces/1/other.json", own, 404),
        ("GET /TOKEN/traces/0/../../other.json", own, 404),
        ("GET /TOKEN/../other.json", own, 404),
        ("GET /TOKEN/%2e%2e/other.json", own, 404),
        ("GET /TOKEN/traces/0/%2e%2e%2fother.json", own, 404),
        ("GET /TOKEN/index.html", own, 404),
        ("GET /TOKEN//etc/passwd", own, 404),
    ] {
        assert_eq!(opened.status(line, headers), status, "{line} {headers}");
    }
    assert_eq!(opened.raw("hello\r\n\r\n").status, 400);
    let refused = opened.ask("POST", "", "Content-Length: 100000\r\n");
    assert!(!refused.head.contains("Access-Control"), "{}", refused.head);
    // It still responds to allowed requests.
    assert_eq!(opened.get("traces/0/trace.json").body, TRACE.as_bytes());
}

#[test]
fn a_folder_lists_its_runs_and_what_comes_into_it() {
    let folder = Folder::with("notes.md", "");
    let run = folder.0.path().join("logs/run7");
    std::fs::create_dir_all(&run).unwrap();
    let write = |name: &str, rank: u32| {
        let info = format!(r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 2}}, "#);
        std::fs::write(run.join(name), gzip(&TRACE.replacen('{', &info, 1))).unwrap();
    };
    write("node1_1.1764000000123456789.pt.trace.json.gz", 0);
    let opened = Opened::start(&folder, "logs");
    assert_eq!(opened.place(), "#/runs");
    let page = String::from_utf8(opened.get("").body).unwrap();
    assert!(page.contains("content=\"runs\""), "{page}");
    let list = opened.list();
    let trace = &list["runs"][0]["traces"][0];
    assert_eq!(
        (&list["runs"][0]["name"], &trace["rank"]),
        (&"run7".into(), &0.into())
    );
    assert_eq!(trace["time_ms"], 1_764_000_000_123_u64);
    let url = trace["url"].as_str().unwrap().to_owned();
    assert_eq!(opened.get(&url).status, 200);
    assert_eq!(
        opened
            .get("traces/1/node2_1.1764000000123456789.pt.trace.json.gz")
            .status,
        404
    );

    write("node2_1.1764000000123456789.pt.trace.json.gz", 1);
    let list = opened.list();
    let traces = list["runs"][0]["traces"].as_array().unwrap();
    let ranks: Vec<&Value> = traces.iter().map(|trace| &trace["rank"]).collect();
    assert_eq!(ranks, [0, 1]);
    assert_eq!(opened.get(traces[1]["url"].as_str().unwrap()).status, 200);
}

#[test]
fn it_ends_when_the_page_is_closed() {
    let folder = Folder::with("trace.json", TRACE);
    let mut opened = Opened::start(&folder, "trace.json");
    opened.get("");
    let host = format!("Origin: http://{}\r\n", opened.host());
    assert_eq!(opened.ask("POST", "bye", &host).status, 200);
    // As after a reload.
    assert_eq!(opened.get("").status, 200);
    assert_eq!(opened.0.process.try_wait().unwrap(), None);
    assert_eq!(opened.ask("POST", "bye", &host).status, 200);
    assert_eq!(opened.0.end(), Some(0));
}

#[test]
fn what_cannot_be_opened_is_said() {
    let folder = Folder::with("trace.json", TRACE);
    let sentence = "dormer: missing.json: No such file or directory\n";
    let said = folder.run("open missing.json");
    assert_eq!((said.code, said.err.as_str()), (1, sentence));
    let said = folder.run("open -");
    assert_eq!(said.code, 2);
    assert_eq!(folder.run("open").code, 2);
    if cfg!(not(feature = "page")) {
        let said = folder.run("open trace.json");
        assert_eq!(said.code, 1);
        assert!(said.err.contains("set DORMER_PAGE"), "{}", said.err);
    }
}
