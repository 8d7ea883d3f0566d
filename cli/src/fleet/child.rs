//! The analysis of one trace in a separate process, with limits.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dormer_core::tables::{Failed, ReasonKind, Status};

use super::walk::Found;
use crate::tables::uri_of;

/// The limits of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) time: Duration,
    pub(super) memory_mb: u64,
}

impl Limits {
    /// By file size, unless given.
    pub(super) fn new(bytes: u64, timeout_s: Option<u64>, memory_mb: Option<u64>) -> Limits {
        let mb = bytes.div_ceil(1_000_000);
        Limits {
            time: Duration::from_secs(timeout_s.unwrap_or(60 + mb / 2)),
            memory_mb: memory_mb.unwrap_or(1024 + 40 * mb),
        }
    }
}

/// Kills children that take too long.
#[derive(Default)]
pub(super) struct Watch {
    children: Mutex<Vec<Watched>>,
    is_over: AtomicBool,
}

struct Watched {
    until: Instant,
    child: Arc<Mutex<Child>>,
    was_late: Arc<AtomicBool>,
}

impl Watch {
    /// Watches until [`Watch::end`].
    pub(super) fn run(&self) {
        const EVERY: Duration = Duration::from_millis(25);
        while !self.is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            self.children().retain(|watched| {
                let is_late = watched.until <= now;
                if is_late {
                    watched.was_late.store(true, Ordering::Relaxed);
                    // A child that has exited cannot be killed.
                    let _ = locked(&watched.child).kill();
                }
                !is_late
            });
            thread::sleep(EVERY);
        }
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn children(&self) -> std::sync::MutexGuard<'_, Vec<Watched>> {
        locked(&self.children)
    }
}

fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output of `dormer tables` for a file, or why there is none.
pub(super) fn tables(
    program: &Path,
    options: &[OsString],
    file: &Found,
    limits: Limits,
    watch: &Watch,
) -> Result<Vec<u8>, Failed> {
    let broken = |error: io::Error| Failed {
        status: Status::Killed,
        kind: ReasonKind::Killed,
        reason: format!(
            "its analysis could not be started: {}",
            crate::reason(&error)
        ),
    };
    let mut command = command(program, options, file, limits);
    let mut child = command.spawn().map_err(broken)?;
    let stdout = child.stdout.take();
    let child = Arc::new(Mutex::new(child));
    let was_late = Arc::new(AtomicBool::new(false));
    watch.children().push(Watched {
        until: Instant::now() + limits.time,
        child: Arc::clone(&child),
        was_late: Arc::clone(&was_late),
    });
    let mut bytes = Vec::new();
    let read = stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut bytes));
    let ended = locked(&child).wait();
    watch
        .children()
        .retain(|watched| !Arc::ptr_eq(&watched.child, &child));
    if was_late.load(Ordering::Relaxed) {
        return Err(Failed {
            status: Status::Timeout,
            kind: ReasonKind::Timeout,
            reason: format!("its analysis took longer than {} s", limits.time.as_secs()),
        });
    }
    match (read, ended) {
        (Ok(_), Ok(status)) if status.success() => Ok(bytes),
        (_, Ok(status)) => Err(Failed {
            status: Status::Killed,
            kind: ReasonKind::Killed,
            reason: killed(status, limits),
        }),
        (_, Err(error)) => Err(broken(error)),
    }
}

/// `dormer tables` for a file.
fn command(program: &Path, options: &[OsString], file: &Found, limits: Limits) -> Command {
    let mut command = Command::new(program);
    command.arg("tables").arg(&file.path).args(options);
    // If names are replaced, the child does it.
    command.arg("--uri").arg(uri_of(&file.path));
    if let Some(ns) = file.modified_ns {
        command.arg("--modified").arg(ns.to_string());
    }
    for (name, value) in &file.tags {
        command.arg("--tag").arg(format!("{name}={value}"));
    }
    command
        .arg("--memory-limit")
        .arg(limits.memory_mb.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Why a child failed.
fn killed(status: ExitStatus, limits: Limits) -> String {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let how = match (signal, status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("failed with exit code {code}"),
        (None, None) => "was ended".to_owned(),
    };
    let mb = limits.memory_mb;
    format!("its analysis {how}; it may need more than {mb} MB of memory: raise --memory")
}
