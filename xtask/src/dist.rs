//! `cargo xtask dist`: the static site, and how large it is.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::page::{self, Effort, at};
use crate::project::Project;
use crate::stamp::files;

/// Builds `dist/` and prints each file's size: as it is, and as a server would send it.
pub(crate) fn dist(project: &Project) -> Result<(), String> {
    page::build(project, Effort::Release)?;
    let sizes = sizes(project)?;
    println!("\n{}", table(&sizes));
    if sizes.iter().any(|(_, [.., brotli])| brotli.is_none()) {
        println!("For the column that is empty, install the program of that name.");
    }
    println!("The site is in {}.", project.dist.display());
    Ok(())
}

/// The name of a file and its bytes: as it is, by gzip and by brotli. `None` where the compressor is
/// missing.
type Size = (String, [Option<u64>; 3]);

fn sizes(project: &Project) -> Result<Vec<Size>, String> {
    let mut sizes = Vec::new();
    for name in files(&project.dist)? {
        let file = project.dist.join(&name);
        let raw = fs::metadata(&file).map_err(at(&file))?.len();
        let gzip = compressed(project.command("gzip").arg("-9c"), &file);
        let brotli = compressed(project.command("brotli").args(["-q", "11", "-c"]), &file);
        sizes.push((name, [Some(raw), gzip, brotli]));
    }
    // The names are sorted already.
    sizes.sort_by_key(|(_, [raw, ..])| Reverse(*raw));
    Ok(sizes)
}

/// How much comes out of a compressor.
fn compressed(command: &mut Command, file: &Path) -> Option<u64> {
    let output = command.arg(file).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(())?;
    u64::try_from(output.stdout.len()).ok()
}

fn table(sizes: &[Size]) -> String {
    let sum = |at: usize| sizes.iter().map(|(_, bytes)| bytes[at]).sum();
    let total = ("total".to_owned(), [sum(0), sum(1), sum(2)]);
    let rows = sizes.iter().chain([&total]).map(|(name, bytes)| {
        let cells = bytes.map(|bytes| bytes.map_or(String::new(), |bytes| bytes.to_string()));
        (name.as_str(), cells)
    });
    let heads = ("", ["bytes", "gzip", "brotli"].map(str::to_owned));
    let width = sizes.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = [heads]
        .into_iter()
        .chain(rows)
        .map(|(name, [raw, gzip, brotli])| {
            format!("{name:width$}  {raw:>10}  {gzip:>10}  {brotli:>10}\n")
        });
    lines.collect()
}
