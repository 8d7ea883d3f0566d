//! What the figures show: copies in one direction, communication that blocks, overlap that lacks.

use super::assess::{Facts, Overlap};
use super::collectives::Purpose;
use super::copies::{Copies, CopySummary, Direction, HostMemory, OfDdp};
use crate::base::format;
use crate::base::interval::sum;
use crate::findings::pattern::Pattern;

/// Every pattern that is flagged.
pub(super) fn patterns(facts: &Facts) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for assessed in facts.copy_assessments() {
        let (key, name) = match assessed.direction {
            Direction::DeviceToHost => ("high_d2h_memcpy", "Many copies from the GPU to the host"),
            Direction::HostToDevice => ("high_h2d_memcpy", "Many copies from the host to the GPU"),
            // What stays on GPUs stalls no host: its count alone says nothing.
            Direction::DeviceToDevice if assessed.is_material => {
                ("high_d2d_memcpy", "Many copies within the GPU")
            }
            Direction::PeerToPeer if assessed.is_material => {
                ("high_p2p_memcpy", "Many copies between GPUs")
            }
            _ => continue,
        };
        if assessed.is_flagged {
            patterns.push(Pattern {
                key,
                name,
                severity: assessed.severity(),
                description: format!(
                    "{} {} ({} of the run), {} of it while nothing else runs.",
                    match assessed.copies.count {
                        1 => "1 copy takes".to_owned(),
                        count => format!("{} copies take", format::count(count)),
                    },
                    format::time_ns(assessed.copies.time_ns),
                    format::percent(assessed.percent),
                    format::time_ns(assessed.copies.exposed_ns),
                ),
                recommendation: advice(&facts.copies, assessed.direction).0,
                recoverable_ns: Some(assessed.copies.of_one.exposed_ns),
            });
        }
    }
    let blocking = facts.blocking();
    if blocking.is_flagged {
        patterns.push(Pattern {
            key: "nccl_blocking_compute",
            name: "Communication blocking compute",
            severity: blocking.severity,
            description: format!(
                "Communication runs for {} ({} of the run) while nothing computes.",
                format::time_ns(facts.timeline.exposed_comm_ns),
                format::percent(blocking.percent)
            ),
            recommendation: communication_advice(facts),
            recoverable_ns: Some(facts.hideable.exposed_comm_ns),
        });
    }
    if let Overlap::Known {
        percent,
        severity,
        is_flagged: true,
    } = facts.overlap()
    {
        patterns.push(Pattern {
            key: "poor_comm_compute_overlap",
            name: "Poor overlap of communication and computation",
            severity,
            description: format!(
                "{} of {} of communication runs beside computation; the aim is {}.",
                format::percent(percent),
                format::time_ns(facts.timeline.comm_ns),
                format::percent(facts.thresholds.overlap_target_percent)
            ),
            recommendation: communication_advice(facts),
            recoverable_ns: Some(to_target_ns(facts)),
        });
    }
    if let Some(uneven) = facts.uneven() {
        patterns.push(Pattern {
            key: "uneven_gpus",
            name: "GPUs wait for each other in collectives",
            severity: uneven.severity,
            description: format!(
                "A GPU waits {} in the mean ({} of the run) for the one that comes last to collectives.",
                format::time_ns(uneven.waits.mean_ns),
                format::percent(uneven.percent)
            ),
            recommendation: EVEN_LOAD,
            recoverable_ns: Some(uneven.waits.mean_ns),
        });
    }
    patterns
}

/// What to do where GPUs wait for each other.
pub(super) const EVEN_LOAD: &str = "give all GPUs the same to do: batches of equal size, sequences of equal length, layers and experts spread evenly; where the load is even, look for what holds the last one up: its host, its data, its clock.";

/// What to do in the model about communication.
pub(super) fn communication_advice(facts: &Facts) -> &'static str {
    let is_hidden = facts.timeline.exposed_comm_ns < facts.timeline.comm_ns / 2;
    let purpose = facts.collectives.purpose.unwrap_or(Purpose::Unknown);
    purpose.advice(facts.is_training, is_hidden)
}

/// What would be won at the overlap that is aimed at: of all communication only the rest would be
/// exposed. No more than there is computation to hide behind.
pub(super) fn to_target_ns(facts: &Facts) -> i64 {
    let rest = 1.0 - facts.thresholds.overlap_target_percent / 100.0;
    let left_ns = (facts.hideable.comm_ns as f64 * rest).round() as i64;
    (facts.hideable.exposed_comm_ns - left_ns).clamp(0, free_ns(facts))
}

/// Computation that no communication runs beside yet: so much more of it can be hidden.
fn free_ns(facts: &Facts) -> i64 {
    let timeline = &facts.hideable;
    let hidden_ns = timeline.comm_ns.saturating_sub(timeline.exposed_comm_ns);
    timeline.computation_ns.saturating_sub(hidden_ns).max(0)
}

/// What overlap cannot win, where there is less computation left than communication is exposed: a
/// sentence.
pub(super) fn out_of_reach(facts: &Facts) -> Option<String> {
    let (free_ns, exposed_ns) = (free_ns(facts), facts.hideable.exposed_comm_ns);
    (free_ns < exposed_ns).then(|| {
        format!(
            "Only {} of computation are left for it to run beside, so that overlap wins no more than that; the other {} are transfer or waiting for other ranks, and shrink with less to send or with ranks that arrive together.",
            format::time_ns(free_ns),
            format::time_ns(exposed_ns - free_ns)
        )
    })
}

/// What to do where most of the time of some copies is that of `DistributedDataParallel`.
fn of_ddp(copies: &CopySummary, direction: Direction) -> Option<&'static str> {
    let time_of = |of_ddp: OfDdp| {
        let askers = copies.askers_of(direction);
        let asked = askers.filter(|(asker, _)| asker.of_ddp == Some(of_ddp));
        sum(asked.map(|(_, copies)| copies.time_ns))
    };
    let [gradients_ns, buffers_ns] = OfDdp::ALL.map(time_of);
    let all_ns = copies.of(direction).map_or(0, |copies| copies.time_ns);
    if gradients_ns.saturating_add(buffers_ns) <= all_ns / 2 {
        return None;
    }
    Some(match (gradients_ns > 0, buffers_ns > 0) {
        (true, true) => {
            "let `DistributedDataParallel` leave gradients in its buckets (`gradient_as_bucket_view=True`), and where ranks may differ in their buffers, as in the running statistics of norms, let it not broadcast them (`broadcast_buffers=False`)."
        }
        (true, false) => {
            "let `DistributedDataParallel` leave gradients in its buckets (`gradient_as_bucket_view=True`)."
        }
        _ => {
            "where ranks may differ in their buffers, as in the running statistics of norms, let `DistributedDataParallel` not broadcast them (`broadcast_buffers=False`)."
        }
    })
}

/// From this mean size on a copy is no value that is read, and pays more for its bytes than for its
/// start.
const LARGE_BYTES: u64 = 1_000_000;

/// What to do about copies in a direction: in the model, and in a kernel.
pub(super) fn advice(copies: &CopySummary, direction: Direction) -> (&'static str, &'static str) {
    let mut askers = copies.askers_of(direction);
    let are_pinned = askers.all(|(asker, _)| asker.memory == Some(HostMemory::Pinned));
    let of_direction = copies.of(direction);
    let is_large = of_direction
        .and_then(Copies::avg_bytes)
        .is_some_and(|bytes| bytes >= LARGE_BYTES);
    // Those beside other work already do what the advice would be.
    let are_hidden = of_direction.is_some_and(|copies| copies.of_one.is_hidden());
    let small = match of_direction.map_or(0, |copies| copies.count) {
        0 | 1 => "nothing to gain in a kernel: when the copy runs is what counts.",
        _ if is_large => "nothing to gain in a kernel: when the copies run is what counts.",
        _ => "join small copies into one: each pays its own start.",
    };
    match direction {
        Direction::DeviceToHost if is_large && !are_pinned => (
            "copy into a pinned buffer that is made once (`pin_memory=True`), with `non_blocking=True`, and wait for it only where the values are used; leave on the GPU what the host need not have.",
            small,
        ),
        Direction::DeviceToHost | Direction::HostToDevice if are_pinned && are_hidden => (
            "most of these copies run beside other work already: start the others early enough for that too, and wait for them only where the values are used.",
            small,
        ),
        Direction::DeviceToHost if is_large => (
            "let copies run beside computation, on a stream of their own, and wait for them only where the values are used; leave on the GPU what the host need not have.",
            small,
        ),
        Direction::DeviceToHost => (
            "keep values on the GPU: no `.item()`, `.cpu()` or printing in the loop, reductions on the GPU, and one read for many steps.",
            "a kernel that takes the value from GPU memory makes reading it back unnecessary.",
        ),
        Direction::HostToDevice if are_pinned => (
            "host memory is pinned already: start copies earlier, on a stream of their own, beside computation (`non_blocking=True`); create constants and masks on the GPU, once.",
            small,
        ),
        Direction::HostToDevice => (
            "pin host memory (`pin_memory=True`) and copy with `non_blocking=True` on a stream of its own; create constants and masks on the GPU, once.",
            small,
        ),
        Direction::PeerToPeer => (
            "place what works together on the same GPU, or start the copy early enough to run beside computation.",
            small,
        ),
        _ => match of_ddp(copies, direction) {
            Some(model) => (
                model,
                "nothing to gain in a kernel: the copies need not be.",
            ),
            None => (
                "write results where they are needed: views for `clone()`, `contiguous()` and concatenation, preallocated buffers for results that are copied into others.",
                "a kernel that reads the other layout, or writes into the final buffer, makes the copy unnecessary.",
            ),
        },
    }
}
