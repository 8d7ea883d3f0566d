//! `cargo xtask dist`: the static site, and how large it is.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::page::{self, at};
use crate::project::Project;
use crate::stamp::files;

/// Builds `dist/` and prints each file's size: as it is, and as a server would send it.
pub(crate) fn dist(project: &Project) -> Result<(), String> {
    page::build(project)?;
    let sizes = sizes(project)?;
    println!("\n{}", table(&sizes));
    if sizes.iter().any(|size| size.brotli.is_none()) {
        println!("For the column that is empty, install the program of that name.");
    }
    println!("The site is in {}.", project.dist.display());
    Ok(())
}

/// Bytes of a file; `None` where the compressor is missing.
struct Size {
    name: String,
    raw: u64,
    gzip: Option<u64>,
    brotli: Option<u64>,
}

fn sizes(project: &Project) -> Result<Vec<Size>, String> {
    let mut sizes = Vec::new();
    for name in files(&project.dist)? {
        let file = project.dist.join(&name);
        sizes.push(Size {
            name,
            raw: fs::metadata(&file).map_err(at(&file))?.len(),
            gzip: compressed(project.command("gzip").arg("-9c"), &file),
            brotli: compressed(project.command("brotli").args(["-q", "11", "-c"]), &file),
        });
    }
    sizes.sort_by(|a, b| b.raw.cmp(&a.raw).then_with(|| a.name.cmp(&b.name)));
    Ok(sizes)
}

/// How much comes out of a compressor.
fn compressed(command: &mut Command, file: &Path) -> Option<u64> {
    let output = command.arg(file).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(())?;
    u64::try_from(output.stdout.len()).ok()
}

fn table(sizes: &[Size]) -> String {
    let sum = |of: fn(&Size) -> Option<u64>| sizes.iter().map(of).sum::<Option<u64>>();
    let total = Size {
        name: "total".to_owned(),
        raw: sizes.iter().map(|size| size.raw).sum(),
        gzip: sum(|size| size.gzip),
        brotli: sum(|size| size.brotli),
    };
    let width = sizes.iter().map(|size| size.name.len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>10}  {:>10}  {:>10}\n",
        "", "bytes", "gzip", "brotli"
    );
    for size in sizes.iter().chain([&total]) {
        let [raw, gzip, brotli] = [Some(size.raw), size.gzip, size.brotli].map(cell);
        text += &format!(
            "{:width$}  {raw:>10}  {gzip:>10}  {brotli:>10}\n",
            size.name
        );
    }
    text
}

fn cell(bytes: Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| bytes.to_string())
}
