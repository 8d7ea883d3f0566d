//! Where things are, and how other programs are run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a command did not do what it was asked for.
pub(crate) enum Failure {
    /// It was called wrongly: the sentence, then the usage.
    Usage(String),
    /// It was tried and went wrong.
    Failed(String),
}

impl From<String> for Failure {
    fn from(sentence: String) -> Failure {
        Failure::Failed(sentence)
    }
}

/// The folders that the commands work with.
pub(crate) struct Project {
    /// The checkout.
    pub(crate) root: PathBuf,
    /// The finished page.
    pub(crate) dist: PathBuf,
    /// Where Cargo builds.
    pub(crate) target: PathBuf,
    /// Where our own copies of build tools are kept, once for all checkouts.
    pub(crate) tools: PathBuf,
    /// What compilers are told beside what stands in `.cargo/config.toml`.
    pub(crate) flags: Vec<String>,
}

impl Project {
    /// Finds them from the environment.
    pub(crate) fn find() -> Result<Project, String> {
        // Cargo sets it when it runs us; the one compiled in may be that of another checkout with the same target folder.
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
        })
    }

    /// A program, run at the top of the checkout, that finds our tools before those of the system.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("PATH", self.path())
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// Cargo, the same one that runs us.
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
        command
    }

    /// Where a program is that can be called by its name.
    pub(crate) fn which(&self, program: &str) -> Option<PathBuf> {
        which::which_in(program, Some(self.path()), &self.root).ok()
    }

    fn path(&self) -> OsString {
        self.path_after(&self.tools.join("bin"))
    }

    /// Where programs are looked for: in a folder, then where the system has them.
    pub(crate) fn path_after(&self, folder: &Path) -> OsString {
        let theirs = env::var_os("PATH").unwrap_or_default();
        let others = env::split_paths(&theirs).filter(|each| each != folder);
        let all = std::iter::once(folder.to_owned()).chain(others);
        env::join_paths(all).unwrap_or(theirs)
    }
}

/// Runs a program to its end with its output shown.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}`: {status}", shown(command))),
        Err(error) => Err(format!("`{}` could not be run: {error}", shown(command))),
    }
}

/// What a program prints on standard output; `None` when it is missing or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(program.as_os_str()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The user's cache folder, as the XDG directories have it.
pub(crate) fn cache() -> Result<PathBuf, String> {
    if let Some(folder) = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        return Ok(PathBuf::from(folder));
    }
    let home = env::var_os("HOME").ok_or("no HOME is set: set DORMER_TOOLS to a folder")?;
    Ok(Path::new(&home).join(".cache"))
}
