//! Which requests are allowed.
//!
//! Other programs on this computer can reach the port, and so can any web page in a browser on it: without the token,
//! they get nothing. The Host header is checked so that a foreign name that resolves to 127.0.0.1 gets nothing either.

use dormer_core::base::format;
use subtle::ConstantTimeEq;

use super::http::{Request, Status};
use crate::Failure;

/// Length of the token in bytes: 128 bits.
const TOKEN_BYTES: usize = 16;

/// The address of the server, and the token that clients must have.
#[derive(Debug)]
pub(super) struct Access {
    host: String,
    token: String,
}

/// What is requested.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Requested<'a> {
    Page,
    /// The runs, as JSON.
    List,
    /// A trace by its number, and its name in the address.
    Trace(usize, &'a str),
    /// The page was closed.
    Closed,
}

impl Access {
    /// Creates a token.
    pub(super) fn new(port: u16) -> Result<Access, Failure> {
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random).map_err(|error| {
            Failure::Sentence(format!("cannot get random bytes from the system: {error}"))
        })?;
        Ok(Access {
            host: format!("127.0.0.1:{port}"),
            token: format::hex(&random),
        })
    }

    /// The address of the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/{}/", self.host, self.token)
    }

    /// What a request asks for, if it is allowed.
    pub(super) fn check<'a>(&self, request: &'a Request) -> Result<Requested<'a>, Status> {
        let hosts: Vec<&[u8]> = request.values("host").collect();
        if hosts != [self.host.as_bytes()] {
            return Err(Status::WrongHost);
        }
        let own = format!("http://{}", self.host);
        let is_own = request
            .values("origin")
            .all(|origin| origin == own.as_bytes());
        // Another port of this computer counts as the same site.
        let mut sites = request.values("sec-fetch-site");
        if !is_own || !sites.all(|site| site == b"same-origin" || site == b"none") {
            return Err(Status::Forbidden);
        }
        let path = request.target.split('?').next().unwrap_or_default();
        let mut parts = path.strip_prefix('/').unwrap_or_default().split('/');
        let token = parts.next().unwrap_or_default();
        if !bool::from(token.as_bytes().ct_eq(self.token.as_bytes())) {
            return Err(Status::NotFound);
        }
        let parts: Vec<&str> = parts.collect();
        let requested = match parts.as_slice() {
            [""] => Requested::Page,
            ["bye"] => Requested::Closed,
            ["traces", "list.json"] => Requested::List,
            ["traces", number, name] => {
                Requested::Trace(number.parse().map_err(|_| Status::NotFound)?, name)
            }
            _ => return Err(Status::NotFound),
        };
        let is_allowed = match request.method.as_str() {
            "GET" | "HEAD" => requested != Requested::Closed,
            "POST" => requested == Requested::Closed,
            _ => false,
        };
        is_allowed.then_some(requested).ok_or(Status::WrongMethod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: [&str; 2] = ["127.0.0.1:4711", "0123456789abcdef0123456789abcdef"];

    /// The result for a request, given by its first line without the version, and its headers.
    fn checked(line: &str, headers: &[(&str, &str)]) -> String {
        let [host, token] = SERVER.map(str::to_owned);
        let (method, target) = line.split_once(' ').unwrap();
        let request = Request::new(method, &target.replace("TOKEN", &token), headers);
        match (Access { host, token }).check(&request) {
            Ok(requested) => format!("{requested:?}"),
            Err(status) => format!("{status:?}"),
        }
    }

    #[test]
    fn what_is_named_is_given_to_who_has_the_token() {
        let host = [("Host", SERVER[0])];
        for (line, expected) in [
            ("GET /TOKEN/", "Page"),
            ("HEAD /TOKEN/?v=1", "Page"),
            ("GET /TOKEN/traces/list.json", "List"),
            (
                "GET /TOKEN/traces/12/a%20b.json",
                r#"Trace(12, "a%20b.json")"#,
            ),
            ("POST /TOKEN/bye", "Closed"),
            ("GET /TOKEN", "NotFound"),
            ("GET /", "NotFound"),
            ("GET /0123456789abcdef0123456789abcdee/", "NotFound"),
            ("GET /TOKEN0/", "NotFound"),
            ("GET //TOKEN/", "NotFound"),
            ("GET http://127.0.0.1:4711/TOKEN/", "NotFound"),
            ("GET *", "NotFound"),
            ("GET /TOKEN/index.html", "NotFound"),
            ("GET /TOKEN/../TOKEN/", "NotFound"),
            ("GET /TOKEN/traces/-1/a.json", "NotFound"),
            ("GET /TOKEN/traces/0/../../etc/passwd", "NotFound"),
            ("GET /TOKEN/bye", "WrongMethod"),
            ("POST /TOKEN/", "WrongMethod"),
            ("OPTIONS /TOKEN/", "WrongMethod"),
            ("DELETE /TOKEN/traces/0/a.json", "WrongMethod"),
        ] {
            assert_eq!(checked(line, &host), expected, "{line}");
        }
    }

    #[test]
    fn hosts_and_pages_are_distinguished() {
        let host = ("host", SERVER[0]);
        for (headers, expected) in [
            (&[host][..], "Page"),
            (&[host, ("origin", "http://127.0.0.1:4711")], "Page"),
            (&[host, ("sec-fetch-site", "same-origin")], "Page"),
            (&[host, ("sec-fetch-site", "none")], "Page"),
            (&[], "WrongHost"),
            (&[host, host], "WrongHost"),
            (&[("host", "localhost:4711")], "WrongHost"),
            (&[("host", "evil.test")], "WrongHost"),
            (&[("host", "127.0.0.1")], "WrongHost"),
            (&[host, ("origin", "http://127.0.0.1:4712")], "Forbidden"),
            (&[host, ("origin", "null")], "Forbidden"),
            (&[host, ("sec-fetch-site", "same-site")], "Forbidden"),
            (&[host, ("sec-fetch-site", "cross-site")], "Forbidden"),
            (
                &[
                    host,
                    ("sec-fetch-site", "none"),
                    ("sec-fetch-site", "cross-site"),
                ],
                "Forbidden",
            ),
        ] {
            assert_eq!(checked("GET /TOKEN/", headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn tokens_have_128_bits_of_their_own() {
        let [one, other] = [0, 0].map(|_| Access::new(1).unwrap().token);
        assert_eq!((one.len(), other.len()), (32, 32));
        assert_ne!(one, other);
    }
}
