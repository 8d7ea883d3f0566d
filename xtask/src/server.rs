//! A small web server for a folder of static files, such as `dist/`.
//!
//! It behaves like any static host, so that what works here works there; tower-http finds and sends the files. For
//! tests, it can serve the folder under a path, send `.wasm` with a wrong type, and it logs all requests.
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

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::extract;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use tokio::sync::oneshot;
use tower_http::services::ServeDir;

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Site {
    root: PathBuf,
    /// The path under which the folder appears; starts and ends with `/`.
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

    /// Serves the folder under a path: `/a/b/`.
    pub fn under(mut self, path: &str) -> Site {
        self.prefix = format!("/{}/", path.trim_matches('/')).replace("//", "/");
        self
    }

    /// Sends `.wasm` files with this MIME type, like a misconfigured host.
    pub fn wasm_type(mut self, mime: &'static str) -> Site {
        self.wasm_type = mime;
        self
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, or another method.
    pub method: String,
    /// The path with its query, as requested.
    pub target: String,
    /// The response status.
    pub status: u16,
    /// The request's headers that identify the user or the referring page.
    pub identifying: Vec<&'static str>,
}

/// Headers that browsers can omit and that identify the user or the referring page.
const IDENTIFYING: [&str; 3] = ["authorization", "cookie", "referer"];

/// A running server. Ends with [`stop`](Server::stop) or when it is dropped.
#[derive(Debug)]
pub struct Server {
    url: String,
    log: Log,
    /// The server ends when this is dropped.
    running: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Log = Arc<Mutex<Vec<Request>>>;

impl Server {
    /// Serves `site` on this machine only. Port 0 uses any free one.
    pub fn start(site: Site, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}{}", listener.local_addr()?, site.prefix);
        let log = Log::default();

        let files = ServeDir::new(&site.root);
        let state = (Arc::new(site), log.clone());
        let app = Router::new()
            .fallback_service(files)
            .layer(middleware::from_fn_with_state(state, answer));

        let (running, stopped) = oneshot::channel();
        // A thread of its own, so that tests may start and stop servers inside their own runtime.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            let _context = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::spawn(axum::serve(listener, app).into_future());
                let _ = stopped.await;
            });
            // The runtime is dropped here, and with it the port and every connection.
        });
        Ok(Server {
            url,
            log,
            running: Some(running),
            thread: Some(thread),
        })
    }

    /// The URL of the site's front page.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Every request answered so far, in the order of the responses.
    pub fn log(&self) -> Vec<Request> {
        locked(&self.log).clone()
    }

    /// Closes the port. Later connections are refused.
    pub fn stop(self) {
        drop(self);
    }

    /// Serves until the process is terminated.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running = None;
        self.join();
    }
}

/// Answers a request with a file of the site and logs it.
async fn answer(
    extract::State((site, log)): extract::State<(Arc<Site>, Log)>,
    mut request: extract::Request,
    next: Next,
) -> Response {
    let method = request.method().to_string();
    let uri = request.uri().clone();
    let mut identifying = IDENTIFYING.to_vec();
    identifying.retain(|name| request.headers().contains_key(*name));
    let query = uri
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let prefix = &site.prefix;
    let inside = uri.path().strip_prefix(prefix.as_str());
    let mut response = if format!("{}/", uri.path()) == *prefix {
        Redirect::permanent(&format!("{prefix}{query}")).into_response()
    } else if let Some(Ok(inside)) = inside.map(|path| format!("/{path}{query}").parse()) {
        *request.uri_mut() = inside;
        let mut response = next.run(request).await;
        // The redirect of a folder does not include the prefix.
        if let Some(Ok(to)) = response.headers().get(LOCATION).map(HeaderValue::to_str)
            && let Ok(to) = HeaderValue::try_from(format!("{}{to}", prefix.trim_end_matches('/')))
        {
            response.headers_mut().insert(LOCATION, to);
        }
        response
    } else {
        StatusCode::NOT_FOUND.into_response()
    };
    set_headers(response.headers_mut(), &site, &query);

    // Logged before it is sent, so that a client with the response finds it in the log.
    locked(&log).push(Request {
        method,
        target: uri.to_string(),
        status: response.status().as_u16(),
        identifying,
    });
    response
}

fn set_headers(headers: &mut HeaderMap, site: &Site, query: &str) {
    let mime = headers
        .get(CONTENT_TYPE)
        .and_then(|mime| mime.to_str().ok());
    let is_page = mime == Some("text/html");
    let mime = match mime {
        Some("application/wasm") => Some(HeaderValue::from_static(site.wasm_type)),
        Some(mime) if mime.starts_with("text/") && !mime.contains(';') => {
            HeaderValue::try_from(format!("{mime}; charset=utf-8")).ok()
        }
        _ => None,
    };
    headers.extend(mime.map(|mime| (CONTENT_TYPE, mime)));
    // A URL with a build id always has the same content; everything else may change with the next build.
    let cache = if query.starts_with("?v=") && !is_page {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// The log remains readable even if a thread panicked while writing.
fn locked(log: &Mutex<Vec<Request>>) -> MutexGuard<'_, Vec<Request>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
