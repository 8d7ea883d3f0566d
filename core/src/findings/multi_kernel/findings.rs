//! Findings about copies and communication.

use super::assess::{CopyAssessment, Facts};
use super::copies::{OfDdp, held_share};
use super::patterns::{advice, communication_advice, out_of_reach, to_target_ns};
use super::tables::{askers, kinds};
use super::uneven;
use crate::base::format;
use crate::base::sort::Arrange;
use crate::base::value::Table;
use crate::findings::finding::Effect;
use crate::findings::finding::{Estimate, Finding, Impact, Priority};
use crate::findings::pattern::Pattern;
use crate::findings::{Input, Severity};
use crate::profile::copies::{Direction, HostMemory};
use crate::trace::EventId;

pub(super) fn findings(input: &Input, facts: &Facts, patterns: &[Pattern]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = patterns
        .iter()
        .filter_map(|pattern| about_copies(input, facts, pattern))
        .collect();
    findings.extend(about_communication(facts, patterns));
    findings.extend(uneven::finding_of(input, facts));
    findings
}

/// The parts that findings of the whole pipeline have.
pub(super) struct Draft {
    pub(super) pattern: &'static str,
    pub(super) priority: Priority,
    pub(super) title: String,
    pub(super) issue: String,
    pub(super) model: String,
    pub(super) kernel: String,
    pub(super) reasoning: Vec<String>,
    pub(super) events: Vec<EventId>,
    pub(super) time_ns: i64,
    pub(super) impact: Impact,
    pub(super) tables: Vec<Table>,
}

pub(super) fn finding(draft: Draft) -> Finding {
    Finding {
        pattern: draft.pattern,
        priority: draft.priority,
        confidence: None,
        title: draft.title,
        issue: draft.issue,
        model: draft.model,
        kernel: draft.kernel,
        reasoning: draft.reasoning,
        operations: Vec::new(),
        events: draft.events,
        time_ns: draft.time_ns,
        efficiency_percent: None,
        impact: Some(draft.impact),
        savings: Vec::new(),
        effect: Effect::KernelTime,
        apart: Vec::new(),
        replay: None,
        tables: draft.tables,
    }
}

fn about_copies(input: &Input, facts: &Facts, pattern: &Pattern) -> Option<Finding> {
    let direction = match pattern.key {
        "high_d2h_memcpy" => Direction::DeviceToHost,
        "high_h2d_memcpy" => Direction::HostToDevice,
        "high_d2d_memcpy" => Direction::DeviceToDevice,
        "high_p2p_memcpy" => Direction::PeerToPeer,
        _ => return None,
    };
    let assessed = facts.assess(direction)?;
    let (model, kernel) = advice(&facts.copies, direction);
    let groups = || facts.copies.askers_of(direction);
    let mut reasoning = reasoning(input, facts, &assessed);
    let mut impact = Impact::at_most(assessed.copies.of_one.exposed_ns);
    /// Below this share what the run does not wait for is within what times vary by.
    const HELD_FROM: f64 = 0.1;
    let held = held_share(input, direction);
    if held >= HELD_FROM {
        let sure = |ns: i64| (ns as f64 * (1.0 - held)).round() as i64;
        impact.low_ns = sure(impact.low_ns);
        impact.mid_ns = sure(impact.mid_ns);
        reasoning.push(format!(
            "{} of this is won only once the host launches in time: it launches what comes next after these copies are over, so that shorter ones only leave the GPU idle for longer.",
            match held > 0.99 {
                true => "All".to_owned(),
                false => format::percent(held * 100.0),
            }
        ));
    }
    Some(finding(Draft {
        pattern: pattern.key,
        priority: pattern.severity.priority(),
        title: format!("Copies {}", direction.label()),
        issue: pattern.description.clone(),
        model: model.to_owned(),
        kernel: kernel.to_owned(),
        reasoning,
        events: groups()
            .filter_map(|(_, copies)| copies.longest)
            .take(10)
            .collect(),
        time_ns: assessed.copies.time_ns,
        impact,
        tables: vec![askers(input, groups(), "copies", "Who asks for them")],
    }))
}

/// What in Python leads to copies by an operator.
fn python_of(op: &str, direction: Direction) -> Option<&'static str> {
    Some(match op {
        "aten::copy_" if direction == Direction::DeviceToDevice => {
            "`copy_()`, `clone()` or `contiguous()`"
        }
        "aten::_local_scalar_dense" | "aten::item" => {
            "`.item()`, or a tensor used as a number of Python"
        }
        "aten::is_nonzero" => "a tensor as the condition of an `if`",
        "aten::nonzero" => "`nonzero()` or a boolean mask, whose size the host has to know",
        "aten::equal" => "`torch.equal`, whose answer the host has to know",
        "aten::copy_" | "aten::_to_copy" | "aten::to" => {
            "`.to()`, `.cpu()`, `.cuda()` or `copy_()`"
        }
        "aten::unique" | "aten::_unique2" | "aten::repeat_interleave" => {
            "an operation whose result has a size that the host has to know"
        }
        _ => return None,
    })
}

fn reasoning(input: &Input, facts: &Facts, assessed: &CopyAssessment) -> Vec<String> {
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
            _ => format!("They move {bytes} each in the mean, at {gbps} while they run."),
        });
    }
    sentences
        .push("What the GPU waits for around a copy is idle time, and counted there.".to_owned());
    sentences
}

/// Who asks for the copies of a direction, and what makes the host wait: as far as the trace tells.
pub(super) fn causes(input: &Input, facts: &Facts, assessed: &CopyAssessment) -> Vec<String> {
    let strings = &input.profile.trace.strings;
    let copies = &assessed.copies;
    let mut sentences = Vec::new();
    for of_ddp in OfDdp::ALL {
        let asked = facts.copies.askers_of(assessed.direction);
        let asked = asked.filter(|(asker, _)| asker.of_ddp == Some(of_ddp));
        let count: u64 = asked.map(|(_, copies)| copies.count).sum();
        if count > 0 {
            sentences.push(format!(
                "{} of {} {} {}.",
                format::count(count),
                format::count(copies.count),
                if count == 1 { "copies" } else { "copy" },
                of_ddp.label()
            ));
        }
    }
    // By operator, whatever its memory and frame.
    let mut by_op: Vec<(&str, u64)> = Vec::new();
    for (asker, copies) in facts.copies.askers_of(assessed.direction) {
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
        let meaning = python_of(op, assessed.direction)
            .map_or(String::new(), |python| format!(" ({python})"));
        sentences.push(format!(
            "{} of {} {} from `{op}`{meaning}.",
            format::count(*count),
            format::count(copies.count),
            if *count == 1 { "comes" } else { "come" }
        ));
    }
    let pageable: u64 = facts
        .copies
        .askers_of(assessed.direction)
        .filter(|(asker, _)| asker.memory == Some(HostMemory::Pageable))
        .map(|(_, copies)| copies.count)
        .sum();
    if pageable > 0 {
        sentences.push(format!(
            "{} of {} {} pageable host memory, which makes the host wait.",
            format::count(pageable),
            format::count(copies.count),
            if pageable == 1 { "uses" } else { "use" }
        ));
    }
    if copies.wait_ns > 0 {
        sentences.push(format!(
            "Calls that returned only after their copy was done held the host for {}.",
            format::time_ns(copies.wait_ns)
        ));
    }
    sentences
}

/// How much of what the links carry the collectives use.
#[derive(Debug, Clone, Copy)]
struct OnBus {
    /// In the mean.
    gbps: f64,
    /// What the links carry each way.
    link_gbps: f64,
    /// What the messages would take at that.
    at_link_ns: i64,
}

impl OnBus {
    fn new(facts: &Facts) -> Option<OnBus> {
        let link_gbps = facts.link_gbps.filter(|gbps| *gbps > 0.0)?;
        let (bytes, ns) = facts.collectives.on_bus()?;
        Some(OnBus {
            gbps: bytes / ns as f64,
            link_gbps,
            at_link_ns: facts.of_one_gpu((bytes / link_gbps).round() as i64),
        })
    }

    fn percent(self) -> f64 {
        self.gbps * 100.0 / self.link_gbps
    }

    /// At the end of a sentence.
    fn clause(self) -> String {
        format!(
            "; its bus bandwidth is {} in the mean, {} of the {} that the links carry each way",
            format::bandwidth_gbps(self.gbps),
            format::percent(self.percent()),
            format::bandwidth_gbps(self.link_gbps)
        )
    }

    /// What little use of the links means; `None` where they are well used.
    fn sentence(self, comm_ns: i64) -> Option<String> {
        /// Below half of what the links carry most of the time is something else than transfer.
        const LITTLE_PERCENT: f64 = 50.0;
        (self.percent() < LITTLE_PERCENT).then(|| {
            format!(
                "At the bandwidth of the links the messages that tell their size would take {} of {}: the rest is waiting for other ranks, a slower link than these, or messages too small for them.",
                format::time_ns(self.at_link_ns),
                format::time_ns(comm_ns)
            )
        })
    }
}

/// One finding for both patterns of communication: they are won by the same means.
fn about_communication(facts: &Facts, patterns: &[Pattern]) -> Option<Finding> {
    let has = |key: &str| patterns.iter().any(|pattern| pattern.key == key);
    let (is_blocking, is_poor) = (
        has("nccl_blocking_compute"),
        has("poor_comm_compute_overlap"),
    );
    if !is_blocking && !is_poor {
        return None;
    }
    let timeline = &facts.timeline;
    let (blocking, overlap) = (facts.blocking(), facts.overlap());
    // Poor overlap of what costs little is not worse than one level above its cost.
    let severity = overlap
        .severity()
        .unwrap_or(Severity::Acceptable)
        .min(blocking.severity.worse())
        .max(blocking.severity);
    /// Below this share that runs beside computation, it hardly does.
    const HARDLY_PERCENT: f64 = 30.0;
    let is_hardly = overlap
        .percent()
        .is_some_and(|percent| percent < HARDLY_PERCENT);
    let (pattern, title) = match (is_blocking, is_poor) {
        (true, true) => (
            "nccl_blocking_compute",
            match is_hardly {
                true => "Communication blocks computation and hardly overlaps with it",
                false => "Communication blocks computation and overlaps with it only in part",
            },
        ),
        (true, false) => ("nccl_blocking_compute", "Communication blocks computation"),
        _ => (
            "poor_comm_compute_overlap",
            match is_hardly {
                true => "Communication hardly overlaps with computation",
                false => "Communication overlaps with computation only in part",
            },
        ),
    };
    let overlaps = overlap.percent().map_or(String::new(), |percent| {
        format!(
            "; {} of it runs beside computation",
            format::percent(percent)
        )
    });
    let low_ns = to_target_ns(facts);
    let high_ns = facts.hideable.exposed_comm_ns;
    let mut reasoning = Vec::new();
    if let Some(out_of_reach) = out_of_reach(facts) {
        reasoning.push(out_of_reach);
    } else if is_poor {
        reasoning.push(format!(
            "With {} of it beside computation {} would be won, with all of it {}.",
            format::percent(facts.thresholds.overlap_target_percent),
            format::time_ns(low_ns),
            format::time_ns(high_ns)
        ));
    }
    if let Some(first) = facts.collectives.kinds.first() {
        let size = first.message_bytes.map_or(String::new(), |bytes| {
            format!(" of {}", format::bytes(bytes as u64))
        });
        let sizes = match first.n_groups {
            1 => String::new(),
            n => format!(" with {} kinds of messages", format::count(n)),
        };
        reasoning.push(format!(
            "{} of it is {}{size}, {}{sizes}: {} while nothing computes.",
            match first.exposed_ns > timeline.exposed_comm_ns / 2 {
                true => "Most",
                false => "The largest part",
            },
            first.kind.label(),
            format::counted(first.count, "time"),
            format::time_ns(facts.of_one_gpu(first.exposed_ns))
        ));
    }
    let on_bus = OnBus::new(facts);
    reasoning.extend(on_bus.and_then(|on_bus| on_bus.sentence(timeline.comm_ns)));
    match facts.n_gpus {
        1 => reasoning.push("A trace of one process cannot tell waiting for the others from transfer: the traces of all ranks can.".to_owned()),
        _ => {
            reasoning.push("Times are those of a GPU in the mean. What a GPU waits for another one counts as communication.".to_owned());
            if high_ns < timeline.exposed_comm_ns {
                reasoning.push(format!(
                    "The GPU that has least of it has {} while it computes nothing; hiding wins no more than that, because the others wait for this one.",
                    format::time_ns(high_ns)
                ));
            }
        }
    }
    Some(finding(Draft {
        pattern,
        priority: severity.priority(),
        title: title.to_owned(),
        issue: format!(
            "Collective communication takes {}, {} of it ({} of the run) while nothing computes{overlaps}{}.",
            format::time_ns(timeline.comm_ns),
            format::time_ns(timeline.exposed_comm_ns),
            format::percent(blocking.percent),
            on_bus.map_or(String::new(), |on_bus| on_bus.clause())
        ),
        model: communication_advice(facts).to_owned(),
        kernel: "hold the bus bandwidth of each type and size against the link, and check topology and configuration of the communication library; small messages want the kernels for low latency."
            .to_owned(),
        reasoning,
        events: facts
            .collectives
            .longest
            .iter()
            .map(|longest| longest.event)
            .collect(),
        time_ns: timeline.exposed_comm_ns,
        impact: Impact {
            low_ns,
            mid_ns: low_ns + (high_ns - low_ns) / 2,
            high_ns,
            estimate: Estimate::UpperBound,
        },
        tables: vec![kinds(facts)],
    }))
}
