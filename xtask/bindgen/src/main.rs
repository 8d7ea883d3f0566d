//! Turns a module compiled by rustc into one that a browser can load, and generates the JavaScript around it.
//!
//! It takes the options that Trunk passes to wasm-bindgen's own command, and writes the same bytes. That command takes
//! minutes to compile, and its version may differ from the crate's; this one takes seconds, and its version is that of
//! `Cargo.lock`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints for the user"
)]

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "usage: wasm-bindgen [--target=web|no-modules] --out-dir=DIR \
                     [--out-name=NAME] [--no-typescript] [--no-demangle] [--keep-debug] INPUT";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["--version"] {
        println!("wasm-bindgen {}", wasm_bindgen_shared::version());
        return ExitCode::SUCCESS;
    }
    match bind(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn bind(args: &[String]) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    // The library's defaults differ from the command's.
    bindgen.typescript(true).omit_default_module_path(false);
    let mut out_dir = None;
    let mut has_input = false;
    for arg in args {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (arg.as_str(), None),
        };
        match (option, value) {
            ("--target", Some(target)) => set_target(&mut bindgen, target)?,
            ("--out-dir", Some(folder)) => out_dir = Some(folder),
            ("--out-name", Some(name)) => {
                bindgen.out_name(name);
            }
            ("--no-typescript", None) => {
                bindgen.typescript(false);
            }
            ("--no-demangle", None) => {
                bindgen.demangle(false);
            }
            ("--keep-debug", None) => {
                bindgen.keep_debug(true);
            }
            ("--reference-types" | "--weak-refs", None) => {} // wasm-bindgen detects these from the module.
            _ if option.starts_with('-') || has_input => {
                return Err(format!("unknown: {arg}\n{USAGE}"));
            }
            _ => {
                bindgen.input_path(arg);
                has_input = true;
            }
        }
    }
    match out_dir {
        Some(folder) if has_input => bindgen
            .generate(folder)
            .map_err(|error| format!("{error:?}")),
        _ => Err(USAGE.to_owned()),
    }
}

fn set_target(bindgen: &mut Bindgen, target: &str) -> Result<(), String> {
    let set = match target {
        "web" => bindgen.web(true),
        "no-modules" => bindgen.no_modules(true),
        _ => return Err(format!("there is no target `{target}`\n{USAGE}")),
    };
    set.map(|_| ()).map_err(|error| format!("{error:?}"))
}
