//! Builds the page.
//!
//! `index.html` lists its parts (`links`). Plain `trunk build --release` reads the same list and produces the same
//! files: `Trunk.toml` calls back twice, `cargo xtask prepare` before the build, `cargo xtask stamp` after it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use crate::links::{self, Part, Program};
use crate::one_file;
use crate::project::{Project, run};
use crate::scripts;
use crate::stamp::{build_id, files, hash, stamp, tidy};
use crate::style_sheets;
use crate::tools;

/// The compilation target of the page.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// The Cargo profile of a page for trying out changes.
const QUICK: &str = "quick";

/// The effort spent on a small and fast page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Faster to compile, especially incrementally: the page is twice as large, and slower.
    Quick,
    /// Compiled like a release, and optimized if wasm-opt is already available.
    Ready,
    /// As in a release.
    Release,
}

/// Builds the page into `dist/`.
pub(crate) fn build(project: &Project, effort: Effort) -> Result<(), String> {
    tools::for_page(project)?;
    if effort == Effort::Release {
        tools::want_wasm_opt(project);
    }
    // Concurrent builds would remove each other's files.
    fs::create_dir_all(&project.target).map_err(at(&project.target))?;
    let lock = project.target.join("page.lock");
    let lock = File::create(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(at(&lock))?;
    // Beside `dist/`, so that it can be renamed to it.
    let unfinished = project.root.join("dist.new");
    remove(&unfinished)?;
    fs::create_dir(&unfinished).map_err(at(&unfinished))?;
    gather(project, &unfinished, effort)?;
    finish(project, &unfinished, effort != Effort::Quick)?;
    replace(&project.dist, &unfinished)?;
    drop(lock);
    Ok(())
}

/// Collects all parts listed in `index.html` in a folder.
fn gather(project: &Project, folder: &Path, effort: Effort) -> Result<(), String> {
    let index = project.root.join("index.html");
    let html = fs::read_to_string(&index).map_err(at(&index))?;
    let (parts, html) = links::read(&html)?;
    let mut programs = Vec::new();
    for part in parts {
        match part {
            Part::Program(program) if effort == Effort::Quick => programs.push(Program {
                profile: QUICK.to_owned(),
                ..program
            }),
            Part::Program(program) => programs.push(program),
            Part::File(file) => {
                let from = project.root.join(&file);
                fs::copy(&from, folder.join(links::base(&file))).map_err(at(&from))?;
            }
        }
    }
    let page = folder.join("index.html");
    fs::write(&page, html).map_err(at(&page))?;
    // In parallel: neither keeps all cores busy until its end.
    let bindgen = thread::scope(|scope| {
        let bindgen = scope.spawn(|| tools::bindgen(project));
        compile(project, &programs)?;
        let bindgen = bindgen.join();
        bindgen.unwrap_or_else(|_| Err("building wasm-bindgen panicked".to_owned()))
    })?;
    for program in &programs {
        let Program { name, profile, .. } = program;
        let target = match program.is_worker {
            true => "no-modules",
            false => "web",
        };
        let module = format!("{TARGET}/{profile}/{name}.wasm");
        run(project
            .command(&bindgen)
            .arg(format!("--target={target}"))
            .arg(format!("--out-dir={}", folder.display()))
            .arg(format!("--out-name={name}"))
            .arg("--no-typescript")
            .arg(project.target.join(module)))?;
    }
    Ok(())
}

/// Compiles the programs, those of one package and profile together: while one is linked, the other can use the cores.
fn compile(project: &Project, programs: &[Program]) -> Result<(), String> {
    let alike = |a: &Program, b: &Program| (&a.manifest, &a.profile) == (&b.manifest, &b.profile);
    for group in programs.chunk_by(alike) {
        let Some(Program {
            manifest, profile, ..
        }) = group.first()
        else {
            continue;
        };
        let mut cargo = project.cargo();
        cargo.args(["build", "--target", TARGET, "--manifest-path", manifest]);
        cargo.args(["--profile", profile]);
        for program in group {
            cargo.args(["--bin", &program.name]);
        }
        run(&mut cargo)?;
    }
    Ok(())
}

/// Replaces a folder by a finished one, so that it is never there in part.
fn replace(folder: &Path, with: &Path) -> Result<(), String> {
    let old = folder.with_extension("old");
    remove(&old)?;
    if folder.exists() {
        fs::rename(folder, &old).map_err(at(folder))?;
    }
    fs::rename(with, folder).map_err(at(with))?;
    remove(&old)
}

/// Removes a folder if it is there.
fn remove(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(at(folder)),
        false => Ok(()),
    }
}

/// Finishes a build that is not in `dist/` yet.
pub(crate) fn finish(project: &Project, staging: &Path, release: bool) -> Result<(), String> {
    if release {
        optimize(project, staging)?;
    }
    tidy(staging)?;
    style_sheets::join(staging)?;
    scripts::shorten(staging)?;
    let id = build_id(staging)?;
    stamp(staging, &id)?;
    one_file::write(staging, &id)
}

/// A few passes: with `-Oz` modules are 4 % smaller, but 1 % larger once compressed, and take three times as long. Then
/// functions are sorted by name, so that similar ones, such as instances of a generic function, are adjacent and
/// compress better.
const PASSES: [&str; 2] = ["-O1", "--reorder-functions-by-name"];

/// The features that rustc's wasm32 target enables. All browsers have supported them since 2022.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Runs wasm-opt on the modules, side by side: it uses one core.
fn optimize(project: &Project, staging: &Path) -> Result<(), String> {
    let Some(wasm_opt) = tools::wasm_opt(project) else {
        return Ok(());
    };
    let modules = files(staging)?.into_iter();
    let modules = modules.filter(|name| name.ends_with(".wasm"));
    thread::scope(|scope| {
        let optimize = |name| optimize_module(project, &wasm_opt, &staging.join(name));
        let running: Vec<_> = modules
            .map(|name| scope.spawn(move || optimize(name)))
            .collect();
        let mut ended = running.into_iter().map(thread::ScopedJoinHandle::join);
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err("wasm-opt panicked".to_owned())))
    })
}

/// Optimizes a module, and keeps the result: an unchanged module is not optimized again.
fn optimize_module(project: &Project, wasm_opt: &Path, module: &Path) -> Result<(), String> {
    let bytes = fs::read(module).map_err(at(module))?;
    let key = hash([wasm_opt.as_os_str().as_encoded_bytes(), &bytes]);
    let passes = PASSES.concat();
    let kept = project.target.join(format!("wasm-opt/{key}{passes}.wasm"));
    if !kept.exists() {
        let folder = project.target.join("wasm-opt");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let unfinished = kept.with_extension("part");
        run(project
            .command(wasm_opt)
            .args(PASSES)
            .args(FEATURES)
            .arg(module)
            .arg("-o")
            .arg(&unfinished))?;
        fs::rename(&unfinished, &kept).map_err(at(&kept))?;
    }
    fs::copy(&kept, module).map_err(at(module))?;
    Ok(())
}

/// Adds the file's name to an error.
pub(crate) fn at(file: &Path) -> impl Fn(std::io::Error) -> String {
    let file: PathBuf = file.to_owned();
    move |error| format!("{}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_folder_takes_the_place_of_the_old_one() {
        let base = tempfile::tempdir().unwrap();
        let dist = base.path().join("dist");
        for (built, expected) in [("a.css", "dist/a.css"), ("b.css", "dist/b.css")] {
            let new = base.path().join("dist.new");
            fs::create_dir(&new).unwrap();
            fs::write(new.join(built), "").unwrap();
            replace(&dist, &new).unwrap();
            assert_eq!(files(base.path()).unwrap(), [expected]);
        }
    }
}
