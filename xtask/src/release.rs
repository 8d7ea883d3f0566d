//! `cargo xtask dist --release`: the published files of a version, in `release/`, and whether they are reproducible.
//!
//! ```text
//! release/dormer-0.1.0-TARGET        the command line with the page inside
//!         dormer-0.1.0.html          the page as one file
//!         dormer-0.1.0-site.tar.gz   the page as a site, the content of dist/
//!         dormer-0.1.0.cdx.json      what all of it is made of (CycloneDX)
//!         SHA256SUMS
//! ```
//!
//! The same commit gives the same bytes wherever it is built, with the same versions of Rust and wasm-opt: compilers
//! omit the paths of the checkout and of Cargo's home, and archives contain no times.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

use crate::page::{self, Effort, at};
use crate::project::{Project, output, run};
use crate::stamp::files;
use crate::{bom, one_file};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The Cargo profile of published builds.
pub(crate) const PROFILE: &str = "dist";

/// Builds everything into `release/`.
pub(crate) fn release(project: &Project) -> Result<(), String> {
    let project = &for_release(project)?;
    let target = host(project)?;
    page::build(project, Effort::Release)?;
    run(project
        .cargo()
        .args(["build", "--profile", PROFILE, "--locked"])
        .args(["--package", "dormer"])
        .args(["--features", "page", "--target", &target])
        .env("DORMER_DIST", &project.dist))?;
    let folder = project.root.join("release");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let exe = env::consts::EXE_SUFFIX;
    let program = project.target.join(&target).join(PROFILE);
    copy(
        &program.join(format!("dormer{exe}")),
        &folder.join(format!("dormer-{VERSION}-{target}{exe}")),
    )?;
    copy(
        &project.dist.join(one_file::NAME),
        &folder.join(format!("dormer-{VERSION}.html")),
    )?;
    let site = folder.join(format!("dormer-{VERSION}-site.tar.gz"));
    pack(&project.dist, &site).map_err(at(&site))?;
    let bom = folder.join(format!("dormer-{VERSION}.cdx.json"));
    fs::write(&bom, bom::bill_of_materials(project, &target)?).map_err(at(&bom))?;
    let sums = folder.join("SHA256SUMS");
    let text = sums_of(&folder)?;
    fs::write(&sums, &text).map_err(at(&sums))?;
    print!("{text}");
    println!("The published files are in {}.", folder.display());
    Ok(())
}

/// Builds the last commit twice, in two places, and compares all published files.
pub(crate) fn verify(project: &Project) -> Result<(), String> {
    let base = project.target.join("verify");
    if base.exists() {
        fs::remove_dir_all(&base).map_err(at(&base))?;
    }
    // Paths of different lengths: a path that remains somewhere shifts what follows it.
    let mut sums = Vec::new();
    for place in ["one", "another/place"] {
        let checkout = base.join(place);
        let clone = ["clone", "--quiet", "--no-hardlinks"];
        run(project
            .command("git")
            .args(clone)
            .arg(&project.root)
            .arg(&checkout))?;
        println!("Building in {}.", checkout.display());
        run(project
            .cargo()
            .args(["xtask", "dist", "--release"])
            .current_dir(&checkout)
            .env("CARGO_TARGET_DIR", checkout.join("target"))
            .env("DORMER_TOOLS", &project.tools))?;
        let list = checkout.join("release/SHA256SUMS");
        sums.push(fs::read_to_string(&list).map_err(at(&list))?);
    }
    match sums.as_slice() {
        [one, another] if one == another => {
            println!("Both builds are the same, byte by byte.");
            Ok(())
        }
        _ => Err(format!(
            "The builds differ: compare them in {}.",
            base.display()
        )),
    }
}

/// The same project with a target folder of its own, where compilers omit paths.
fn for_release(project: &Project) -> Result<Project, String> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => {
            let user = env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"));
            PathBuf::from(user.ok_or("no HOME is set")?).join(".cargo")
        }
    };
    let target = project.target.join("release-files");
    // If several match, compilers use the last.
    let places = [
        (&home, "/cargo"),
        (&project.root, "/dormer"),
        (&target, "/target"),
    ];
    let flags =
        places.map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    Ok(Project {
        flags: flags.to_vec(),
        target,
        ..project.clone()
    })
}

/// This machine's target, as named by rustc.
fn host(project: &Project) -> Result<String, String> {
    let version = output(project.command("rustc").arg("-vV")).unwrap_or_default();
    let mut lines = version.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "`rustc -vV` does not name the host".to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map_err(at(from))?;
    Ok(())
}

/// Packs the files of a site, sorted by name, without times and owners. This includes the one-file page, which the
/// site's Export requests, but not wheels, which are in the same folder.
fn pack(folder: &Path, archive: &Path) -> io::Result<()> {
    let gzip = GzBuilder::new().write(File::create(archive)?, Compression::best());
    let mut tar = Builder::new(gzip);
    let names = files(folder).map_err(io::Error::other)?;
    for name in names.iter().filter(|name| !name.ends_with(".whl")) {
        let bytes = fs::read(folder.join(name))?;
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("dormer/{name}"), bytes.as_slice())?;
    }
    tar.into_inner()?.finish()?.flush()
}

/// The checksums of the files in a folder, in the format of `sha256sum --check`.
fn sums_of(folder: &Path) -> Result<String, String> {
    let mut text = String::new();
    for name in files(folder)? {
        let path = folder.join(&name);
        let bytes = fs::read(&path).map_err(at(&path))?;
        for byte in Sha256::digest(&bytes) {
            text += &format!("{byte:02x}");
        }
        text += &format!("  {name}\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_the_same_whenever_it_is_packed() {
        let base = tempfile::tempdir().unwrap();
        let site = base.path().join("site");
        fs::create_dir_all(&site).unwrap();
        let archives = ["a.tar.gz", "b.tar.gz"].map(|name| base.path().join(name));
        for archive in &archives {
            for (name, text) in [
                ("worker.js", "1"),
                ("index.html", "2"),
                ("dormer.html", "3"),
                ("dormer_trace-0.1.0.whl", "4"),
            ] {
                fs::write(site.join(name), text).unwrap();
            }
            pack(&site, archive).unwrap();
        }
        let [a, b] = archives.map(|archive| fs::read(archive).unwrap());
        assert_eq!(a, b);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(a.as_slice()));
        let entries = archive.entries().unwrap();
        let members: Vec<(String, u64)> = entries
            .map(|entry| {
                let entry = entry.unwrap();
                let path = entry.path().unwrap().display().to_string();
                (path, entry.header().mtime().unwrap())
            })
            .collect();
        let expected = [
            "dormer/dormer.html",
            "dormer/index.html",
            "dormer/worker.js",
        ];
        assert_eq!(members, expected.map(|path| (path.to_owned(), 0)));
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        assert_eq!(
            sums_of(folder.path()).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n"
        );
    }
}
