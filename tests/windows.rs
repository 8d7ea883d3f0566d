//! Windows of real traces: they add up to the whole, and their reports satisfy their rules.

use dormer_core::base::interval::Interval;
use dormer_core::findings::cpu_idle::idle_gaps;
use dormer_core::hardware;
use dormer_core::output::export::Input;
use dormer_core::profile::Profile;
use dormer_core::profile::window::{Window, gpu_windows, recorded_span, step_windows};

use crate::support::opened::{broken_rules, profile, report_on};
use crate::support::shared;

/// The number of windows that tile a trace.
const TILES: i64 = 5;
/// The number of steps tested per trace.
const STEPS: usize = 3;
/// The number of GPUs tested per trace.
const GPUS: usize = 2;

fn tiles(profile: &Profile) -> Vec<Window> {
    let whole = recorded_span(&profile.trace).unwrap();
    // What starts in the last nanosecond belongs to the last tile.
    let end_ns = whole.end_ns + 1;
    let edge = |at: i64| whole.start_ns + (end_ns - whole.start_ns) / TILES * at;
    (0..TILES)
        .map(|at| {
            let next = match at + 1 == TILES {
                true => end_ns,
                false => edge(at + 1),
            };
            Window::range(Interval::new(edge(at), next))
        })
        .collect()
}

#[test]
fn windows_split_the_work_and_the_host_time_of_a_trace() {
    for (name, trace) in shared::with_sample() {
        let whole = profile(&trace);
        let parts: Vec<Profile> = tiles(&whole)
            .iter()
            .map(|tile| whole.window(tile))
            .collect();
        let mut work: Vec<_> = parts
            .iter()
            .flat_map(|part| part.launches.work.clone())
            .collect();
        work.sort_unstable();
        assert_eq!(work, whole.launches.work, "{name}");
        let launches = |profile: &Profile| -> Vec<_> {
            let launches = profile.launches.launches.iter();
            launches
                .map(|one| (one.call, profile.launches.work[one.work.index()]))
                .collect()
        };
        let mut found = parts.iter().flat_map(launches).collect::<Vec<_>>();
        let mut all = launches(&whole);
        found.sort_unstable();
        all.sort_unstable();
        assert_eq!(found, all, "{name}");

        let of_host = |profile: &Profile| {
            let ops = profile.cpu_ops.iter();
            ops.fold((0, 0, 0), |(n, total, own), op| {
                (n + op.n_calls, total + op.total_ns, own + op.self_ns)
            })
        };
        let split = parts.iter().map(of_host);
        let sum = split.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        assert_eq!(sum, of_host(&whole), "{name}");
    }
}

#[test]
fn the_report_of_a_window_holds_its_rules() {
    let mut broken = Vec::new();
    for (name, trace) in shared::with_sample() {
        let whole = profile(&trace);
        let steps = step_windows(&whole).into_iter().take(STEPS);
        let middle = tiles(&whole).into_iter().nth(2);
        let gpus = gpu_windows(&whole).into_iter().take(GPUS);
        let windows = steps.map(|step| step.window).chain(middle).chain(gpus);
        let gpu = hardware::detect(&whole.trace.devices);
        for window in windows {
            let part = whole.window(&window);
            let report = report_on(&part, gpu);
            let rules = broken_rules(&Input::new(&part, &report)).into_iter();
            broken.extend(rules.map(|rule| format!("{name}, {window:?}: {rule}")));
            let gaps = idle_gaps(&report.analysis_input(&part));
            let idle_ns: i64 = gaps.iter().map(|gap| gap.span.length()).sum();
            let of_timeline = report.timelines.whole.map_or(0, |whole| whole.idle_ns);
            if idle_ns != of_timeline {
                broken.push(format!(
                    "{name}, {window:?}: gaps of {idle_ns} ns, idle for {of_timeline} ns"
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
