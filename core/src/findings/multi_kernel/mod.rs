//! Copies and communication: what moves between host and GPUs, what that costs, and how much of it
//! runs beside computation.
//!
//! Everything is counted on the GPU events of the timeline, so that shares agree with it. Whether
//! a copy makes the GPU idle is the other system analysis's: here counts the time of copies.

mod assess;
mod collectives;
mod copies;
mod exposed;
mod findings;
mod json;
mod patterns;
mod sections;
mod tables;
#[cfg(test)]
mod tests;
mod uneven;

use super::outcome::{Outcome, Status};
use super::{AnalysisKind, Input, Severity, pattern};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::Value;
use crate::profile::copies::Direction;
use crate::profile::kernels::GpuEvents;
use crate::profile::timeline::GpuClass;
use assess::{Facts, Overlap};

pub use json::{data, metrics};
pub(crate) use sections::{Field, sections};

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let Some(facts) = Facts::new(input) else {
        let mut outcome = Outcome::new(kind, Status::NoData);
        outcome.notes.push(input.profile.without_gpu().to_owned());
        return Ok(outcome);
    };
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = sum([
        facts.timeline.exposed_comm_ns,
        facts.timeline.exposed_memcpy_ns,
    ]);
    add_facts(&mut outcome, &facts);
    outcome.tables = tables::tables(input, &facts);
    let patterns = patterns::patterns(&facts);
    pattern::add(&mut outcome, &patterns);
    outcome.findings = findings::findings(input, &facts, &patterns);
    outcome.notes = notes(input, &facts);
    Ok(outcome)
}

fn severity(severity: Severity) -> Value {
    Value::Text(severity.label().to_owned())
}

fn add_facts(outcome: &mut Outcome, facts: &Facts) {
    let timeline = &facts.timeline;
    outcome.fact(
        "total_memcpy_count",
        "Memory copies",
        Value::Count(facts.copies.count()),
    );
    outcome.fact(
        "total_memcpy_time",
        "Time of memory copies",
        Value::Ns(facts.copies.time_ns()),
    );
    outcome.fact(
        "exposed_memcpy_time",
        "Copies while nothing else runs",
        Value::Ns(facts.exposed_memcpy_ns),
    );
    outcome.fact(
        "exposed_memcpy_time",
        "Such copies, share of the run",
        Value::Percent(facts.percent(facts.exposed_memcpy_ns)),
    );
    for (direction, count_key, severity_key) in [
        (Direction::DeviceToHost, "d2h_count", "d2h_severity"),
        (Direction::HostToDevice, "h2d_count", "h2d_severity"),
        (Direction::DeviceToDevice, "d2d_count", "d2d_severity"),
    ] {
        let assessed = facts.assess(direction);
        let count = assessed
            .as_ref()
            .map_or(0, |assessed| assessed.copies.count);
        let level = assessed.map_or(Severity::Acceptable, |assessed| assessed.severity());
        let (count_label, severity_label) = match direction {
            Direction::DeviceToHost => ("Copies D2H", "Severity of copies D2H"),
            Direction::HostToDevice => ("Copies H2D", "Severity of copies H2D"),
            _ => ("Copies D2D", "Severity of copies D2D"),
        };
        outcome.fact(count_key, count_label, Value::Count(count));
        outcome.fact(severity_key, severity_label, severity(level));
    }
    outcome.fact("fill_count", "Fills", Value::Count(facts.copies.n_fills));
    outcome.fact(
        "fill_time",
        "Time of fills",
        Value::Ns(facts.copies.fill_ns),
    );
    outcome.fact(
        "collective_count",
        "Collectives",
        Value::Count(facts.collectives.count),
    );
    outcome.fact(
        "total_comm_time",
        "Time of communication",
        Value::Ns(timeline.comm_ns),
    );
    outcome.fact(
        "exposed_comm_time",
        "Communication while nothing computes",
        Value::Ns(timeline.exposed_comm_ns),
    );
    let blocking = facts.blocking();
    outcome.fact(
        "exposed_comm_time",
        "Such communication, share of the run",
        Value::Percent(blocking.percent),
    );
    outcome.fact(
        "exposed_comm_severity",
        "Communication blocking compute",
        severity(blocking.severity),
    );
    let overlap = facts.overlap();
    outcome.fact(
        "comm_overlap",
        "Communication beside computation",
        Value::percent(overlap.percent()),
    );
    outcome.fact(
        "overlap_severity",
        "Overlap",
        Value::Text(overlap.label().to_owned()),
    );
    outcome.fact(
        "is_training",
        "A backward pass was recorded",
        Value::Flag(facts.is_training),
    );
}

fn notes(input: &Input, facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.copies.count() == 0 {
        notes.push("No memory copies were recorded on the GPU.".to_owned());
    }
    if facts.n_gpus > 1 {
        notes.push(format!(
            "Work of {} GPUs is in the trace: times of communication that are set against computation or the run are those of a GPU in the mean, shares of copies those of the GPU that has most of them. A collective or a copy is hidden by what its own GPU does alone.",
            facts.n_gpus
        ));
    }
    if facts.collectives.count == 0 {
        let all = input.profile.gpu.of(GpuEvents::All);
        let left_out = all.filter(|work| work.class == GpuClass::Communication);
        let left_out = left_out.map(|work| work.span.length());
        notes.push(match sum(left_out) {
            0 => "No collective communication was recorded.".to_owned(),
            ns => format!(
                "The calls of all collective communication are missing, so that it is left out: {} of it.",
                format::time_ns(ns)
            ),
        });
    } else {
        if facts.n_gpus == 1 {
            notes.push("A trace of one process shows types, sizes and times of collectives. How much of the time is waiting for other members cannot be told from it.".to_owned());
        }
        let unknown = facts.collectives.groups.iter();
        let n_unknown: u64 = unknown
            .filter(|group| group.key.elements.is_none())
            .map(|group| group.count)
            .sum();
        if n_unknown > 0 {
            let all = format::counted(facts.collectives.count, "collective");
            let of = match n_unknown == facts.collectives.count {
                true => all,
                false => format!("{} of {all}", format::count(n_unknown)),
            };
            notes.push(format!("Of {of} the trace does not tell the size."));
        }
    }
    if let Overlap::Insufficient { .. } = facts.overlap() {
        notes.push("There is too little communication to judge its overlap.".to_owned());
    }
    let reads = facts.copies.askers_of(Direction::DeviceToDevice);
    let n_reads: u64 = reads
        .filter(|(asker, _)| {
            let op = asker.op.map(|op| input.profile.trace.strings.get(op));
            op == Some("aten::_local_scalar_dense")
        })
        .map(|(_, copies)| copies.count)
        .sum();
    if n_reads > 0 {
        notes.push(format!(
            "Of the copies within the GPU, {} came from `aten::_local_scalar_dense`, which reads a value for the host: some profilers name copies to pinned memory so.",
            format::count(n_reads)
        ));
    }
    if facts.copies.directions.iter().any(|(direction, _)| {
        matches!(direction, Direction::DeviceToHost | Direction::HostToDevice)
    }) {
        notes.push(
            "Bandwidths between host and GPU are measured; the GPU profile has no figure of that link to judge them by."
                .to_owned(),
        );
    }
    if let Some(link) = input.gpu().and_then(|gpu| gpu.link_gbps)
        && (facts.collectives.count > 0 || facts.copies.of(Direction::PeerToPeer).is_some())
    {
        notes.push(format!(
            "The links of this GPU to others carry {} in both directions together, by its profile.",
            format::bandwidth_gbps(link)
        ));
    }
    notes
}
