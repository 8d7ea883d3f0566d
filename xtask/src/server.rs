//! A small web server for a folder of static files, such as `dist/`.
//!
//! It does what any static host does and no more, so that what works here works there: `GET` and `HEAD`, one MIME type per
//! file ending, `index.html` for a folder. For tests it can put the folder under a path, send `.wasm` with a wrong type, and it
//! keeps a log of what was asked for.
//!
//! ```no_run
//! use xtask::server::{Server, Site};
//!
//! let server = Server::start(Site::new("dist").under("/a/b/"), 0)?;
//! println!("open {}", server.url());
//! assert!(server.log().is_empty());
//! server.stop();
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Site {
    root: PathBuf,
    /// The path the folder appears under; begins and ends with `/`.
    prefix: String,
    wasm_type: &'static str,
}

impl Site {
    /// The files of one folder, at `/`.
    pub fn new(root: impl Into<PathBuf>) -> Site {
        Site {
            root: root.into(),
            prefix: "/".to_owned(),
            wasm_type: "application/wasm",
        }
    }

    /// Puts the folder under a path: `/a/b/`.
    pub fn under(mut self, path: &str) -> Site {
        let path = path.trim_matches('/');
        self.prefix = if path.is_empty() {
            "/".to_owned()
        } else {
            format!("/{path}/")
        };
        self
    }

    /// Sends `.wasm` files with this MIME type, as a badly set up host would.
    pub fn wasm_type(mut self, mime: &'static str) -> Site {
        self.wasm_type = mime;
        self
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, or what else was tried.
    pub method: String,
    /// The path with its query, as it was asked for.
    pub target: String,
    /// The status that was answered.
    pub status: u16,
}

/// A running server. Ends with [`stop`](Server::stop) or when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    prefix: String,
    log: Arc<Mutex<Vec<Request>>>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `site` on this machine only. Port 0 takes any free one.
    pub fn start(site: Site, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let prefix = site.prefix.clone();
        let log = Arc::new(Mutex::new(Vec::new()));
        let stopping = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (site, log, stopping) = (Arc::new(site), log.clone(), stopping.clone());
            move || accept(&listener, &site, &log, &stopping)
        });
        Ok(Server {
            address,
            prefix,
            log,
            stopping,
            thread: Some(thread),
        })
    }

    /// Where the site's front page is.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.prefix)
    }

    /// Every request answered so far, in the order of the answers.
    pub fn log(&self) -> Vec<Request> {
        locked(&self.log).clone()
    }

    /// Closes the port. Whoever asks from now on is refused.
    pub fn stop(mut self) {
        self.end();
    }

    /// Serves until the process is ended from outside.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.stopping.store(true, Ordering::SeqCst);
        // The thread sleeps in `accept`: a connection of our own wakes it, and it drops the listener.
        let _ = TcpStream::connect(self.address);
        let _ = thread.join();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(
    listener: &TcpListener,
    site: &Arc<Site>,
    log: &Arc<Mutex<Vec<Request>>>,
    stopping: &AtomicBool,
) {
    for stream in listener.incoming() {
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (site, log) = (site.clone(), log.clone());
        // One thread a connection: a browser opens a handful, some of them without ever asking for anything.
        thread::spawn(move || {
            // A browser that went away is no error of ours.
            let _ = answer(stream, &site, &log);
        });
    }
}

/// Requests longer than this are no request for a file of ours.
const MAX_HEAD: usize = 16 * 1024;

fn answer(mut stream: TcpStream, site: &Site, log: &Mutex<Vec<Request>>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    let Some(head) = read_head(&mut stream)? else {
        return Ok(());
    };
    let mut words = head.lines().next().unwrap_or("").split(' ');
    let method = words.next().unwrap_or("").to_owned();
    let target = words.next().unwrap_or("").to_owned();
    let response = respond(site, &method, &target);

    // Logged before it is sent: who has the answer also finds it in the log.
    locked(log).push(Request {
        status: response.status,
        target,
        method: method.clone(),
    });
    stream.write_all(response.head().as_bytes())?;
    if method != "HEAD" {
        stream.write_all(&response.body)?;
    }
    stream.flush()
}

/// Reads up to the empty line; `None` when the connection ends before it.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&buffer[..n]);
        if bytes.windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
        if bytes.len() > MAX_HEAD {
            return Ok(None);
        }
    }
}

struct Response {
    status: u16,
    /// Headers beside those that every answer has.
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    fn plain(status: u16) -> Response {
        let text = format!("{status} {}\n", reason(status));
        Response {
            status,
            headers: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())],
            body: text.into_bytes(),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }

    fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let length = self.body.len();
        head += &format!("Content-Length: {length}\r\n");
        head += "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
        head
    }
}

fn respond(site: &Site, method: &str, target: &str) -> Response {
    if method != "GET" && method != "HEAD" {
        return Response::plain(405).with("Allow", "GET, HEAD");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path.len() + 1 == site.prefix.len() && site.prefix.starts_with(path) {
        return redirect(&site.prefix, query); // `/a/b` instead of `/a/b/`
    }
    let Some(inside) = path.strip_prefix(&site.prefix) else {
        return Response::plain(404);
    };
    let Some(mut file) = resolve(&site.root, inside) else {
        return Response::plain(404);
    };
    if file.is_dir() {
        if !path.ends_with('/') {
            // Relative links on the page are meant from inside the folder.
            return redirect(&format!("{path}/"), query);
        }
        file.push("index.html");
    }
    let Ok(body) = fs::read(&file) else {
        return Response::plain(404);
    };
    let mime = mime(&file, site.wasm_type);
    // A URL with a build id always means the same bytes; everything else may change with the next build.
    let cache = if query.starts_with("v=") && !mime.starts_with("text/html") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    Response {
        status: 200,
        headers: vec![
            ("Content-Type", mime.to_owned()),
            ("Cache-Control", cache.to_owned()),
        ],
        body,
    }
}

fn redirect(path: &str, query: &str) -> Response {
    let mark = if query.is_empty() { "" } else { "?" };
    Response::plain(308).with("Location", format!("{path}{mark}{query}"))
}

/// The file that a URL path means, if it is inside `root`.
fn resolve(root: &Path, path: &str) -> Option<PathBuf> {
    let mut file = root.to_owned();
    for segment in path.split('/') {
        let name = percent_decoded(segment)?;
        match name.as_str() {
            "" | "." => {}
            ".." => return None,
            _ if name.contains(['/', '\\', '\0', ':']) => return None,
            _ => file.push(name),
        }
    }
    // A symbolic link may still lead out of the folder.
    let (file, root) = (file.canonicalize().ok()?, root.canonicalize().ok()?);
    file.starts_with(root).then_some(file)
}

/// `%41` to `A`; `None` for what is no percent-encoded UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = tail;
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        let [high, low] = [digits[0], digits[1]].map(|digit| char::from(digit).to_digit(16));
        bytes.push(u8::try_from(high? * 16 + low?).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

fn mime(file: &Path, wasm_type: &'static str) -> &'static str {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => wasm_type,
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        308 => "Permanent Redirect",
        405 => "Method Not Allowed",
        _ => "Not Found",
    }
}

/// The log stays readable even if a thread died while it wrote.
fn locked(log: &Mutex<Vec<Request>>) -> MutexGuard<'_, Vec<Request>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
