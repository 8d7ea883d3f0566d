//! Work on each element by itself: what the memory gives, and where it is not reached.

mod bandwidth;
mod findings;
mod group;
mod optimizer;
#[cfg(test)]
mod tests;

use super::compute::{efficiency, outcome};
use super::memory_bound::{n_calls, time_ns};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::names::Family;

pub(super) use bandwidth::{Baseline, Simple};
pub(super) use group::Group;

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let group = |row: &Row| {
        let operation = input.profile.operations().get(row.operation);
        operation.map_or(Group::Other, |operation| Group::of(input, operation))
    };
    for row in &mut outcome.rows {
        row.class = group(row).label().to_owned();
    }
    let baseline = Baseline::of(input);
    let rows = outcome.rows.clone();
    let grouped: Vec<(Group, &Row)> = rows.iter().map(|row| (group(row), row)).collect();
    facts(&mut outcome, &baseline, &grouped);
    device_copies(input, &mut outcome);
    outcome.tables.push(table(&grouped));
    outcome.findings = findings::findings(input, &baseline, &grouped);
    if baseline.demonstrated.is_none() {
        outcome.notes.push(format!(
            "No large addition, multiplication, copy or fill (at least {} MiB and {} µs a call) \
             shows what bandwidth the memory gives, so there is no baseline.",
            input.options.thresholds.baseline_mib, input.options.thresholds.baseline_us
        ));
    }
    outcome.notes.push(
        "A trace cannot tell the launch of a kernel from its waiting for the memory: short kernels \
         look slower than they are."
            .to_owned(),
    );
    Ok(outcome)
}

fn facts(outcome: &mut Outcome, baseline: &Baseline, rows: &[(Group, &Row)]) {
    let rate = |gbps: Option<f64>| gbps.map_or(Value::NO_GBPS, Value::GbPerS);
    let percent = |gbps: Option<f64>| Value::percent(gbps.and_then(|gbps| baseline.percent(gbps)));
    let demonstrated = baseline.demonstrated.map(|one| one.gbps);
    outcome.fact(
        "baseline_bandwidth",
        "Baseline: large simple operations, by time",
        rate(baseline.mean_gbps),
    );
    outcome.fact(
        "baseline_efficiency",
        "Baseline, of the memory bandwidth",
        percent(baseline.mean_gbps),
    );
    outcome.fact(
        "baseline_operation_count",
        "Large simple operations",
        Value::Count(baseline.n_large),
    );
    outcome.fact(
        "demonstrated_bandwidth",
        "Demonstrated bandwidth (90th percentile of them)",
        rate(demonstrated),
    );
    outcome.fact(
        "demonstrated_efficiency",
        "Demonstrated, of the memory bandwidth",
        percent(demonstrated),
    );
    outcome.fact(
        "plain_mean_bandwidth",
        "Plain mean of aten::add_, aten::mul and aten::copy_, small ones included",
        rate(baseline.plain_mean_gbps),
    );
    outcome.fact(
        "plain_mean_efficiency",
        "Plain mean, of the memory bandwidth",
        percent(baseline.plain_mean_gbps),
    );
    outcome.fact("peak_hbm_bw", "Memory bandwidth", rate(baseline.peak_gbps));
    for group in Group::ALL {
        let n = rows.iter().filter(|(known, _)| *known == group).count();
        outcome.fact(
            group.count_key(),
            group.count_label(),
            Value::Count(n as u64),
        );
    }
}

/// Copies on the device that no kernel does: they are counted with memory copies.
fn device_copies(input: &Input, outcome: &mut Outcome) {
    let strings = &input.profile.trace.strings;
    let is_device_copy = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["dtod", "device -> device", "devicetodevice"]
            .iter()
            .any(|word| name.contains(word))
    };
    let copies: Vec<(u64, i64)> = input
        .operations()
        .filter(|(_, operation, _)| operation.family == Family::MemoryCopy)
        .flat_map(|(_, operation, _)| operation.kernels(input.profile))
        .filter(|(name, ..)| is_device_copy(strings.get(*name)))
        .map(|(_, n, ns)| (n, ns))
        .collect();
    let n = copies
        .iter()
        .fold(0, |all: u64, (n, _)| all.saturating_add(*n));
    let ns = sum(copies.iter().map(|(_, ns)| *ns));
    outcome.fact(
        "device_copy_count",
        "Plain copies on the device",
        Value::Count(n),
    );
    outcome.fact("device_copy", "Time in them", Value::Ns(ns));
    if n > 0 {
        outcome.notes.push(format!(
            "{} on the device by the copy engine ({}) are memory copies and not counted here.",
            match n {
                1 => "1 plain copy".to_owned(),
                _ => format!("{} plain copies", format::count(n)),
            },
            format::time_ns(ns)
        ));
    }
}

fn table(rows: &[(Group, &Row)]) -> Table {
    let mut table = Table::new(
        "groups",
        "By kind",
        &[
            ("kind", "Kind"),
            ("operations", "Operations"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("share", "Share"),
            ("efficiency", "Of the roof"),
        ],
    );
    table.rows = Group::ALL
        .into_iter()
        .filter_map(|group| {
            let rows: Vec<&Row> = rows
                .iter()
                .filter(|(known, _)| *known == group)
                .map(|(_, row)| *row)
                .collect();
            (!rows.is_empty()).then(|| {
                vec![
                    Value::Text(group.label().to_owned()),
                    Value::Count(rows.len() as u64),
                    Value::Count(n_calls(&rows)),
                    Value::Ns(time_ns(&rows)),
                    Value::Percent(rows.iter().map(|row| row.percent_of_category).sum()),
                    Value::percent(efficiency(&rows)),
                ]
            })
        })
        .collect();
    table
}
