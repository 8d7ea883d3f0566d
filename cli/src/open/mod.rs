//! `dormer open`: serves the page embedded in this binary, only on this computer, with the named traces.
//!
//! | file | what |
//! |---|---|
//! | `page` | the one-file page, as it is served |
//! | `rules` | which requests are allowed |
//! | `http` | reads requests, writes responses |
//! | `server` | connections, and when to exit |
//! | `traces` | the files that may be read, and nothing else |
//! | `runs` | what a folder of runs contains |
//! | `names` | what a trace's file name says |

mod http;
mod names;
mod page;
mod rules;
mod runs;
mod server;
mod traces;

use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};

use crate::args::OpenArgs;
use crate::stdout::Out;
use crate::{Failure, stdout};
use rules::Access;
use server::Server;
use traces::Traces;

/// Serves the page with the traces, and starts a browser that shows them.
pub(crate) fn run(args: &OpenArgs, out: &mut Out) -> Result<(), Failure> {
    let traces = Traces::of(&args.paths)?;
    let page = page::served(traces.are_listed())?;
    // Any free port, on no other interface: remote users can use `ssh -L`.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(cannot_serve)?;
    let port = listener.local_addr().map_err(cannot_serve)?.port();
    let access = Access::new(port)?;
    let url = format!("{}{}", access.url(), traces.place());
    let ends = match args.keep {
        true => "It ends with Ctrl-C, or after 12 hours.",
        false => "It ends when the page is closed, with Ctrl-C, or after 12 hours.",
    };
    writeln!(out, "Dormer is at {url}\n{ends}")?;
    out.flush()?;
    let server = Server::start(listener, access, page, traces).map_err(cannot_serve)?;
    let has_browser = !args.no_browser && has_display() && ::open::that_detached(&url).is_ok();
    if !has_browser && !args.no_browser {
        stdout::complain(&format!(
            "no browser can be started here; from another computer, `ssh -L {port}:127.0.0.1:{port} HOST` makes the address work there"
        ));
    }
    server.wait(args.keep);
    Ok(())
}

fn cannot_serve(error: io::Error) -> Failure {
    Failure::of_file("cannot listen on 127.0.0.1", &error)
}

/// Whether there is a display for a browser. Without one, a text browser would take over the terminal.
fn has_display() -> bool {
    const VARIABLES: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(windows, target_os = "macos")) || VARIABLES.iter().any(is_set)
}
