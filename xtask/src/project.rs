//! Paths, and running other programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a command failed.
pub(crate) enum Failure {
    /// Wrong usage: the sentence, then the usage.
    Usage(String),
    /// The command itself failed.
    Failed(String),
}

impl From<String> for Failure {
    fn from(sentence: String) -> Failure {
        Failure::Failed(sentence)
    }
}

/// The folders that the commands work with, and how Cargo compiles.
#[derive(Clone)]
pub(crate) struct Project {
    /// The checkout.
    pub(crate) root: PathBuf,
    /// The finished page.
    pub(crate) dist: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// The folder for our own copies of build tools, shared by all checkouts.
    pub(crate) tools: PathBuf,
    /// Compiler flags in addition to those in `.cargo/config.toml`.
    pub(crate) flags: Vec<String>,
    /// Whether Cargo may keep what makes the next build of our own code faster, and this one slower.
    pub(crate) incremental: bool,
}

impl Project {
    /// Determines them from the environment.
    pub(crate) fn find() -> Result<Project, String> {
        // Cargo sets it when it runs this program; the compiled-in path may be of another checkout with the same target
        // folder.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let Some(root) = manifest.parent() else {
            return Err(format!("no checkout around {}", manifest.display()));
        };
        let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let tools = match env::var_os("DORMER_TOOLS") {
            Some(folder) => root.join(folder),
            None => cache()?.join("dormer/tools"),
        };
        Ok(Project {
            dist: root.join("dist"),
            target: root.join(target),
            tools,
            root: root.to_owned(),
            flags: Vec::new(),
            incremental: true,
        })
    }

    /// A program that runs in the project root, with our tools before those of the system.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("PATH", self.path())
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// The Cargo that runs this program.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        if !self.flags.is_empty() {
            // Cargo adds them to those of its configuration.
            let flags = self.flags.iter().map(|flag| format!("{flag:?}"));
            let flags = flags.collect::<Vec<String>>().join(", ");
            let all = "cfg(all())";
            command
                .arg("--config")
                .arg(format!("target.'{all}'.rustflags=[{flags}]"));
        }
        if !self.incremental {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }

    /// The path of a program on `PATH`.
    pub(crate) fn which(&self, program: &str) -> Option<PathBuf> {
        which::which_in(program, Some(self.path()), &self.root).ok()
    }

    fn path(&self) -> OsString {
        self.path_after(&self.tools.join("bin"))
    }

    /// The search path for programs: a folder, then the system's.
    pub(crate) fn path_after(&self, folder: &Path) -> OsString {
        let theirs = env::var_os("PATH").unwrap_or_default();
        let others = env::split_paths(&theirs).filter(|each| each != folder);
        let all = std::iter::once(folder.to_owned()).chain(others);
        env::join_paths(all).unwrap_or(theirs)
    }
}

/// Runs a program to completion and shows its output.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}`: {status}", shown(command))),
        Err(error) => Err(format!("`{}` could not be run: {error}", shown(command))),
    }
}

/// A program's standard output; `None` if it is missing or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}

/// A command as typed in a shell.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(program.as_os_str()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The user's cache folder, by the XDG specification.
pub(crate) fn cache() -> Result<PathBuf, String> {
    if let Some(folder) = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        return Ok(PathBuf::from(folder));
    }
    let home = env::var_os("HOME").ok_or("no HOME is set: set DORMER_TOOLS to a folder")?;
    Ok(Path::new(&home).join(".cache"))
}
