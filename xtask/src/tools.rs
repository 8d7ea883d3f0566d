//! The programs that the other commands need: how to see whether one is there, how it is installed, and what to say when we
//! cannot install it.
//!
//! What Cargo and npm can give goes into a folder of our own (`~/.cache/dormer/tools`, or `DORMER_TOOLS`), in the one version
//! that is known to work, and the system is left as it is. Only Chromium comes from the system's packages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::{self, Project, output, run};

/// The newest that compiles with the Rust of this workspace.
const TRUNK: &str = "0.21.14";

/// npm's package of wasm-opt. Debian's 108 gave a module that fails when the page starts.
const BINARYEN: &str = "132.0.0";

/// The oldest wasm-opt we let at the page.
const OLDEST_WASM_OPT: u32 = 116;

/// npm's package of the rules that the page's accessibility is held to.
const AXE: &str = "4.14.1";

/// One program or part of the toolchain.
struct Tool {
    name: String,
    /// How it gets here, and what that takes; said before it is done.
    how: String,
    /// What to type when we cannot do it.
    by_hand: String,
    /// Whether it is there, in the right version.
    present: fn(&Project) -> bool,
    install: fn(&Project) -> Result<(), String>,
}

/// Sets up what building the page takes.
pub(crate) fn for_page(project: &Project) -> Result<(), String> {
    need(
        project,
        &Tool {
            name: format!("trunk {TRUNK}"),
            how: "cargo install, some minutes, once".to_owned(),
            by_hand: format!("cargo install trunk --version {TRUNK} --locked"),
            present: |project| says_version(project, "trunk", TRUNK),
            install: |project| cargo_install(project, "trunk", TRUNK, &["--locked"]),
        },
    )?;
    for_trunk(project)
}

/// Sets up what Trunk calls when it builds the page.
pub(crate) fn for_trunk(project: &Project) -> Result<(), String> {
    let bindgen = wasm_bindgen_version(project)?;
    need(
        project,
        &Tool {
            name: "the Rust target wasm32-unknown-unknown".to_owned(),
            how: "rustup target add".to_owned(),
            by_hand: "rustup target add wasm32-unknown-unknown (or, with Debian's own Rust: \
                      apt-get install libstd-rust-dev-wasm32 lld)"
                .to_owned(),
            present: has_wasm_target,
            install: |project| rustup(project, &["target", "add", "wasm32-unknown-unknown"]),
        },
    )?;
    need(
        project,
        &Tool {
            name: format!("wasm-bindgen {bindgen}"),
            how: "cargo install, some minutes, once".to_owned(),
            by_hand: format!("cargo install wasm-bindgen-cli --version {bindgen}"),
            present: |project| {
                wasm_bindgen_version(project)
                    .is_ok_and(|version| says_version(project, "wasm-bindgen", &version))
            },
            install: |project| {
                let version = wasm_bindgen_version(project)?;
                // Without --locked: its lock file names versions that not every registry mirror has.
                cargo_install(
                    project,
                    "wasm-bindgen-cli",
                    &version,
                    &["--bin", "wasm-bindgen"],
                )
            },
        },
    )?;
    show_to_trunk(project)?;
    want_wasm_opt(project);
    Ok(())
}

/// Sets up what the lints take.
pub(crate) fn for_lints(project: &Project) -> Result<(), String> {
    need(
        project,
        &Tool {
            name: "rustfmt and clippy".to_owned(),
            how: "rustup component add".to_owned(),
            by_hand: "rustup component add rustfmt clippy (or, with Debian's own Rust: \
                      apt-get install rustfmt rust-clippy)"
                .to_owned(),
            present: |project| {
                ["fmt", "clippy"]
                    .iter()
                    .all(|tool| output(project.cargo().args([tool, "--version"])).is_some())
            },
            install: |project| rustup(project, &["component", "add", "rustfmt", "clippy"]),
        },
    )
}

/// Sets up what the browser tests take.
pub(crate) fn for_browser(project: &Project) -> Result<(), String> {
    need(
        project,
        &Tool {
            name: "Chromium and chromedriver".to_owned(),
            how: "apt-get update and install chromium, chromium-driver, fonts-liberation"
                .to_owned(),
            by_hand:
                "install Chromium and the chromedriver of the same version so that `chromium` (or \
                      `google-chrome`) and `chromedriver` can be called; on Debian, as root: \
                      apt-get install chromium chromium-driver fonts-liberation"
                    .to_owned(),
            present: |project| {
                let browser = ["chromium", "chromium-browser", "google-chrome"]
                    .iter()
                    .any(|name| project.which(name).is_some());
                browser && project.which("chromedriver").is_some()
            },
            install: |project| {
                apt_install(
                    project,
                    &["chromium", "chromium-driver", "fonts-liberation"],
                )
            },
        },
    )
}

/// Sets up the rules of accessibility that the browser tests read.
pub(crate) fn for_accessibility(project: &Project) -> Result<(), String> {
    need(
        project,
        &Tool {
            name: format!("axe-core {AXE}"),
            how: "npm, package axe-core".to_owned(),
            by_hand: format!(
                "npm install --prefix {} axe-core@{AXE}",
                axe_folder(project).display()
            ),
            present: |project| {
                let package = axe(project).with_file_name("package.json");
                let version = format!("\"version\": \"{AXE}\"");
                axe(project).is_file()
                    && fs::read_to_string(package).is_ok_and(|text| text.contains(&version))
            },
            install: |project| {
                if project.which("npm").is_none() {
                    return Err("there is no npm".to_owned());
                }
                npm_install(project, &axe_folder(project), &format!("axe-core@{AXE}"))
            },
        },
    )
}

/// The script of the rules.
pub(crate) fn axe(project: &Project) -> PathBuf {
    axe_folder(project).join("node_modules/axe-core/axe.min.js")
}

/// A folder of its own: npm removes what it did not install itself.
fn axe_folder(project: &Project) -> PathBuf {
    project.tools.join("axe")
}

/// The wasm-opt to use, if there is one that can be trusted.
pub(crate) fn wasm_opt(project: &Project) -> Option<PathBuf> {
    let ours = npm_folder(project).join("node_modules/.bin/wasm-opt");
    [Some(ours), project.which("wasm-opt")]
        .into_iter()
        .flatten()
        .find(|program| {
            // "wasm-opt version 132 (version_132)"
            output(project.command(program).arg("--version"))
                .and_then(|line| line.split(' ').nth(2)?.parse::<u32>().ok())
                .is_some_and(|version| version >= OLDEST_WASM_OPT)
        })
}

/// Makes sure of one tool.
fn need(project: &Project, tool: &Tool) -> Result<(), String> {
    if (tool.present)(project) {
        return Ok(());
    }
    println!("Installing {} ({}).", tool.name, tool.how);
    (tool.install)(project)
        .and_then(|()| match (tool.present)(project) {
            true => Ok(()),
            false => Err("it was installed, and still it cannot be called".to_owned()),
        })
        .map_err(|why| {
            let Tool { name, by_hand, .. } = tool;
            format!("{name} is missing and could not be installed: {why}\nby hand: {by_hand}")
        })
}

/// The page works without wasm-opt, only larger: nothing fails for the lack of it.
fn want_wasm_opt(project: &Project) {
    if wasm_opt(project).is_some() {
        return;
    }
    let by_hand = "put wasm-opt of binaryen 116 or later on PATH";
    if project.which("npm").is_none() {
        println!("No npm to install wasm-opt with: the page will be larger. By hand: {by_hand}");
        return;
    }
    println!("Installing wasm-opt {BINARYEN} (npm, package binaryen).");
    let installed = npm_install(
        project,
        &npm_folder(project),
        &format!("binaryen@{BINARYEN}"),
    );
    if let Err(why) = installed {
        println!(
            "wasm-opt could not be installed: {why}\nThe page will be larger. By hand: {by_hand}"
        );
    } else if wasm_opt(project).is_none() {
        println!(
            "wasm-opt was installed and does not run. The page will be larger. By hand: {by_hand}"
        );
    }
}

fn npm_install(project: &Project, folder: &Path, package: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    run(project
        .command("npm")
        .arg("install")
        .args(["--no-save", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(package))
}

fn npm_folder(project: &Project) -> PathBuf {
    project.tools.join("npm")
}

fn has_wasm_target(project: &Project) -> bool {
    output(project.command("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        "wasm32-unknown-unknown",
    ]))
    .is_some_and(|folder| Path::new(&folder).is_dir())
}

/// Whether `PROGRAM --version` answers with its name and this version.
fn says_version(project: &Project, program: &str, version: &str) -> bool {
    output(project.command(program).arg("--version"))
        .is_some_and(|line| line.split_whitespace().nth(1) == Some(version))
}

/// The version in `Cargo.lock`: the command-line tool and the crate must be the same.
fn wasm_bindgen_version(project: &Project) -> Result<String, String> {
    let file = project.root.join("Cargo.lock");
    let lock = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    lock.split("[[package]]")
        .find(|package| package.contains("name = \"wasm-bindgen\"\n"))
        .and_then(|package| package.split_once("version = \"")?.1.split('"').next())
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.lock names no wasm-bindgen".to_owned())
}

fn rustup(project: &Project, args: &[&str]) -> Result<(), String> {
    if project.which("rustup").is_none() {
        return Err("there is no rustup".to_owned());
    }
    run(project.command("rustup").args(args))
}

fn cargo_install(
    project: &Project,
    package: &str,
    version: &str,
    more: &[&str],
) -> Result<(), String> {
    let tools = &project.tools;
    fs::create_dir_all(tools).map_err(|error| format!("{}: {error}", tools.display()))?;
    // A build folder of its own: an install that was broken off goes on where it was.
    let build = tools.join("build");
    run(project
        .cargo()
        .current_dir(tools)
        .args(["install", package, "--version", version, "--force"])
        .args(more)
        .arg("--root")
        .arg(tools)
        .env("CARGO_TARGET_DIR", &build)
        .env_remove("RUSTFLAGS"))?;
    let _ = fs::remove_dir_all(&build);
    Ok(())
}

fn apt_install(project: &Project, packages: &[&str]) -> Result<(), String> {
    if project.which("apt-get").is_none() {
        return Err("this system has no apt-get".to_owned());
    }
    if output(project.command("id").arg("-u")).as_deref() != Some("0") {
        return Err("only root may install packages".to_owned());
    }
    let apt = |args: &[&str]| {
        run(project
            .command("apt-get")
            .args(["-q", "-o", "Acquire::Retries=3"])
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    let install = ["install", "--yes", "--no-install-recommends"];
    apt(&[&install[..], packages].concat())
}

/// Puts our wasm-bindgen where Trunk looks when none is on `PATH`, so that plain `trunk build` finds it too.
fn show_to_trunk(project: &Project) -> Result<(), String> {
    let version = wasm_bindgen_version(project)?;
    let ours = project.tools.join("bin/wasm-bindgen");
    let folder = project::cache()?.join(format!("trunk/wasm-bindgen-{version}"));
    let theirs = folder.join("wasm-bindgen");
    if theirs.exists() || !ours.exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder)
        .and_then(|()| fs::copy(&ours, &theirs))
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", theirs.display()))
}
