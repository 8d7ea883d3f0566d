//! `cargo xtask dist`: builds the static site, and prints its size.

use std::cmp::Reverse;
use std::fs;

use xtask::weight::{Size, before_drop, of_site, sizes};

use crate::page::{self, Effort, at};
use crate::project::{Failure, Project};
use crate::{one_file, release, tools};

pub(crate) const USAGE: &str = "[--release | --verify]";

/// Builds the site, or all files of a release.
pub(crate) fn dist(project: &Project, args: &[String]) -> Result<(), Failure> {
    match args {
        [] => site(project)?,
        [release] if release == "--release" => release::release(project)?,
        [verify] if verify == "--verify" => release::verify(project)?,
        _ => return Err(Failure::Usage(format!("cargo xtask dist {USAGE}"))),
    }
    Ok(())
}

/// Builds `dist/` and prints each file's size: uncompressed, and as a server would send it.
fn site(project: &Project) -> Result<(), String> {
    page::build(project, Effort::Release)?;
    tools::want_brotli(project);
    let mut sizes = sizes(&project.dist).map_err(at(&project.dist))?;
    let page = project.dist.join("index.html");
    let html = fs::read_to_string(&page).map_err(at(&page))?;
    let first = before_drop(&html);
    let first = sum(
        "before a drop",
        sizes.iter().filter(|size| first.contains(&size.name)),
    );
    let total = sum("total of the site", of_site(&sizes));
    let has_all = total.gzip.is_some() && total.brotli.is_some();
    // The names are sorted already.
    sizes.sort_by_key(|size| Reverse(size.raw));
    sizes.extend([first, total]);
    println!("\n{}", table(&sizes));
    if !has_all {
        println!("For the column that is empty, install the program of that name.");
    }
    println!(
        "The site is in {}; {} is all of it as one file.",
        project.dist.display(),
        one_file::NAME
    );
    Ok(())
}

/// The sum over several files; `None` if the compressor is missing.
fn sum<'a>(name: &str, sizes: impl Iterator<Item = &'a Size> + Clone) -> Size {
    Size {
        name: name.to_owned(),
        raw: sizes.clone().map(|size| size.raw).sum(),
        gzip: sizes.clone().map(|size| size.gzip).sum(),
        brotli: sizes.map(|size| size.brotli).sum(),
    }
}

fn table(sizes: &[Size]) -> String {
    let width = sizes.iter().map(|size| size.name.len()).max().unwrap_or(0);
    let line = |name: &str, [raw, gzip, brotli]: [String; 3]| {
        format!("{name:width$}  {raw:>10}  {gzip:>10}  {brotli:>10}\n")
    };
    let mut text = line("", ["bytes", "gzip", "brotli"].map(str::to_owned));
    for size in sizes {
        let bytes = [Some(size.raw), size.gzip, size.brotli];
        let cells = bytes.map(|bytes| bytes.map_or(String::new(), |bytes| bytes.to_string()));
        text += &line(&size.name, cells);
    }
    text
}
