//! What is measured on, and whether it does something else meanwhile.

use std::time::Duration;

/// A machine with more of its cores busy than this has other work.
pub(crate) const QUIET: f64 = 0.1;

/// `2 cores of …`
pub(crate) fn name() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, model)| model.trim());
    format!("{cores} cores of {model}")
}

/// The share of the cores' time that others take while this program waits for a second; `None` where the system does not tell.
pub(crate) fn busy() -> Option<f64> {
    let stat = || std::fs::read_to_string("/proc/stat").ok();
    let before = stat()?;
    std::thread::sleep(Duration::from_secs(1));
    busy_between(&before, &stat()?)
}

/// The same of two readings of `/proc/stat`.
pub(crate) fn busy_between(before: &str, after: &str) -> Option<f64> {
    let [(idle, all), (idle_after, all_after)] = [ticks(before)?, ticks(after)?];
    let passed = all_after.checked_sub(all).filter(|passed| *passed > 0)?;
    let idle = idle_after.saturating_sub(idle).min(passed);
    Some(1.0 - idle as f64 / passed as f64)
}

/// Idle and all ticks: `cpu  user nice system idle iowait …`
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let idle = numbers.get(3)? + numbers.get(4)?;
    // What guests take is in the first two already.
    Some((idle, numbers.iter().take(8).sum()))
}
