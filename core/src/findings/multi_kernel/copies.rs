//! What requests copies, what makes the CPU wait, and what the run does not wait for: sentences and figures.

use super::assess::{CopyAssessment, Facts};
use crate::Profile;
use crate::assess::idle::code::{Code, Place};
use crate::base::format;
use crate::base::group::{grouped, summed};
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::findings::Input;
use crate::findings::engine::run_time;
use crate::names::cpu_activity::CpuActivity;
use crate::names::frames::Frame;
use crate::profile::gpu::copies::{Copies, CopyOrigin, DdpCopy, Direction, HostMemory, direction};
use crate::profile::gpu::timeline::GpuClass;
use crate::trace::{ByName, Category, EventId, StringId};

/// The Python code that leads to copies by operators.
#[rustfmt::skip]
const PYTHON: &[(&[&str], &str)] = &[
    (&["aten::_local_scalar_dense", "aten::item"], "`.item()`, or a tensor used as a Python number"),
    (&["aten::is_nonzero"], "a tensor as the condition of an `if`"),
    (&["aten::nonzero"], "`nonzero()` or a boolean mask, whose size the CPU has to know"),
    (&["aten::equal"], "`torch.equal`, whose answer the CPU has to know"),
    (&["aten::copy_", "aten::_to_copy", "aten::to"], "`.to()`, `.cpu()`, `.cuda()` or `copy_()`"),
    (&["aten::unique", "aten::_unique2", "aten::repeat_interleave"], "an operation whose result has a size that the CPU has to know"),
];

fn python_of(op: &str, direction: Direction) -> Option<&'static str> {
    if op == "aten::copy_" && direction == Direction::DeviceToDevice {
        return Some("`copy_()`, `clone()` or `contiguous()`");
    }
    let mut rows = PYTHON.iter();
    rows.find_map(|(ops, python)| ops.contains(&op).then_some(*python))
}

/// What requests the copies in a direction, and what makes the CPU wait, as far as the trace shows.
pub(crate) fn causes(input: &Input, facts: &Facts, assessed: &CopyAssessment) -> Vec<String> {
    let strings = &input.profile.trace.strings;
    let (copies, direction) = (&assessed.copies, assessed.direction);
    let of = |count: u64, [one, many]: [&str; 2], what: &str| {
        let verb = if count == 1 { one } else { many };
        let (number, all) = (format::count(count), format::count(copies.count));
        (count > 0).then(|| format!("{number} of {all} {verb} {what}."))
    };
    let count_of = |is: &dyn Fn(&CopyOrigin) -> bool| facts.copies.count_of(direction, is);
    let of_ddp = |of_ddp, what| {
        let count = count_of(&|origin| origin.of_ddp == Some(of_ddp));
        of(count, ["copies", "copy"], what)
    };
    let gradients = "gradients out of the buckets of `DistributedDataParallel`";
    let buffers =
        "buffers of the model, which `DistributedDataParallel` broadcasts before each forward pass";
    let mut sentences = vec![
        of_ddp(DdpCopy::Gradients, gradients),
        of_ddp(DdpCopy::Buffers, buffers),
    ];
    // By operator, over all kinds of memory and frames.
    let origins = facts.copies.origins_of(direction);
    let of_ops = origins.filter(|(origin, _)| origin.of_ddp.is_none());
    let of_ops = of_ops.filter_map(|(origin, copies)| Some((origin.op?, copies.count)));
    let by_op: Vec<(StringId, u64)> = grouped(of_ops, |all, count| *all += count);
    // On a tie, the first.
    if let Some((op, count)) = by_op.into_iter().rev().max_by_key(|(_, count)| *count) {
        let op = strings.get(op);
        let python = python_of(op, direction).map(|python| format!(" ({python})"));
        let from = format!("from `{op}`{}", python.unwrap_or_default());
        sentences.push(of(count, ["comes", "come"], &from));
    }
    let pageable = count_of(&|origin| origin.memory == Some(HostMemory::Pageable));
    let what = "pageable host memory, which makes the CPU wait";
    sentences.push(of(pageable, ["uses", "use"], what));
    let mut sentences: Vec<String> = sentences.into_iter().flatten().collect();
    if copies.wait_ns > 0 {
        sentences.push(format!(
            "Calls that returned only after their copy was done blocked the CPU for {}.",
            format::time_ns(copies.wait_ns)
        ));
    }
    sentences
}

/// What the data shows about the copies in a direction, a share of which is
/// [off the critical path](off_critical_path_share).
pub(super) fn reasoning(
    input: &Input,
    facts: &Facts,
    assessed: &CopyAssessment,
    off_critical_path: Option<f64>,
) -> Vec<String> {
    let mut sentences = vec![format!(
        "By time the severity is {}, by count {}; together {}.",
        assessed.by_time.label(),
        assessed.by_count.label(),
        assessed.severity().label()
    )];
    sentences.extend(causes(input, facts, assessed));
    sentences.extend(beyond_overlap(assessed));
    sentences.extend(pinned_is_faster(assessed));
    sentences
        .push("What the GPU waits for around a copy is idle time, and counted there.".to_owned());
    sentences.extend(off_critical_path.map(|off_critical_path| {
        format!(
            "{} of this is saved only once the run is no longer launch-bound: the CPU launches what comes next after these copies are over, so that shorter ones only leave the GPU idle for longer.",
            run_time::share(off_critical_path)
        )
    }));
    sentences
}

/// "; they move 154 MB each on average, at 6.20 GB/s", if sizes were recorded.
pub(super) fn moved(copies: &Copies) -> String {
    let known = copies.avg_bytes().zip(copies.gbps());
    known.map_or(String::new(), |(bytes, gbps)| {
        let (bytes, gbps) = (format::bytes(bytes), format::bandwidth_gbps(gbps));
        match copies.count {
            1 => format!("; it moves {bytes} at {gbps}"),
            _ => format!("; they move {bytes} each on average, at {gbps}"),
        }
    })
}

/// ", most of it in `update` in `metrics.py:20`": the function that leads to most of the time of copies.
pub(super) fn mostly_in<'a>(
    input: &Input,
    origins: impl Iterator<Item = &'a (CopyOrigin, Copies)>,
) -> Option<String> {
    let of_frames = origins.map(|(origin, copies)| (origin.frame, copies.time_ns));
    place_of_most(input, of_frames)
}

/// The same for the times of any activity, with the frame that leads to each; two functions that share nearly all of it.
pub(super) fn place_of_most(
    input: &Input,
    times: impl Iterator<Item = (Option<StringId>, i64)>,
) -> Option<String> {
    const NEARLY_ALL: f64 = 0.9;
    const TWO_THIRDS: f64 = 2.0 / 3.0;
    let of_frames = summed(times);
    let all_ns = sum(of_frames.iter().map(|(_, ns)| *ns));
    let place = |frame: Option<StringId>| {
        let frame = Frame::of(input.profile.trace.strings.get(frame?))?;
        let (function, file, line) = (frame.function, frame.file(), frame.line);
        Some(format!("`{function}` in `{file}:{line}`"))
    };
    let longest = of_frames.into_iter().arranged_by_largest(|(_, ns)| *ns);
    let ns = |at: usize| longest.get(at).map_or(0, |(_, ns)| *ns);
    let (first_ns, both_ns) = (ns(0), ns(0).saturating_add(ns(1)));
    let shares = |ns: i64, least: f64| ns as f64 >= least * all_ns as f64;
    let name = |at: usize| place(longest.get(at)?.0);
    let are_two = !shares(first_ns, TWO_THIRDS) && shares(both_ns, NEARLY_ALL);
    let two = name(0).zip(name(1)).filter(|_| are_two);
    let (places, ns) = match two {
        Some((first, second)) => (format!("{first} and {second}"), both_ns),
        None => (name(0).filter(|_| first_ns > all_ns / 2)?, first_ns),
    };
    let what = if ns == all_ns { "" } else { "most of it " };
    Some(format!(", {what}in {places}"))
}

fn pinned_is_faster(assessed: &CopyAssessment) -> Option<String> {
    let ns = assessed.saved_by_pinning_ns().filter(|ns| *ns > 0)?;
    Some(format!(
        "Copies of pinned memory reach {} or more over PCIe 3.0 with 16 lanes: at that rate alone {} are saved.",
        format::bandwidth_gbps(CopyAssessment::PINNED_GBPS),
        format::time_ns(ns)
    ))
}

/// What overlap cannot save, if too few kernels run beside the copies.
fn beyond_overlap(assessed: &CopyAssessment) -> Option<String> {
    let beyond_ns = assessed.beyond_overlap_ns()?;
    let (free, beyond) = (
        format::time_ns(assessed.free_ns),
        format::time_ns(beyond_ns),
    );
    let stream = match assessed.copies.are_apart() {
        true => "They have a stream of their own, and only",
        false => "Only",
    };
    let with = match assessed.are_pinned {
        true => "with fewer bytes",
        false => "with pinned memory, whose copies are faster, and with fewer bytes",
    };
    Some(format!(
        "{stream} {free} of kernels are left for them to overlap with: overlap saves no more than that, and the other {beyond} shrink {with}."
    ))
}

/// Where a checkpoint is written or read, if most of the time of the copies in a direction is spent there.
pub(super) fn checkpoint(profile: &Profile, wanted: Direction) -> Option<String> {
    let found = profile.once(|| Checkpoints::find(profile));
    let (_, place) = found.0.iter().find(|(direction, _)| *direction == wanted)?;
    Some(place.clone())
}

/// Where checkpoints are written and read, by direction, if most copies of the direction are for that.
struct Checkpoints(Vec<(Direction, String)>);

/// The copies in a direction.
#[derive(Default)]
struct OfDirection {
    all_ns: i64,
    /// The part in calls that write or read a checkpoint.
    inside_ns: i64,
    /// The first such call.
    first: Option<EventId>,
}

impl Checkpoints {
    fn find(profile: &Profile) -> Checkpoints {
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let mut is_checkpoint = ByName::new(|name| {
            let activity = CpuActivity::of_span(Category::PythonFunction, name);
            activity == Some(CpuActivity::Checkpointing)
        });
        let copies = profile.gpu.all();
        let copies = copies.filter(|work| work.class == GpuClass::Memcpy);
        let copies = copies.map(|work| {
            let launch = work.launched_by.into_iter();
            let calls = launch.flat_map(|call| tree.calls_around(call));
            let outermost = calls.filter(|call| is_checkpoint.of(trace, *call)).last();
            (direction(trace, work), (work.span.length(), outermost))
        });
        let by_direction = grouped(copies, |all: &mut OfDirection, (ns, outermost)| {
            all.all_ns = all.all_ns.saturating_add(ns);
            if outermost.is_some() {
                all.inside_ns = all.inside_ns.saturating_add(ns);
                all.first = all.first.or(outermost);
            }
        });
        let places = by_direction.into_iter().filter_map(|(direction, all)| {
            let event = all.first.filter(|_| all.inside_ns > all.all_ns / 2)?;
            let code = Code {
                event,
                within: event,
                activity: Some(CpuActivity::Checkpointing),
            };
            let place = Place::of(profile, code);
            Some((direction, format!("{}{}", place.text(), place.called_by())))
        });
        Checkpoints(places.collect())
    }
}

/// The share of the copies in a direction that the run does not wait for, because the CPU launches late; `None` if that
/// is within the variation of times.
pub(super) fn off_critical_path_share(input: &Input, wanted: Direction) -> Option<f64> {
    let trace = &input.profile.trace;
    let (mut off_critical_path_ns, mut all_ns) = (0_i64, 0_i64);
    for (_, operation, evaluation) in input.operations() {
        let mut work = operation.activity(input.profile);
        if work.all(|work| work.class == GpuClass::Memcpy && direction(trace, work) == wanted) {
            off_critical_path_ns =
                off_critical_path_ns.saturating_add(evaluation.off_critical_path_ns);
            all_ns = all_ns.saturating_add(operation.kernel_ns);
        }
    }
    let share = (off_critical_path_ns as f64 / all_ns as f64).clamp(0.0, 1.0);
    (all_ns > 0 && share >= run_time::OFF_CRITICAL_PATH_FROM).then_some(share)
}
