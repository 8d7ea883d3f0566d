//! A few figures of the whole trace.

use super::ServingFacts;
use crate::assess::Timelines;
use crate::base::format;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;
use crate::profile::memory::DeviceMemory;
use crate::trace::{Category, lifetime};

/// Label and value.
type Fact = (String, String);

fn fact(label: &str, value: String) -> Fact {
    (label.to_owned(), value)
}

/// Of GPU activity, of the processes, of memory, and of the file.
pub(super) fn facts(
    profile: &Profile,
    timelines: &Timelines,
    whole: Option<&GpuTimeline>,
    serving: Option<&ServingFacts>,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(whole) = whole {
        facts.extend(analyzed_time(profile, whole, serving));
        facts.extend(busy(timelines, whole));
        facts.extend(counts(profile));
    }
    // Separate from the analyzed time: a process starts long before it uses a GPU.
    if let Some((n_processes, ns)) = lifetime::of_processes(&profile.trace) {
        let label = match n_processes {
            1 => "Process lifetime",
            _ => "Process lifetimes",
        };
        facts.push(fact(label, format::time_ns(ns)));
    }
    if let Some(ns) = lifetime::of_profiler(&profile.trace) {
        facts.push(fact("Profiler ran for", format::time_ns(ns)));
    }
    let n_ops: u64 = profile.cpu_ops.iter().map(|op| op.n_calls).sum();
    if n_ops > 0 {
        facts.push(fact("Operator calls", format::count(n_ops)));
    }
    facts.extend(profile.memory().main().map(memory_peak));
    let bytes = profile.recording.text_bytes;
    facts.push(fact("Trace size", format::bytes(bytes)));
    facts
}

/// The length of what is analyzed, unless the only step is all of it and already says so.
fn analyzed_time(
    profile: &Profile,
    whole: &GpuTimeline,
    serving: Option<&ServingFacts>,
) -> Option<Fact> {
    let total_ns = whole.total_ns();
    let mut phases = serving.iter().flat_map(|serving| &serving.phases);
    let is_of_step = phases.any(|phase| phase.is_at_most && phase.step_ns == total_ns);
    let label = match profile.window {
        Some(_) => "Time analyzed",
        None if is_of_step => return None,
        None => "First to last GPU activity",
    };
    Some(fact(label, format::time_ns(total_ns)))
}

fn busy(timelines: &Timelines, whole: &GpuTimeline) -> Vec<Fact> {
    let busy = format::time_ns(whole.busy_ns);
    let n_gpus = timelines.gpus.len();
    if n_gpus == 0 {
        return vec![fact("GPU busy", busy)];
    }
    let mut facts = vec![fact("Any GPU busy", busy)];
    if let Some(of_one) = timelines.of_one_gpu() {
        facts.push(fact("GPUs", format::count(n_gpus as u64)));
        let average = format::time_ns(of_one.busy_ns);
        facts.push(fact("Busy time per GPU (average)", average));
    }
    facts
}

/// How many kernels, copies and fills ran, where any did.
fn counts(profile: &Profile) -> impl Iterator<Item = Fact> {
    let kinds = [
        ("Kernels", Category::Kernel),
        ("Copies", Category::GpuMemcpy),
        ("Fills", Category::GpuMemset),
    ];
    kinds.into_iter().filter_map(|(label, category)| {
        let all = profile.gpu.all();
        let n = all.filter(|work| work.category == category).count();
        (n > 0).then(|| fact(label, format::count(n as u64)))
    })
}

fn memory_peak(device: &DeviceMemory) -> Fact {
    let peak = format::bytes(device.peak.allocated);
    let reserved = match device.peak.reserved {
        0 => String::new(),
        bytes => format!(" of {} reserved", format::bytes(bytes)),
    };
    let label = format!("Memory peak, {}", device.label);
    (label, format!("{peak}{reserved}"))
}
