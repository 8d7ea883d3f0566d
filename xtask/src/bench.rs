//! `cargo xtask bench`, `tile` and `screenshots`: build what is measured or shown, and call the programs, which live with the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::page::{self, Effort, at};
use crate::project::{Failure, Project, run};
use crate::tools;

/// Measures each trace, natively and in Chromium. With `--tile N` each is repeated N times first; with `--frames` it is measured
/// how smooth the page is with it.
pub(crate) fn bench(project: &Project, args: &[String]) -> Result<(), Failure> {
    let mut traces = Vec::new();
    let mut n_tiles = None;
    let mut is_frames = false;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--tile" {
            n_tiles = Some(number(rest.next())?);
        } else if arg == "--frames" {
            is_frames = true;
        } else {
            traces.push(trace(arg)?);
        }
    }
    if traces.is_empty() {
        return Err(Failure::Usage("bench needs a trace".to_owned()));
    }
    if let Some(n) = n_tiles {
        traces = traces
            .iter()
            .map(|trace| tiled(project, trace, n))
            .collect::<Result<_, _>>()?;
    }
    page::build(project, Effort::Release)?;
    tools::for_browser(project)?;
    if is_frames {
        let mut program = program(project);
        return Ok(run(program.arg("frames").arg(&project.dist).args(&traces))?);
    }
    run(project
        .cargo()
        .args(["build", "--release", "--package", "dormer"]))?;
    let dormer = project.target.join("release/dormer");
    run(program(project)
        .arg("bench")
        .args([&project.dist, &dormer])
        .args(&traces))?;
    Ok(())
}

/// Takes the pictures of the guide.
pub(crate) fn screenshots(project: &Project) -> Result<(), String> {
    page::build(project, Effort::Release)?;
    tools::for_browser(project)?;
    run(project
        .cargo()
        .args(["run", "--quiet", "--package", "dormer-tests"])
        .args(["--example", "screenshots"]))
}

/// Writes a trace that repeats another: `tile TRACE N OUT`.
pub(crate) fn tile(project: &Project, args: &[String]) -> Result<(), Failure> {
    let [from, n, out] = args else {
        return Err(Failure::Usage("tile needs TRACE N OUT".to_owned()));
    };
    let out = here()?.join(out);
    Ok(write_tiled(project, &trace(from)?, number(Some(n))?, &out)?)
}

/// The repeated trace, kept beside the builds: making 1 GB takes a while.
fn tiled(project: &Project, trace: &Path, n: u32) -> Result<PathBuf, String> {
    let folder = project.target.join("tiled");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".json.gz");
    let out = folder.join(format!("{name} x {n}.json.gz"));
    if !out.exists() {
        write_tiled(project, trace, n, &out)?;
    }
    Ok(out)
}

fn write_tiled(project: &Project, trace: &Path, n: u32, out: &Path) -> Result<(), String> {
    println!("Writing {}.", out.display());
    run(program(project)
        .arg("tile")
        .arg(trace)
        .arg(n.to_string())
        .arg(out))
}

/// The benchmark, built as the command line is released.
fn program(project: &Project) -> Command {
    let mut command = project.cargo();
    command.args(["bench", "--quiet", "--package", "dormer-tests"]);
    command.args(["--bench", "traces", "--"]);
    command
}

fn trace(name: &str) -> Result<PathBuf, Failure> {
    if name.starts_with('-') {
        return Err(Failure::Usage(format!("unknown: {name}")));
    }
    let file = here()?.join(name);
    Ok(file.canonicalize().map_err(at(&file))?)
}

/// Cargo runs us where the user is, and the benchmark at the top.
fn here() -> Result<PathBuf, String> {
    env::current_dir().map_err(|error| error.to_string())
}

fn number(text: Option<&String>) -> Result<u32, Failure> {
    text.and_then(|text| text.parse().ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| Failure::Usage("how many times the trace is repeated: a number".to_owned()))
}
