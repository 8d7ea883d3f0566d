//! Norms, batch norm above all: they read and write each element once or twice, so the simplest
//! element-wise operations of the trace show what they could reach.
//!
//! Bytes are lower bounds. With n elements: a forward pass reads the input and writes the result
//! (2·n); in training a kernel that cannot keep the input on the chip reads it twice (3·n), which
//! is not held against it. A backward pass reads the input and the gradient and writes one (3·n,
//! at worst 5·n).

mod findings;
mod kind;
mod neighbours;
#[cfg(test)]
mod tests;

use super::compute::{Gate, outcome};
use super::elementwise::{Baseline, Simple};
use super::layout::channels_last;
use super::memory_bound::{arguments, gbps, launch_scale_note, unmodelled};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::base::interval::sum;
use crate::base::value::Value;
use crate::profile::operations::Operation;
use findings::{below, foldable};
use kind::Norm;

/// A norm as the analysis sees it.
struct Seen<'a> {
    row: &'a Row,
    norm: Norm,
    is_backward: bool,
    /// Whether a batch norm takes its statistics from the batch; `None` where that was not
    /// recorded.
    is_training: Option<bool>,
    /// The format that would have the channels of the input last in memory, where they lie apart.
    wanted_format: Option<&'static str>,
    /// What it could reach.
    yardstick: Option<Simple>,
    gbps: Option<f64>,
}

impl Seen<'_> {
    /// The type of the row.
    fn class(&self) -> String {
        let mut class = self.norm.label().to_owned();
        match (self.is_backward, self.is_training) {
            (true, _) => class.push_str(" backward"),
            (false, Some(true)) => class.push_str(", training"),
            (false, Some(false)) => class.push_str(", inference"),
            (false, None) => {}
        }
        class
    }

    /// The rate over that of the yardstick.
    fn ratio(&self) -> Option<f64> {
        Some(self.gbps? / self.yardstick?.gbps)
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let baseline = Baseline::of(input);
    for row in &mut outcome.rows {
        row.class = look(input, &baseline, row).map_or_else(String::new, |seen| seen.class());
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| look(input, &baseline, row))
        .collect();
    facts(&mut outcome, &baseline, &seen);
    let gate = Gate {
        time_ms: input.options.thresholds.norm_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    for norm in Norm::ALL {
        let of_kind: Vec<&Seen> = seen.iter().filter(|seen| seen.norm == norm).collect();
        outcome
            .findings
            .extend(below(input, &baseline, norm, &of_kind, &gate));
    }
    outcome.findings.extend(foldable(input, &seen, &gate));
    let all: Vec<&Row> = rows.iter().collect();
    outcome
        .findings
        .extend(unmodelled(input, &all, &gate, "norm"));
    outcome.notes.extend(launch_scale_note(input, &rows));
    outcome.notes.push(
        "Bytes of norms are lower bounds (input and result once each), so their efficiency is too."
            .to_owned(),
    );
    Ok(outcome)
}

fn look<'a>(input: &Input, baseline: &Baseline, row: &'a Row) -> Option<Seen<'a>> {
    let operation = input.profile.operations().get(row.operation)?;
    let name = operation.short_name(input.profile);
    let norm = Norm::of(name);
    let lower = name.to_ascii_lowercase();
    let is_backward =
        lower.contains("backward") || lower.contains("bwd") || operation.key.label == "NORM_bwd";
    let bytes = input
        .judged
        .get(row.operation)
        .and_then(|judged| judged.work?.bytes);
    Some(Seen {
        row,
        norm,
        is_backward,
        is_training: (norm == Norm::Batch)
            .then(|| is_training(input, operation, is_backward))
            .flatten(),
        wanted_format: wanted_format(input, operation, is_backward),
        yardstick: bytes.and_then(|bytes| baseline.yardstick(bytes)),
        gbps: gbps(input, row),
    })
}

/// The flag as it was recorded: the sixth argument of every batch norm,
/// `(x, scale, shift, mean, variance, training, …)`, the eighth of `native_batch_norm_backward`.
fn is_training(input: &Input, operation: &Operation, is_backward: bool) -> Option<bool> {
    let name = operation.short_name(input.profile);
    if name.ends_with("_no_training") {
        return Some(false);
    }
    let arguments = arguments(input, operation)?;
    match is_backward {
        false => arguments.flag(5),
        true if name.ends_with("native_batch_norm_backward") => arguments.flag(7),
        true => None,
    }
}

/// The format with the channels (dimension 1) last, where their stride is not the smallest. The
/// input is the first argument, of a backward pass the second.
fn wanted_format(input: &Input, operation: &Operation, is_backward: bool) -> Option<&'static str> {
    let arguments = arguments(input, operation)?;
    let x = arguments.tensor(usize::from(is_backward))?;
    let strides = x.strides.filter(|strides| strides.len() == x.shape.len())?;
    let are_apart =
        x.shape.get(1).is_some_and(|size| *size > 1) && strides.get(1) != strides.iter().min();
    channels_last(x.shape.len()).filter(|_| are_apart)
}

fn facts(outcome: &mut Outcome, baseline: &Baseline, seen: &[Seen]) {
    let rate = |gbps: Option<f64>| gbps.map_or(Value::NO_GBPS, Value::GbPerS);
    let percent = |gbps: Option<f64>| Value::percent(gbps.and_then(|gbps| baseline.percent(gbps)));
    let demonstrated = baseline.demonstrated.map(|one| one.gbps);
    for norm in Norm::ALL {
        let n = seen.iter().filter(|seen| seen.norm == norm).count();
        outcome.fact(norm.count_key(), norm.title(), Value::Count(n as u64));
    }
    let batch = |wanted: bool| {
        let rows = seen.iter().filter(|seen| seen.is_training == Some(wanted));
        Value::Count(rows.count() as u64)
    };
    let batch_ns = sum(seen
        .iter()
        .filter(|seen| seen.norm == Norm::Batch)
        .map(|seen| seen.row.time_ns));
    outcome.fact("batch_norm", "Time in batch norms", Value::Ns(batch_ns));
    outcome.fact(
        "batch_norm_training_count",
        "Batch norms in training",
        batch(true),
    );
    outcome.fact(
        "batch_norm_inference_count",
        "Batch norms with fixed statistics",
        batch(false),
    );
    outcome.fact(
        "baseline_bandwidth",
        "Element-wise baseline",
        rate(baseline.mean_gbps),
    );
    outcome.fact(
        "baseline_efficiency",
        "Element-wise baseline, of the memory bandwidth",
        percent(baseline.mean_gbps),
    );
    outcome.fact(
        "demonstrated_bandwidth",
        "Best large element-wise operation",
        rate(demonstrated),
    );
    outcome.fact(
        "demonstrated_efficiency",
        "Best large element-wise operation, of the memory bandwidth",
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
}
