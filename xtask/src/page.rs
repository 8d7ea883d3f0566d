//! Building the page with Trunk.
//!
//! `Trunk.toml` calls back twice, so that plain `trunk build --release` gives the same files: `cargo xtask prepare` before the
//! build sets up what Trunk needs, `cargo xtask stamp` after it makes the modules small and gives all files one build id.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::project::{Project, run};
use crate::stamp::{build_id, hash, stamp};
use crate::tools;

/// Builds the page for release into `dist/`.
pub(crate) fn build(project: &Project) -> Result<(), String> {
    tools::for_page(project)?;
    // Trunk builds into one folder of the checkout: two builds at a time would take each other's files away.
    fs::create_dir_all(&project.target).map_err(at(&project.target))?;
    let lock = project.target.join("page.lock");
    let lock = File::create(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(at(&lock))?;
    run(project
        .command("trunk")
        .args(["build", "--release", "--log", "warn"])
        .env("TRUNK_SKIP_VERSION_CHECK", "true"))?;
    drop(lock);
    Ok(())
}

/// Finishes what Trunk has built and not yet moved to `dist/`.
pub(crate) fn finish(project: &Project, staging: &Path, release: bool) -> Result<(), String> {
    if release {
        optimise(project, staging)?;
    }
    let id = build_id(staging)?;
    stamp(staging, &id)
}

/// The modules that wasm-opt makes small.
const MODULES: [&str; 2] = ["dormer-app_bg.wasm", "worker_bg.wasm"];
/// The level for size. The worker gains nothing measurable from the one for speed.
const LEVEL: &str = "-Oz";

/// What rustc's wasm32 target switches on. All of it is in every browser since 2022.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Runs wasm-opt over the modules.
///
/// Trunk could do it, but fails where there is no wasm-opt, and takes any old one that it finds. Ours also remembers results:
/// a module that did not change is not optimised again.
fn optimise(project: &Project, staging: &Path) -> Result<(), String> {
    let Some(wasm_opt) = tools::wasm_opt(project) else {
        return Ok(());
    };
    for name in MODULES {
        let module = staging.join(name);
        let bytes = fs::read(&module).map_err(at(&module))?;
        let key = hash([wasm_opt.as_os_str().as_encoded_bytes(), &bytes]);
        let kept = project.target.join(format!("wasm-opt/{key}{LEVEL}.wasm"));
        if !kept.exists() {
            let folder = project.target.join("wasm-opt");
            fs::create_dir_all(&folder).map_err(at(&folder))?;
            let unfinished = kept.with_extension("part");
            run(project
                .command(&wasm_opt)
                .arg(LEVEL)
                .args(FEATURES)
                .arg(&module)
                .arg("-o")
                .arg(&unfinished))?;
            fs::rename(&unfinished, &kept).map_err(at(&kept))?;
        }
        fs::copy(&kept, &module).map_err(at(&module))?;
    }
    Ok(())
}

/// Names the file in an error about it.
pub(crate) fn at(file: &Path) -> impl Fn(std::io::Error) -> String {
    let file: PathBuf = file.to_owned();
    move |error| format!("{}: {error}", file.display())
}
