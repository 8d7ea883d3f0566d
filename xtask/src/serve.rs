//! `cargo xtask serve`: builds the page and shows it.

use std::io::ErrorKind;

use xtask::server::{Server, Site};

use crate::page;
use crate::project::{Failure, Project};

const PORT: u16 = 8080;

/// How many ports after the first one are tried.
const TRIES: u16 = 100;

/// Builds, then serves `dist/` until it is interrupted. `--port N` insists on a port; without it the next free one is taken.
pub(crate) fn serve(project: &Project, args: &[String]) -> Result<(), Failure> {
    let wanted = match args {
        [] => None,
        [option, port] if option == "--port" => {
            let number = port.parse::<u16>();
            Some(number.map_err(|_| Failure::Usage(format!("`{port}` is no port")))?)
        }
        _ => return Err(Failure::Usage(format!("unknown: {}", args.join(" ")))),
    };
    page::build(project)?;
    let server = match wanted {
        Some(port) => start(project, port)?,
        None => start_at_first_free(project)?,
    };
    println!("\nDormer is at {} (Ctrl-C ends it)", server.url());
    server.wait();
    Ok(())
}

fn start_at_first_free(project: &Project) -> Result<Server, String> {
    let mut ports = PORT..PORT + TRIES;
    loop {
        let Some(port) = ports.next() else {
            return start(project, 0);
        };
        match Server::start(Site::new(&project.dist), port) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            other => return other.map_err(|error| format!("port {port}: {error}")),
        }
    }
}

fn start(project: &Project, port: u16) -> Result<Server, String> {
    Server::start(Site::new(&project.dist), port).map_err(|error| format!("port {port}: {error}"))
}
