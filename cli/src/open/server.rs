//! Connections, each on a thread of its own, and when the server exits.

use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::http::{Body, Request, Response, Status};
use super::rules::{Access, Requested};
use super::traces::Traces;

/// Clients that have not sent a request by then are disconnected.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A reloaded page sends a new request within this time.
const RELOAD_TIME: Duration = Duration::from_secs(5);

/// A forgotten server exits after this time.
const LONGEST_RUN: Duration = Duration::from_secs(12 * 60 * 60);

/// The most concurrent connections; browsers open six.
const MOST_CONNECTIONS: usize = 64;

/// A running server.
pub(super) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    access: Access,
    page: Arc<[u8]>,
    traces: Traces,
    activity: Mutex<Activity>,
}

/// The state that determines whether the server is still needed.
struct Activity {
    started: Instant,
    last_request: Instant,
    is_closed: bool,
    n_connections: usize,
    /// Connections on which a response is being sent.
    n_sending: usize,
}

impl Activity {
    fn new(now: Instant) -> Activity {
        Activity {
            started: now,
            last_request: now,
            is_closed: false,
            n_connections: 0,
            n_sending: 0,
        }
    }

    /// Whether it is time to exit.
    fn is_over(&self, now: Instant, keep: bool) -> bool {
        let is_unused =
            self.is_closed && self.n_sending == 0 && now - self.last_request >= RELOAD_TIME;
        is_unused && !keep || now - self.started >= LONGEST_RUN
    }

    /// A client with the token has sent a request.
    fn on_request(&mut self, requested: &Requested, now: Instant) {
        self.is_closed = *requested == Requested::Closed;
        self.last_request = now;
        self.n_sending += 1;
    }
}

impl Server {
    pub(super) fn start(
        listener: TcpListener,
        access: Access,
        page: Vec<u8>,
        traces: Traces,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            access,
            page: page.into(),
            traces,
            activity: Mutex::new(Activity::new(Instant::now())),
        });
        let server = Server {
            shared: shared.clone(),
        };
        thread::Builder::new().spawn(move || accept(&listener, &shared))?;
        Ok(server)
    }

    /// Returns when the server is no longer needed.
    pub(super) fn wait(self, keep: bool) {
        while !self.shared.activity().is_over(Instant::now(), keep) {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Shared {
    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the request of a connection.
    fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let Some(request) = Request::read(stream)? else {
            return Ok(());
        };
        match &request {
            Err(status) => Response::refused(*status).write(stream, false)?,
            Ok(request) => {
                let is_head = request.method == "HEAD";
                match self.access.check(request) {
                    Err(status) => Response::refused(status).write(stream, is_head)?,
                    Ok(requested) => {
                        self.activity().on_request(&requested, Instant::now());
                        let sent = self.response(&requested).write(stream, is_head);
                        self.activity().n_sending -= 1;
                        sent?;
                    }
                }
            }
        }
        // Unread input would make the client discard the response.
        stream.shutdown(Shutdown::Write)?;
        let mut rest = [0; 4 << 10];
        while stream.read(&mut rest)? > 0 {}
        Ok(())
    }

    fn response(&self, requested: &Requested) -> Response {
        let response = match requested {
            Requested::Page => Some(Response::bytes(
                "text/html; charset=utf-8",
                self.page.clone(),
            )),
            Requested::Closed => Some(Response::bytes("text/plain", [])),
            Requested::List => {
                let list = self.traces.list();
                list.map(|list| Response::bytes("application/json", list))
            }
            Requested::Trace(at, name) => {
                self.traces.open(*at, name).map(|(file, bytes)| Response {
                    status: Status::Done,
                    mime: "application/octet-stream",
                    body: Body::File(file, bytes),
                })
            }
        };
        response.unwrap_or_else(|| Response::refused(Status::NotFound))
    }
}

/// Accepts connections as long as the process lives.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Too many open files: some will be closed.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        if shared.activity().n_connections >= MOST_CONNECTIONS {
            continue;
        }
        shared.activity().n_connections += 1;
        let of_thread = shared.clone();
        let started = thread::Builder::new().spawn(move || {
            // If a browser disconnects midway, there is nobody to report the error to.
            let _ = of_thread.answer(&mut stream);
            of_thread.activity().n_connections -= 1;
        });
        if started.is_err() {
            shared.activity().n_connections -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_some_seconds_after_the_page_is_closed() {
        let now = Instant::now();
        let seconds = |n| now + Duration::from_secs(n);
        let mut activity = Activity::new(now);
        assert!(
            !activity.is_over(seconds(600), false),
            "nobody has closed it"
        );
        activity.on_request(&Requested::Closed, seconds(600));
        activity.n_sending -= 1;
        assert!(
            !activity.is_over(seconds(604), false),
            "it may be loaded again"
        );
        assert!(activity.is_over(seconds(605), false));
        assert!(!activity.is_over(seconds(605), true), "it is to be kept");
        activity.on_request(&Requested::Page, seconds(604));
        assert!(
            !activity.is_over(seconds(700), false),
            "it was loaded again"
        );
        activity.on_request(&Requested::Closed, seconds(700));
        assert!(
            !activity.is_over(seconds(800), false),
            "another page is being sent"
        );
        activity.n_sending = 0;
        assert!(activity.is_over(seconds(800), false));
    }

    #[test]
    fn it_ends_after_half_a_day() {
        let now = Instant::now();
        let activity = Activity::new(now);
        let hours = |n: u64| now + Duration::from_secs(n * 3600);
        assert!(!activity.is_over(hours(11), true));
        assert!(activity.is_over(hours(12), true));
    }
}
