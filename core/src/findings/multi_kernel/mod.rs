//! Copies and communication: what moves between the CPU and GPUs, what that costs, and how much of it overlaps with
//! computation.
//!
//! Everything is computed from the GPU events of the timeline, so that shares agree with it. Whether a copy leaves the
//! GPU idle belongs to the other system analysis; this one is about the time of copies.

mod assess;
mod communication;
mod copies;
mod issues;
mod messages;
mod rules;
mod tables;
#[cfg(test)]
mod tests;
mod waiting;

use super::Severity;
use crate::findings::engine::pattern;
use crate::findings::prelude::*;
use crate::profile::collectives::OfSteps;
use crate::profile::gpu::copies::Direction;

pub(crate) use assess::Facts;
pub(crate) use communication::out_of_reach;
pub(crate) use copies::causes;
pub(crate) use rules::patterns;

pub(super) const DOCS: Docs = || rule::docs(rules::RULES);

pub(super) fn run(input: &Input, _: &[Row], outcome: &mut Outcome) {
    let Some(facts) = Facts::new(input) else {
        return outcome.note(input.profile.without_gpu().to_owned());
    };
    outcome.status = Status::Done;
    let timeline = &facts.timeline;
    outcome.time_ns = sum([timeline.exposed_comm_ns, timeline.exposed_memcpy_ns]);
    add_facts(outcome, &facts);
    outcome.tables = tables::tables(input, &facts);
    let issues = issues::issues(input, &facts);
    pattern::add(outcome, &rules::flagged(input, &facts, &issues));
    outcome.findings = rule::find(input, rules::RULES, issues.iter().collect());
    outcome.notes = notes(input, &facts);
}

fn severity(severity: Severity) -> Value {
    Value::Text(severity.label().to_owned())
}

fn add_facts(outcome: &mut Outcome, facts: &Facts) {
    use Direction::{DeviceToDevice, DeviceToHost, HostToDevice};
    let (timeline, copies) = (&facts.timeline, &facts.copies);
    let (blocking, overlap) = (facts.blocking(), facts.overlap());
    let exposed_memcpy_ns = facts.most_memcpy.exposed_memcpy_ns;
    let exposed_percent = Value::Percent(facts.percent(exposed_memcpy_ns));
    let count = |direction| Value::Count(copies.of(direction).map_or(0, |copies| copies.count));
    let level = |direction| severity(facts.severity_of(direction));
    let overlap_label = Value::Text(overlap.label().to_owned());
    #[rustfmt::skip]
    outcome.facts([
        ("total_memcpy_count", "Memory copies", Value::Count(copies.count())),
        ("total_memcpy_time", "Time of memory copies", Value::Ns(copies.time_ns())),
        ("exposed_memcpy_time", "Copies while nothing else runs", Value::Ns(exposed_memcpy_ns)),
        ("exposed_memcpy_time", "Such copies, % of run", exposed_percent),
        ("d2h_count", "Copies D2H", count(DeviceToHost)),
        ("d2h_severity", "Severity of copies D2H", level(DeviceToHost)),
        ("h2d_count", "Copies H2D", count(HostToDevice)),
        ("h2d_severity", "Severity of copies H2D", level(HostToDevice)),
        ("d2d_count", "Copies D2D", count(DeviceToDevice)),
        ("d2d_severity", "Severity of copies D2D", level(DeviceToDevice)),
        ("fill_count", "Fills", Value::Count(copies.n_fills)),
        ("fill_time", "Time of fills", Value::Ns(copies.fill_ns)),
        ("collective_count", "Collectives", Value::Count(facts.collectives.count)),
        ("total_comm_time", "Time of communication", Value::Ns(timeline.comm_ns)),
        ("exposed_comm_time", "Exposed communication", Value::Ns(timeline.exposed_comm_ns)),
        ("exposed_comm_time", "Exposed communication, % of run", Value::Percent(blocking.percent)),
        ("exposed_comm_severity", "Communication blocking compute", severity(blocking.severity)),
        ("comm_overlap", "Communication overlapped with computation", Value::percent(overlap.percent)),
        ("overlap_severity", "Overlap", overlap_label),
        ("is_training", "A backward pass or an optimizer step was recorded", Value::Flag(facts.is_training)),
    ]);
}

fn notes(input: &Input, facts: &Facts) -> Vec<Note> {
    use Topic::{Communication, Copies, General};
    let mut notes = Vec::new();
    if facts.copies.count() == 0 {
        notes.push(Copies.note("No memory copies were recorded on the GPU."));
    }
    if facts.n_gpus > 1 {
        notes.push(General.note(format!(
            "Activity of {} GPUs is in the trace: times of communication that are compared with computation or the run are those of an average GPU, shares of copies those of the GPU that has most of them. A collective or a copy is hidden by what its own GPU does alone.",
            facts.n_gpus
        )));
    }
    if facts.timeline.comm_ns > 0 && !facts.is_overlap_known {
        let text = "The trace does not hold all kernels, so it is not known what communication overlaps with.";
        notes.push(Communication.note(text));
    }
    let on_collectives = notes_on_collectives(facts).into_iter();
    notes.extend(on_collectives.map(|text| Communication.note(text)));
    if facts.overlap().percent.is_some() && facts.overlap().severity.is_none() {
        let text = "There is too little communication to judge its overlap.";
        notes.push(Communication.note(text));
    }
    let strings = &input.profile.trace.strings;
    let reads_value = |op| strings.get(op) == "aten::_local_scalar_dense";
    let n_reads = facts.copies.count_of(Direction::DeviceToDevice, |origin| {
        origin.op.is_some_and(reads_value)
    });
    if n_reads > 0 {
        notes.push(Copies.note(format!(
            "Of the copies within the GPU, {} came from `aten::_local_scalar_dense`, which reads a value for the CPU: some profilers name copies to pinned memory so.",
            format::count(n_reads)
        )));
    }
    if facts.assessed.iter().any(|one| one.direction.crosses()) {
        notes.push(Copies.note("Bandwidths between host and GPU are measured; the GPU profile has no figure of that link to judge them by."));
    }
    if let Some(link) = input.gpu().and_then(|gpu| gpu.link_gbps)
        && (facts.collectives.count > 0 || facts.copies.of(Direction::PeerToPeer).is_some())
    {
        notes.push(Communication.note(format!(
            "The links of this GPU to others carry {} in both directions together, by its profile.",
            format::bandwidth_gbps(link)
        )));
    }
    notes
}

/// Notes about the all-reduces of a step.
fn notes_on_steps(steps: &OfSteps) -> Vec<String> {
    /// The first all-reduce of a step waits for other ranks if it takes more than this many times as long as the
    /// others.
    const LEAST_RATIO: i64 = 2;
    let mut notes = Vec::new();
    if steps.other_ns > 0 && steps.first_ns > LEAST_RATIO * steps.other_ns {
        notes.push(format!(
            "The first all-reduce of a step takes {}, the others {} (medians): a step starts with waiting for the ranks that start it later.",
            format::time_ns(steps.first_ns),
            format::time_ns(steps.other_ns)
        ));
    }
    notes.extend(steps.unexpected());
    notes
}

fn notes_on_collectives(facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.collectives.count == 0 {
        notes.push("No collective communication was recorded.".to_owned());
        return notes;
    }
    if facts.n_gpus == 1 {
        notes.push("A trace of one process shows types, sizes and times of collectives. It does not show how much of the time is waiting for other ranks.".to_owned());
        let excess_ns = sum(facts.collectives.groups.iter().map(|group| group.excess_ns));
        if excess_ns > 0 {
            notes.push(format!(
                "Collectives of one type and size take {} beyond their median in all: waiting or skew, not separable on one rank. Bandwidths are those of the median.",
                format::time_ns(excess_ns)
            ));
        }
    }
    notes.extend(facts.collectives.steps.iter().flat_map(notes_on_steps));
    let assumed = facts.collectives.groups.iter();
    let assumed = assumed.filter_map(|group| Some((group.count, group.key.source?)));
    let (n_assumed, weakest) = assumed.fold((0, None), |(n, weakest), (count, source)| {
        (n + count, weakest.max(Some(source)))
    });
    if let Some(source) = weakest {
        notes.push(format!(
            "The message of {} in graphs is assumed to be the hidden states of all tokens of the step ({}).",
            format::counted(n_assumed, "all-reduce"),
            source.label()
        ));
    }
    let unknown = facts.collectives.groups.iter();
    let unknown = unknown.filter(|group| group.message_bytes().is_none());
    let n_unknown: u64 = unknown.map(|group| group.count).sum();
    if n_unknown > 0 {
        let all = format::counted(facts.collectives.count, "collective");
        let of = match n_unknown == facts.collectives.count {
            true => all,
            false => format!("{} of {all}", format::count(n_unknown)),
        };
        notes.push(format!("The trace does not tell the size of {of}."));
    }
    notes
}
