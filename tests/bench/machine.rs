//! The machine used for measuring, and whether it is busy with something else.

use std::time::Duration;

/// If more than this share of the cores is busy, the machine is not idle.
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

/// The share of CPU time used by other programs while this one waits for a second; `None` if the system does not report
/// it.
pub(crate) fn busy() -> Option<f64> {
    let stat = || std::fs::read_to_string("/proc/stat").ok();
    let before = stat()?;
    std::thread::sleep(Duration::from_secs(1));
    busy_between(&before, &stat()?)
}

/// The same from two readings of `/proc/stat`.
pub(crate) fn busy_between(before: &str, after: &str) -> Option<f64> {
    let [(idle, all), (idle_after, all_after)] = [ticks(before)?, ticks(after)?];
    let passed = all_after.checked_sub(all).filter(|passed| *passed > 0)?;
    let idle = idle_after.saturating_sub(idle).min(passed);
    Some(1.0 - idle as f64 / passed as f64)
}

/// Idle and total ticks: `cpu  user nice system idle iowait …`
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let idle = numbers.get(3)? + numbers.get(4)?;
    // Guest time is already included in the first two.
    Some((idle, numbers.iter().take(8).sum()))
}
