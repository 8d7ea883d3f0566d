//! A few figures of the whole trace.

use super::ServingFacts;
use crate::assess::Timelines;
use crate::base::format;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::trace::{Category, lifetime};

/// Label and value of each.
pub(super) fn facts(
    profile: &Profile,
    timelines: &Timelines,
    whole: Option<&GpuTimeline>,
    serving: Option<&ServingFacts>,
) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut add = |label: &str, value| facts.push((label.to_owned(), value));
    if let Some(whole) = whole {
        let n_of = |category: Category| {
            let work = profile.gpu.all();
            work.filter(|work| work.category == category).count() as u64
        };
        let total_ns = whole.total_ns();
        let mut phases = serving.iter().flat_map(|serving| &serving.phases);
        // The time of the only step is the same.
        let is_of_step = phases.any(|phase| phase.is_at_most && phase.step_ns == total_ns);
        match profile.window {
            Some(_) => add("Time analyzed", format::time_ns(total_ns)),
            None if is_of_step => {}
            None => add("First to last GPU activity", format::time_ns(total_ns)),
        }
        match timelines.gpus.is_empty() {
            true => add("GPU busy", format::time_ns(whole.busy_ns)),
            false => add("Any GPU busy", format::time_ns(whole.busy_ns)),
        }
        if let Some(of_one) = timelines
            .of_one_gpu()
            .filter(|_| !timelines.gpus.is_empty())
        {
            add("GPUs", format::count(timelines.gpus.len() as u64));
            add(
                "Busy time per GPU (average)",
                format::time_ns(of_one.busy_ns),
            );
        }
        for (label, category) in [
            ("Kernels", Category::Kernel),
            ("Copies", Category::GpuMemcpy),
            ("Fills", Category::GpuMemset),
        ] {
            let count = n_of(category);
            if count > 0 {
                add(label, format::count(count));
            }
        }
    }
    // Separate from the analyzed time: a process starts long before it uses a GPU.
    if let Some((n_processes, ns)) = lifetime::of_processes(&profile.trace) {
        let label = match n_processes {
            1 => "Process lifetime",
            _ => "Process lifetimes",
        };
        add(label, format::time_ns(ns));
    }
    if let Some(ns) = lifetime::of_profiler(&profile.trace) {
        add("Profiler ran for", format::time_ns(ns));
    }
    let n_ops: u64 = profile.cpu_ops.iter().map(|op| op.n_calls).sum();
    if n_ops > 0 {
        add("Operator calls", format::count(n_ops));
    }
    for device in profile.memory().main() {
        let peak = format::bytes(device.peak.allocated);
        let reserved = match device.peak.reserved {
            0 => String::new(),
            bytes => format!(" of {} reserved", format::bytes(bytes)),
        };
        let label = format!("Memory peak, {}", device.label);
        add(&label, format!("{peak}{reserved}"));
    }
    add("Trace size", format::bytes(profile.recording.text_bytes));
    facts
}
