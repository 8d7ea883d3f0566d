//! `cargo xtask serve`: builds the page and serves it.

use xtask::server::{Server, Site};

use crate::page::{self, Effort};
use crate::project::{Failure, Project};
use crate::tools;

const PORT: u16 = 8080;

/// The number of further ports to try.
const TRIES: u16 = 100;

/// Builds, then serves `dist/` until interrupted. `--port N` insists on a port; by default, the next free one is used.
/// `--quick` is for trying out changes to the page.
pub(crate) fn serve(project: &Project, args: &[String]) -> Result<(), Failure> {
    let mut port = None;
    let mut effort = Effort::Ready;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--port" => {
                let text = rest.next().map_or("", String::as_str);
                let number = text.parse::<u16>();
                port = Some(number.map_err(|_| Failure::Usage(format!("`{text}` is not a port")))?);
            }
            "--quick" => effort = Effort::Quick,
            _ => return Err(Failure::Usage(format!("unknown: {arg}"))),
        }
    }
    page::build(project, effort)?;
    if effort == Effort::Quick {
        println!("This page is larger and slower than what `cargo xtask dist` builds.");
    } else if tools::wasm_opt(project).is_none() {
        println!("The page is larger than it need be: `cargo xtask dist` sets up wasm-opt.");
    }
    // The requested port; otherwise the next free one, or any.
    let ports: Vec<u16> = match port {
        Some(port) => vec![port],
        None => (PORT..PORT + TRIES).chain([0]).collect(),
    };
    let server = start(project, &ports)?;
    println!("\nDormer is at {} (Ctrl-C ends it)", server.url());
    server.wait();
    Ok(())
}

/// A server at the first available of these ports.
fn start(project: &Project, ports: &[u16]) -> Result<Server, String> {
    let mut why = String::new();
    for port in ports {
        match Server::start(Site::new(&project.dist), *port) {
            Ok(server) => return Ok(server),
            Err(error) => why = format!("port {port}: {error}"),
        }
    }
    Err(why)
}
