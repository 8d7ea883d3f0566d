//! The programs that the other commands need: how to detect each one, how it is installed, and what to say if it cannot
//! be installed automatically.
//!
//! Packages from npm go into a folder of our own (`~/.cache/dormer/tools`, or `DORMER_TOOLS`), in the one version known
//! to work, and the system is left unchanged. Only Chromium comes from the system's packages. Nothing is installed with
//! Cargo: our wasm-bindgen (`xtask/bindgen`) is compiled with the page, and Trunk is used only if it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::page::{TARGET, at};
use crate::project::{self, Project, output, run};

/// The version of Trunk whose page is compared with ours; `Trunk.toml` requires the same.
pub(crate) const TRUNK: &str = "0.21";

/// The npm package of wasm-opt. Debian's version 108 produced a module that fails when the page starts.
const BINARYEN: &str = "132.0.0";

/// The oldest accepted wasm-opt.
const OLDEST_WASM_OPT: u32 = 116;

/// The npm package of the accessibility rules that the page must satisfy.
const AXE: &str = "4.14.1";

/// The pip packages that build the Python wheel.
const MATURIN: &str = "maturin[zig]>=1.16,<2";
const ZIG: &str = "ziglang";

/// One program or part of the toolchain.
struct Tool<'a> {
    name: &'a str,
    /// How it is installed, and what that takes; printed before.
    how: &'a str,
    /// The manual command if it cannot be installed automatically.
    by_hand: &'a str,
    /// Whether it is installed in the right version.
    is_present: &'a dyn Fn() -> bool,
    install: &'a dyn Fn() -> Result<(), String>,
}

/// Sets up what compiling the page needs.
pub(crate) fn for_page(project: &Project) -> Result<(), String> {
    need(&Tool {
        name: &format!("the Rust target {TARGET}"),
        how: "rustup target add",
        by_hand: "rustup target add wasm32-unknown-unknown (or, with Debian's own Rust: \
                  apt-get install libstd-rust-dev-wasm32 lld)",
        is_present: &|| {
            let args = ["--print", "target-libdir", "--target", TARGET];
            let folder = output(project.command("rustc").args(args));
            folder.is_some_and(|folder| Path::new(&folder).is_dir())
        },
        install: &|| rustup(project, &["target", "add", TARGET]),
    })
}

/// Sets up what Trunk calls when it builds the page, for release or for development.
pub(crate) fn for_trunk(project: &Project, release: bool) -> Result<(), String> {
    for_page(project)?;
    show_to_trunk(&bindgen(project)?)?;
    if release {
        want_wasm_opt(project);
    }
    Ok(())
}

/// Our own wasm-bindgen, compiled if necessary.
pub(crate) fn bindgen(project: &Project) -> Result<PathBuf, String> {
    run(project
        .cargo()
        .args(["build", "--package", "dormer-bindgen"]))?;
    let name = format!("dormer-bindgen{}", std::env::consts::EXE_SUFFIX);
    Ok(project.target.join("debug").join(name))
}

/// The version of the installed Trunk, if it is a supported one.
pub(crate) fn trunk(project: &Project) -> Option<String> {
    // "trunk 0.21.14"
    let line = output(project.command("trunk").arg("--version"))?;
    let version = line.split_whitespace().nth(1)?;
    let is_ours = version.strip_prefix(TRUNK)?.starts_with('.');
    is_ours.then(|| version.to_owned())
}

/// Sets up what the lints need.
pub(crate) fn for_lints(project: &Project) -> Result<(), String> {
    let has = |tool: &str| output(project.cargo().args([tool, "--version"])).is_some();
    need(&Tool {
        name: "rustfmt and clippy",
        how: "rustup component add",
        by_hand: "rustup component add rustfmt clippy (or, with Debian's own Rust: \
                  apt-get install rustfmt rust-clippy)",
        is_present: &|| has("fmt") && has("clippy"),
        install: &|| rustup(project, &["component", "add", "rustfmt", "clippy"]),
    })
}

/// Sets up what the browser tests need.
pub(crate) fn for_browser(project: &Project) -> Result<(), String> {
    let has = |program: &&str| project.which(program).is_some();
    need(&Tool {
        name: "Chromium and chromedriver",
        how: "apt-get update and install chromium, chromium-driver, fonts-liberation",
        by_hand: "install Chromium and the chromedriver of the same version so that `chromium` (or \
                  `google-chrome`) and `chromedriver` can be called; on Debian, as root: \
                  apt-get install chromium chromium-driver fonts-liberation",
        is_present: &|| {
            let browsers = ["chromium", "chromium-browser", "google-chrome"];
            browsers.iter().any(has) && has(&"chromedriver")
        },
        install: &|| {
            let packages = ["chromium", "chromium-driver", "fonts-liberation"];
            apt_install(project, &packages)
        },
    })
}

/// Sets up the accessibility rules for the browser tests.
pub(crate) fn for_accessibility(project: &Project) -> Result<(), String> {
    let folder = axe_folder(project);
    need(&Tool {
        name: &format!("axe-core {AXE}"),
        how: "npm, package axe-core",
        by_hand: &format!("npm install --prefix {} axe-core@{AXE}", folder.display()),
        is_present: &|| {
            let package = axe(project).with_file_name("package.json");
            let version = format!("\"version\": \"{AXE}\"");
            axe(project).is_file()
                && fs::read_to_string(package).is_ok_and(|text| text.contains(&version))
        },
        install: &|| npm_install(project, &folder, &format!("axe-core@{AXE}")),
    })
}

/// The script with the rules.
pub(crate) fn axe(project: &Project) -> PathBuf {
    axe_folder(project).join("node_modules/axe-core/axe.min.js")
}

/// A separate folder: npm removes what it did not install itself.
fn axe_folder(project: &Project) -> PathBuf {
    project.tools.join("axe")
}

/// The wasm-opt to use, if there is a suitable one.
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

/// maturin, which builds the Python wheel, in an environment with Zig.
pub(crate) fn maturin(project: &Project) -> Result<PathBuf, String> {
    let folder = project.tools.join("python");
    let maturin = folder.join("bin/maturin");
    need(&Tool {
        name: "maturin and Zig",
        how: "pip, into a virtual environment",
        by_hand: "python3 -m venv and pip must work: apt-get install python3-venv",
        is_present: &|| maturin.is_file(),
        install: &|| {
            let python = environment(project, &folder)?;
            let pip = ["-m", "pip", "install", "--quiet", MATURIN, ZIG];
            run(project.command(python).args(pip))
        },
    })?;
    Ok(maturin)
}

/// Creates a Python virtual environment in a folder; returns its interpreter.
pub(crate) fn environment(project: &Project, folder: &Path) -> Result<PathBuf, String> {
    let venv = ["-m", "venv", "--clear"];
    run(project.command("python3").args(venv).arg(folder))?;
    Ok(folder.join("bin/python"))
}

/// Ensures that a tool is installed.
fn need(tool: &Tool) -> Result<(), String> {
    let Tool { name, how, .. } = tool;
    if (tool.is_present)() {
        return Ok(());
    }
    println!("Installing {name} ({how}).");
    let why = match (tool.install)() {
        Ok(()) if (tool.is_present)() => return Ok(()),
        Ok(()) => "it was installed but cannot be run".to_owned(),
        Err(why) => why,
    };
    let by_hand = tool.by_hand;
    Err(format!(
        "{name} is missing and could not be installed: {why}\nto install it manually: {by_hand}"
    ))
}

/// Used for measuring sizes. Nothing fails without it: a column stays empty.
pub(crate) fn want_brotli(project: &Project) {
    let installed = need(&Tool {
        name: "brotli",
        how: "apt-get update and install brotli",
        by_hand: "install brotli so that `brotli` can be called",
        is_present: &|| project.which("brotli").is_some(),
        install: &|| apt_install(project, &["brotli"]),
    });
    if let Err(why) = installed {
        println!("{why}");
    }
}

/// The page works without wasm-opt, but is larger: nothing fails without it.
pub(crate) fn want_wasm_opt(project: &Project) {
    let installed = need(&Tool {
        name: &format!("wasm-opt {BINARYEN}"),
        how: "npm, package binaryen",
        by_hand: "put wasm-opt of binaryen 116 or later on PATH",
        is_present: &|| wasm_opt(project).is_some(),
        install: &|| {
            let package = format!("binaryen@{BINARYEN}");
            npm_install(project, &npm_folder(project), &package)
        },
    });
    if let Err(why) = installed {
        println!("{why}\nThe page will be larger.");
    }
}

fn npm_install(project: &Project, folder: &Path, package: &str) -> Result<(), String> {
    if project.which("npm").is_none() {
        return Err("there is no npm".to_owned());
    }
    fs::create_dir_all(folder).map_err(at(folder))?;
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

fn rustup(project: &Project, args: &[&str]) -> Result<(), String> {
    if project.which("rustup").is_none() {
        return Err("there is no rustup".to_owned());
    }
    run(project.command("rustup").args(args))
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

/// Puts our wasm-bindgen where Trunk looks if none is on `PATH`. One that somebody else put there is kept.
fn show_to_trunk(ours: &Path) -> Result<(), String> {
    let line = output(Command::new(ours).arg("--version")).unwrap_or_default();
    let Some(version) = line.split_whitespace().nth(1) else {
        return Err(format!("{} cannot be called", ours.display()));
    };
    let folder = project::cache()?.join(format!("trunk/wasm-bindgen-{version}"));
    let theirs = folder.join("wasm-bindgen");
    let mark = folder.join("from-dormer");
    if theirs.exists() && !mark.exists() {
        return Ok(());
    }
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&mark, ""))
        .and_then(|()| fs::copy(ours, &theirs))
        .map(|_| ())
        .map_err(at(&theirs))
}
