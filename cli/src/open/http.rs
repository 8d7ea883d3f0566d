//! HTTP, as little of it as a page on this computer needs: one request, one response, then the connection is closed.
//!
//! So no request can be smuggled in another, and a file that turns out shorter than announced becomes a network error
//! in the browser.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The longest accepted request; browsers send less than a kilobyte.
const MOST_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// A request: its first line and its headers.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    headers: Vec<(String, Vec<u8>)>,
}

impl Request {
    /// Reads a request; `None` if the client sends nothing.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Result<Request, Status>>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 4 << 10];
        loop {
            let n = from.read(&mut chunk)?;
            bytes.extend_from_slice(chunk.get(..n).unwrap_or_default());
            match Request::parse(&bytes) {
                Ok(Some(request)) => return Ok(Some(Ok(request))),
                Ok(None) if n == 0 => return Ok(None),
                Ok(None) if bytes.len() < MOST_BYTES => {}
                Ok(None) | Err(_) => return Ok(Some(Err(Status::Bad))),
            }
        }
    }

    /// Parses a request; `None` if it is incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<Request>, httparse::Error> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        if parsed.parse(bytes)?.is_partial() {
            return Ok(None);
        }
        let headers = parsed.headers.iter();
        Ok(Some(Request {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            headers: headers
                .map(|header| (header.name.to_ascii_lowercase(), header.value.to_owned()))
                .collect(),
        }))
    }

    /// The values of a header, by its lower-case name; a header can occur more than once.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let same = self.headers.iter().filter(move |(known, _)| known == name);
        same.map(|(_, value)| value.as_slice())
    }

    #[cfg(test)]
    pub(super) fn new(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
        let headers = headers.iter();
        let headers =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.as_bytes().to_owned()));
        Request {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: headers.collect(),
        }
    }
}

/// The status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Done,
    Bad,
    Forbidden,
    NotFound,
    WrongMethod,
    WrongHost,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Done => "200 OK",
            Status::Bad => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::WrongMethod => "405 Method Not Allowed",
            Status::WrongHost => "421 Misdirected Request",
        }
    }
}

/// The body of a response.
pub(super) enum Body {
    Bytes(Arc<[u8]>),
    /// A file as it is, and its length in bytes.
    File(File, u64),
}

/// A response.
pub(super) struct Response {
    pub(super) status: Status,
    pub(super) mime: &'static str,
    pub(super) body: Body,
}

/// Sent with every response. No page of another origin may read, frame or cache what is served.
const HEADERS: &str = "Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    Content-Security-Policy: frame-ancestors 'none'\r\n\
    Connection: close\r\n";

impl Response {
    pub(super) fn bytes(mime: &'static str, bytes: impl Into<Arc<[u8]>>) -> Response {
        Response {
            status: Status::Done,
            mime,
            body: Body::Bytes(bytes.into()),
        }
    }

    /// The response to a request that is denied.
    pub(super) fn refused(status: Status) -> Response {
        let sentence = match status {
            Status::Forbidden => {
                "Another page asked for this. Type or paste the address that `dormer open` has printed.\n"
            }
            Status::WrongHost => {
                "The address begins with http://127.0.0.1, as `dormer open` has printed it.\n"
            }
            _ => "",
        };
        Response {
            status,
            ..Response::bytes("text/plain; charset=utf-8", sentence.as_bytes())
        }
    }

    /// Writes the response; for HEAD, without the body.
    pub(super) fn write(self, to: &mut impl Write, is_head: bool) -> io::Result<()> {
        let length = match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, length) => *length,
        };
        let (line, mime) = (self.status.line(), self.mime);
        let head = format!(
            "HTTP/1.1 {line}\r\nContent-Type: {mime}\r\nContent-Length: {length}\r\n{HEADERS}\r\n"
        );
        to.write_all(head.as_bytes())?;
        match self.body {
            _ if is_head => {}
            Body::Bytes(bytes) => to.write_all(&bytes)?,
            // The file may have grown since it was opened.
            Body::File(file, length) => drop(io::copy(&mut file.take(length), to)?),
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(text: &str) -> Option<Result<Request, Status>> {
        Request::read(&mut text.as_bytes()).unwrap()
    }

    #[test]
    fn a_request_is_read_with_every_value_of_a_header() {
        let request = read("GET /a?b HTTP/1.1\r\nHost: one\r\nhOST: two\r\n\r\n");
        let request = request.unwrap().unwrap();
        assert_eq!(
            (request.method.as_str(), request.target.as_str()),
            ("GET", "/a?b")
        );
        let hosts: Vec<&[u8]> = request.values("host").collect();
        assert_eq!(hosts, [b"one", b"two"]);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "hello\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(read(text).unwrap().err(), Some(Status::Bad), "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(MOST_BYTES));
        assert_eq!(read(&long).unwrap().err(), Some(Status::Bad));
        assert!(read("").is_none());
        assert!(read("GET / HTTP/1.1\r\nHost: x\r\n").is_none());
    }

    #[test]
    fn head_gets_no_body() {
        let mut sent = Vec::new();
        Response::bytes("text/html", b"abc".as_slice())
            .write(&mut sent, true)
            .unwrap();
        let sent = String::from_utf8(sent).unwrap();
        assert!(
            sent.contains("Content-Length: 3\r\n") && sent.ends_with("\r\n\r\n"),
            "{sent}"
        );
    }
}
