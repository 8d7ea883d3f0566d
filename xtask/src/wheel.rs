//! `cargo xtask wheel`: the Python wheel with the command line and the page in it, and the tests of its module.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::page::{self, Effort, at};
use crate::project::{Failure, Project, run};
use crate::release::PROFILE;
use crate::tools;

pub(crate) const USAGE: &str = "[--test [EXTRA,…]]";

/// Builds the wheel into `dist/`. With `--test`, it is installed into a new virtual environment with the named extras
/// (ray, spark, dask, duckdb, urls), and the module's tests are run; those for other extras report that they are
/// skipped.
pub(crate) fn wheel(project: &Project, args: &[String]) -> Result<(), Failure> {
    let extras = match args {
        [] => None,
        [test] if test == "--test" => Some(""),
        [test, extras] if test == "--test" => Some(extras.as_str()),
        _ => return Err(Failure::Usage(format!("cargo xtask wheel {USAGE}"))),
    };
    let wheel = build(project)?;
    println!("The wheel is {}, {}.", wheel.display(), size(&wheel)?);
    if let Some(extras) = extras {
        test(project, &wheel, extras)?;
    }
    Ok(())
}

/// The largest allowed size of a wheel with the page.
const MOST_MB: f64 = 8.0;

/// A wheel of 0.3 MB less, whose command takes 7 % longer: code for one address, and functions that ask to be inlined are
/// only up to a smaller size.
const SMALLER: &str = "-Crelocation-model=static -Cllvm-args=-inlinehint-threshold=100";

fn size(wheel: &Path) -> Result<String, String> {
    let mb = fs::metadata(wheel).map_err(at(wheel))?.len() as f64 / 1e6;
    Ok(format!("{mb:.1} MB; the goal is {MOST_MB} MB"))
}

fn build(project: &Project) -> Result<PathBuf, String> {
    page::build(project, Effort::Release)?;
    let maturin = tools::maturin(project)?;
    let tools = maturin.parent().unwrap_or(&project.tools).to_owned();
    for old in wheels(&project.dist) {
        fs::remove_file(&old).map_err(at(&old))?;
    }
    let mut command = project.command(maturin);
    command
        // maturin asks the first Python on the path for Zig.
        .env("PATH", project.path_after(&tools))
        .current_dir(project.root.join("python"))
        .env("DORMER_DIST", &project.dist)
        .args(["build", "--profile", PROFILE, "--features", "page"])
        .args(["--compression-level", "9", "--out"])
        .arg(&project.dist);
    // Clusters have old C libraries: Zig links against one from 2014.
    if cfg!(target_os = "linux") {
        command
            .args(["--zig", "--compatibility", "manylinux2014"])
            .env("RUSTFLAGS", SMALLER);
    }
    run(&mut command)?;
    let wheel = wheels(&project.dist)
        .pop()
        .ok_or_else(|| format!("maturin left no wheel in {}", project.dist.display()))?;
    compress(&wheel).map_err(|error| format!("{}: {error}", wheel.display()))?;
    Ok(wheel)
}

/// The level of the zip crate at which zopfli tries five times: 9 is the best of the usual ones.
const ZOPFLI: i64 = 14;

/// Compresses the files of a wheel again: a few percent smaller, for half a minute, and unpacked as before.
fn compress(wheel: &Path) -> io::Result<()> {
    let mut old = ZipArchive::new(File::open(wheel)?)?;
    let unfinished = wheel.with_extension("part");
    let mut new = ZipWriter::new(File::create(&unfinished)?);
    for index in 0..old.len() {
        let mut file = old.by_index(index)?;
        let options = file
            .options()
            .compression_method(CompressionMethod::Deflated);
        new.start_file(file.name()?, options.compression_level(Some(ZOPFLI)))?;
        io::copy(&mut file, &mut new)?;
    }
    new.finish()?;
    fs::rename(unfinished, wheel)
}

fn wheels(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect()
}

/// In a new environment, so that nothing already installed has an influence.
fn test(project: &Project, wheel: &Path, extras: &str) -> Result<(), String> {
    let folder = project.target.join("wheel-test");
    let python = tools::environment(project, &folder)?;
    let with_extras = match extras {
        "" => wheel.display().to_string(),
        extras => format!("{}[{extras}]", wheel.display()),
    };
    let pip = ["-m", "pip", "install", "--quiet", "pytest"];
    run(project.command(&python).args(pip).arg(with_extras))?;
    run(project
        .command(&python)
        .args(["-m", "pytest"])
        .current_dir(project.root.join("python/tests")))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn a_wheel_compressed_again_holds_the_same_files() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("dormer.whl");
        let text: String = (0..2000).map(|line| format!("row {line}\n")).collect();
        let files = [
            ("bin/dormer", 0o755, text.as_str()),
            ("RECORD", 0o644, "bin/dormer,,\n"),
        ];

        let mut zip = ZipWriter::new(File::create(&wheel).unwrap());
        for (name, mode, content) in files {
            let options = SimpleFileOptions::default().unix_permissions(mode);
            zip.start_file(name, options).unwrap();
            zip.write_all(content.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        let before = fs::metadata(&wheel).unwrap().len();

        compress(&wheel).unwrap();

        assert!(fs::metadata(&wheel).unwrap().len() < before);
        let mut zip = ZipArchive::new(File::open(&wheel).unwrap()).unwrap();
        for (index, (name, mode, content)) in files.into_iter().enumerate() {
            let mut file = zip.by_index(index).unwrap();
            assert_eq!(file.name().unwrap(), name);
            assert_eq!(file.unix_mode().map(|bits| bits & 0o777), Some(mode));
            let mut unpacked = String::new();
            file.read_to_string(&mut unpacked).unwrap();
            assert_eq!(unpacked, content);
        }
    }
}
