//! Connections, each on a thread of its own, and when the server exits.

use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::http::{Answer, Body, Request, Status};
use super::rules::{Asked, Door};
use super::traces::Traces;

/// Clients that have not sent a request by then are disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// A reloaded page sends a new request within this time.
const GRACE: Duration = Duration::from_secs(5);

/// A forgotten server exits after this time.
const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);

/// The most concurrent connections; browsers open six.
const MOST_CONNECTIONS: usize = 64;

/// A running server.
pub(super) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    door: Door,
    page: Arc<[u8]>,
    traces: Traces,
    life: Mutex<Life>,
}

/// The state that determines whether the server is still needed.
struct Life {
    began: Instant,
    last_asked: Instant,
    was_left: bool,
    n_connections: usize,
    /// Connections on which a response is being sent.
    n_sending: usize,
}

impl Life {
    fn new(now: Instant) -> Life {
        Life {
            began: now,
            last_asked: now,
            was_left: false,
            n_connections: 0,
            n_sending: 0,
        }
    }

    /// Whether it is time to exit.
    fn is_over(&self, now: Instant, keep: bool) -> bool {
        let is_left = self.was_left && self.n_sending == 0 && now - self.last_asked >= GRACE;
        is_left && !keep || now - self.began >= LONGEST
    }

    /// A client with the token has sent a request.
    fn asked(&mut self, asked: &Asked, now: Instant) {
        self.was_left = *asked == Asked::Bye;
        self.last_asked = now;
        self.n_sending += 1;
    }
}

impl Server {
    pub(super) fn start(
        listener: TcpListener,
        door: Door,
        page: Vec<u8>,
        traces: Traces,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            door,
            page: page.into(),
            traces,
            life: Mutex::new(Life::new(Instant::now())),
        });
        let server = Server {
            shared: shared.clone(),
        };
        thread::Builder::new().spawn(move || accept(&listener, &shared))?;
        Ok(server)
    }

    /// Returns when the server is no longer needed.
    pub(super) fn wait(self, keep: bool) {
        while !self.shared.life().is_over(Instant::now(), keep) {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Shared {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the request of a connection.
    fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let Some(request) = Request::read(stream)? else {
            return Ok(());
        };
        match &request {
            Err(status) => Answer::refused(*status).write(stream, false)?,
            Ok(request) => {
                let is_head = request.method == "HEAD";
                match self.door.asked(request) {
                    Err(status) => Answer::refused(status).write(stream, is_head)?,
                    Ok(asked) => {
                        self.life().asked(&asked, Instant::now());
                        let sent = self.what_is_asked(&asked).write(stream, is_head);
                        self.life().n_sending -= 1;
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

    fn what_is_asked(&self, asked: &Asked) -> Answer {
        let answer = match asked {
            Asked::Page => Some(Answer::bytes("text/html; charset=utf-8", self.page.clone())),
            Asked::Bye => Some(Answer::bytes("text/plain", [])),
            Asked::List => {
                let list = self.traces.list();
                list.map(|list| Answer::bytes("application/json", list))
            }
            Asked::Trace(at, name) => self.traces.open(*at, name).map(|(file, bytes)| Answer {
                status: Status::Done,
                mime: "application/octet-stream",
                body: Body::File(file, bytes),
            }),
        };
        answer.unwrap_or_else(|| Answer::refused(Status::NotFound))
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
        if shared.life().n_connections >= MOST_CONNECTIONS {
            continue;
        }
        shared.life().n_connections += 1;
        let of_thread = shared.clone();
        let started = thread::Builder::new().spawn(move || {
            // If a browser disconnects midway, there is nobody to report the error to.
            let _ = of_thread.answer(&mut stream);
            of_thread.life().n_connections -= 1;
        });
        if started.is_err() {
            shared.life().n_connections -= 1;
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
        let mut life = Life::new(now);
        assert!(!life.is_over(seconds(600), false), "nobody has closed it");
        life.asked(&Asked::Bye, seconds(600));
        life.n_sending -= 1;
        assert!(!life.is_over(seconds(604), false), "it may be loaded again");
        assert!(life.is_over(seconds(605), false));
        assert!(!life.is_over(seconds(605), true), "it is to be kept");
        life.asked(&Asked::Page, seconds(604));
        assert!(!life.is_over(seconds(700), false), "it was loaded again");
        life.asked(&Asked::Bye, seconds(700));
        assert!(
            !life.is_over(seconds(800), false),
            "another page is being sent"
        );
        life.n_sending = 0;
        assert!(life.is_over(seconds(800), false));
    }

    #[test]
    fn it_ends_after_half_a_day() {
        let now = Instant::now();
        let life = Life::new(now);
        let hours = |n: u64| now + Duration::from_secs(n * 3600);
        assert!(!life.is_over(hours(11), true));
        assert!(life.is_over(hours(12), true));
    }
}
