//! The project's own commands. `cargo xtask` lists them.
//!
//! Each sets up what is missing on the machine, announces that first, and then does its work. Modules that are not
//! commands: `project` has the paths, `tools` the required programs, `page` builds the page, `links` lists its parts,
//! `style_sheets` merges its style sheets, `scripts` strips its scripts, `stamp` adds the build id, `one_file` makes one
//! file of it, `bom` lists the crates in it, `trunk` compares with the page that Trunk builds, and `skips` counts the
//! tests that could not run.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "commands print for the user"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by panicking"))]

mod bench;
mod bom;
mod check;
mod dist;
mod links;
mod one_file;
mod page;
mod project;
mod release;
mod scripts;
mod serve;
mod skips;
mod stamp;
mod style_sheets;
mod tools;
mod trunk;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use project::{Failure, Project};

struct Command {
    name: &'static str,
    args: &'static str,
    about: &'static str,
    run: fn(&Project, &[String]) -> Result<(), Failure>,
}

#[rustfmt::skip]
const COMMANDS: &[Command] = &[
    Command { name: "serve", args: "[--port N] [--quick]", about: "build the page and serve it on this machine; quick: sooner, but larger and slower", run: serve::serve },
    Command { name: "test", args: "", about: "format, lints, docs, and all tests, those in a browser too", run: |project, _| check::test(project) },
    Command { name: "dist", args: dist::USAGE, about: "build the static site into dist/ and print its sizes; release: all that is published, into release/; verify: build that twice and compare", run: dist::dist },
    Command { name: "bench", args: xtask::bench_options::USAGE, about: "measure traces natively and in Chromium, print, save, compare and write the figures", run: bench::bench },
    Command { name: "screenshots", args: "", about: "take the pictures of docs/guide.md anew", run: |project, _| Ok(bench::screenshots(project)?) },
    Command { name: "tile", args: "TRACE N OUT", about: "write a trace that repeats another N times", run: bench::tile },
    Command { name: "wheel", args: wheel::USAGE, about: "build the page and the Python wheel with it into dist/; test: install it into an environment of its own and run its tests", run: wheel::wheel },
    Command { name: "prepare", args: "", about: "set up what building the page takes (Trunk calls it)", run: |project, _| Ok(tools::for_trunk(project, is_for_release())?) },
    Command { name: "stamp", args: "", about: "finish a build of the page (Trunk calls it)", run: |project, _| stamp_staging(project) },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = args.first().map_or("", String::as_str);
    if matches!(name, "help" | "--help" | "-h") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let result = match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) if command.args.is_empty() && args.len() > 1 => {
            Err(Failure::Usage(format!("unknown: {}", args[1..].join(" "))))
        }
        Some(command) => Project::find()
            .map_err(Failure::from)
            .and_then(|project| (command.run)(&project, &args[1..])),
        None if name.is_empty() => Err(Failure::Usage("name a command".to_owned())),
        None => Err(Failure::Usage(format!("there is no command `{name}`"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(sentence)) => {
            eprintln!("{sentence}\n\n{}", usage());
            ExitCode::from(2)
        }
        Err(Failure::Failed(sentence)) => {
            if !sentence.is_empty() {
                eprintln!("{sentence}");
            }
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = "usage: cargo xtask COMMAND\n".to_owned();
    for Command {
        name, args, about, ..
    } in COMMANDS
    {
        let call = format!("{name} {args}");
        text += &format!("\n  {call:<36}{about}");
    }
    text
}

/// Trunk passes this to the commands it calls.
fn is_for_release() -> bool {
    std::env::var("TRUNK_PROFILE").is_ok_and(|profile| profile == "release")
}

/// Stamps the folder into which Trunk has built.
fn stamp_staging(project: &Project) -> Result<(), Failure> {
    let Some(staging) = std::env::var_os("TRUNK_STAGING_DIR").map(PathBuf::from) else {
        return Err(Failure::Usage("`stamp` is called by Trunk".to_owned()));
    };
    Ok(page::finish(project, &staging, is_for_release())?)
}
