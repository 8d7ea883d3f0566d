//! The analyses of a report, in as many threads as there are cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dormer_core::Profile;
use dormer_core::report::{Report, ReportOptions};

/// A report whose analyses run in several threads. The tree with Python frames, which nearly all of them need and which
/// depends on nothing else, is built from the start.
pub(crate) fn report(profile: &Profile, options: &ReportOptions) -> Report {
    thread::scope(|scope| {
        scope.spawn(|| profile.full_tree());
        Report::with(profile, options, &run_all)
    })
}

/// Runs a function for each number below the given one; each thread takes the next number that none has taken.
fn run_all(n: usize, run: &(dyn Fn(usize) + Sync)) {
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let take = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|number| *number < n).for_each(run);
    };
    thread::scope(|scope| {
        for _ in 1..n_threads.min(n) {
            scope.spawn(take);
        }
        take();
    });
}
