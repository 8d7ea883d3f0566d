//! Who asks for copies, what makes the CPU wait, and what the run does not wait for: sentences and
//! figures.

use super::assess::{CopyAssessment, Facts};
use crate::base::format;
use crate::base::sort::Arrange;
use crate::findings::Input;
use crate::profile::copies::{Direction, HostMemory, OfDdp, direction};
use crate::profile::timeline::GpuClass;

/// What in Python leads to copies by an operator.
const PYTHON: &[(&[&str], &str)] = &[
    (
        &["aten::_local_scalar_dense", "aten::item"],
        "`.item()`, or a tensor used as a Python number",
    ),
    (
        &["aten::is_nonzero"],
        "a tensor as the condition of an `if`",
    ),
    (
        &["aten::nonzero"],
        "`nonzero()` or a boolean mask, whose size the CPU has to know",
    ),
    (
        &["aten::equal"],
        "`torch.equal`, whose answer the CPU has to know",
    ),
    (
        &["aten::copy_", "aten::_to_copy", "aten::to"],
        "`.to()`, `.cpu()`, `.cuda()` or `copy_()`",
    ),
    (
        &["aten::unique", "aten::_unique2", "aten::repeat_interleave"],
        "an operation whose result has a size that the CPU has to know",
    ),
];

fn python_of(op: &str, direction: Direction) -> Option<&'static str> {
    if op == "aten::copy_" && direction == Direction::DeviceToDevice {
        return Some("`copy_()`, `clone()` or `contiguous()`");
    }
    let known = PYTHON.iter().find(|(ops, _)| ops.contains(&op));
    known.map(|(_, python)| *python)
}

/// Who asks for the copies of a direction, and what makes the CPU wait: as far as the trace tells.
pub(crate) fn causes(input: &Input, facts: &Facts, assessed: &CopyAssessment) -> Vec<String> {
    let strings = &input.profile.trace.strings;
    let (copies, direction) = (&assessed.copies, assessed.direction);
    let of = |count: u64, [one, many]: [&str; 2], what: &str| {
        let verb = if count == 1 { one } else { many };
        let (count, all) = (format::count(count), format::count(copies.count));
        format!("{count} of {all} {verb} {what}.")
    };
    let mut sentences = Vec::new();
    for (of_ddp, what) in [
        (
            OfDdp::Gradients,
            "gradients out of the buckets of `DistributedDataParallel`",
        ),
        (
            OfDdp::Buffers,
            "buffers of the model, which `DistributedDataParallel` broadcasts before each forward pass",
        ),
    ] {
        let is_of = |count: &u64| *count > 0;
        let count = facts
            .copies
            .count_of(direction, |asker| asker.of_ddp == Some(of_ddp));
        let count = Some(count).filter(is_of);
        sentences.extend(count.map(|count| of(count, ["copies", "copy"], what)));
    }
    // By operator, whatever its memory and frame.
    let mut by_op: Vec<(&str, u64)> = Vec::new();
    for (asker, copies) in facts.copies.askers_of(direction) {
        let Some(op) = asker.op.filter(|_| asker.of_ddp.is_none()) else {
            continue;
        };
        let op = strings.get(op);
        match by_op.iter_mut().find(|(known, _)| *known == op) {
            Some((_, count)) => *count += copies.count,
            None => by_op.push((op, copies.count)),
        }
    }
    by_op.arrange_by_key(|(_, count)| std::cmp::Reverse(*count));
    if let Some((op, count)) = by_op.first() {
        let python = python_of(op, direction).map(|python| format!(" ({python})"));
        let from = format!("from `{op}`{}", python.unwrap_or_default());
        sentences.push(of(*count, ["comes", "come"], &from));
    }
    let is_pageable = |memory| memory == Some(HostMemory::Pageable);
    let pageable = facts
        .copies
        .count_of(direction, |asker| is_pageable(asker.memory));
    if pageable > 0 {
        let what = "pageable host memory, which makes the CPU wait";
        sentences.push(of(pageable, ["uses", "use"], what));
    }
    if copies.wait_ns > 0 {
        sentences.push(format!(
            "Calls that returned only after their copy was done blocked the CPU for {}.",
            format::time_ns(copies.wait_ns)
        ));
    }
    sentences
}

/// What the data shows of the copies in a direction.
pub(super) fn reasoning(input: &Input, facts: &Facts, assessed: &CopyAssessment) -> Vec<String> {
    let copies = &assessed.copies;
    let mut sentences = vec![format!(
        "By time the severity is {}, by count {}; together {}.",
        assessed.by_time.label(),
        assessed.by_count.label(),
        assessed.severity().label()
    )];
    sentences.extend(causes(input, facts, assessed));
    if let (Some(bytes), Some(gbps)) = (copies.avg_bytes(), copies.gbps()) {
        let (bytes, gbps) = (format::bytes(bytes), format::bandwidth_gbps(gbps));
        sentences.push(match copies.count {
            1 => format!("It moves {bytes} at {gbps}."),
            _ => format!("They move {bytes} each on average, at {gbps} while they run."),
        });
    }
    sentences
        .push("What the GPU waits for around a copy is idle time, and counted there.".to_owned());
    if let Some(held) = held_share(input, assessed.direction) {
        sentences.push(format!(
            "{} of this is saved only once the run is no longer launch-bound: the CPU launches what comes next after these copies are over, so that shorter ones only leave the GPU idle for longer.",
            match held > 0.99 {
                true => "All".to_owned(),
                false => format::percent(held * 100.0),
            }
        ));
    }
    sentences
}

/// The share of the copies in a direction that the run does not wait for, because the CPU launches
/// what comes next only after them; `None` where that is within what times vary by.
pub(super) fn held_share(input: &Input, wanted: Direction) -> Option<f64> {
    const HELD_FROM: f64 = 0.1;
    let trace = &input.profile.trace;
    let (mut held_ns, mut all_ns) = (0_i64, 0_i64);
    for (_, operation, judged) in input.operations() {
        let mut work = operation.work().filter_map(|id| input.profile.gpu.get(id));
        if work.all(|work| work.class == GpuClass::Memcpy && direction(trace, work) == wanted) {
            held_ns = held_ns.saturating_add(judged.held_ns);
            all_ns = all_ns.saturating_add(operation.kernel_ns);
        }
    }
    let share = (held_ns as f64 / all_ns as f64).clamp(0.0, 1.0);
    (all_ns > 0 && share >= HELD_FROM).then_some(share)
}
