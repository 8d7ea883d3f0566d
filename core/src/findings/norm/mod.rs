//! Norms, batch norm above all: they read and write each element once or twice, so the simplest
//! element-wise operations of the trace show what they could reach.
//!
//! Bytes are lower bounds. With n elements: a forward pass reads the input and writes the result
//! (2·n); in training a kernel that cannot keep the input on the chip reads it twice (3·n), which
//! does not count. A backward pass reads the input and the gradient and writes one (3·n, at worst 5·n).

mod neighbors;
mod rules;
#[cfg(test)]
mod tests;

use super::bandwidth::{Baseline, Simple};
use super::compute::{Gate, outcome};
use super::compute::{gbps, is_launch_scale, launch_scale_note, memory_bandwidth, time_ns};
use super::in_use::has_convolutions;
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, RuleDoc};
use super::unmodelled::unmodelled;
use super::{AnalysisKind, Input};
use crate::base::value::Value;
use crate::names::norm::NormKind;
use crate::profile::convolution::channels_last;
use crate::profile::operations::Operation;

/// A norm as the analysis sees it.
struct Seen<'a> {
    row: &'a Row,
    norm: NormKind,
    is_backward: bool,
    /// Whether a batch norm takes its statistics from the batch; `None` where that was not
    /// recorded.
    is_training: Option<bool>,
    /// The format that would have the channels of the input last in memory, where they lie apart.
    wanted_format: Option<&'static str>,
    /// What the element-wise operations of the trace reach …
    baseline: &'a Baseline,
    /// … and the one that it is compared with.
    yardstick: Option<Simple>,
    gbps: Option<f64>,
}

impl<'a> Seen<'a> {
    fn new(input: &Input, baseline: &'a Baseline, row: &'a Row) -> Seen<'a> {
        let operation = input.operation(row.operation);
        let name = operation.short_name(input.profile);
        let norm = NormKind::of(name);
        let lower = name.to_ascii_lowercase();
        let is_backward = lower.contains("backward")
            || lower.contains("bwd")
            || operation.key.label == "NORM_bwd";
        let is_training = || is_training(input, operation, is_backward);
        let work = input.judged(row.operation).work;
        let bytes = work.and_then(|work| work.bytes);
        Seen {
            row,
            norm,
            is_backward,
            is_training: (norm == NormKind::Batch).then(is_training).flatten(),
            wanted_format: wanted_format(input, operation, is_backward),
            baseline,
            yardstick: bytes.and_then(|bytes| baseline.yardstick(bytes)),
            gbps: gbps(input, row),
        }
    }

    fn class(&self) -> String {
        let suffix = match (self.is_backward, self.is_training) {
            (true, _) => " backward",
            (false, Some(true)) => ", training",
            (false, Some(false)) => ", inference",
            (false, None) => "",
        };
        format!("{}{suffix}", self.norm.label())
    }

    /// The rate over that of the yardstick.
    fn ratio(&self) -> Option<f64> {
        Some(self.gbps? / self.yardstick?.gbps)
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    let rules = rules::RULES.iter().chain(rules::FOLDABLE);
    rules.map(rule::Rule::doc).collect()
}

fn gate(input: &Input) -> Gate {
    Gate {
        time_ms: input.options.thresholds.norm_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let baseline = Baseline::of(input);
    let rows = outcome.rows.clone();
    let seen = rows.iter().map(|row| Seen::new(input, &baseline, row));
    let seen: Vec<Seen> = seen.collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        row.class = seen.class();
    }
    facts(input, &mut outcome, &baseline, &seen);
    let gate = gate(input);
    let is_slow = |seen: &&Seen| {
        let percent = seen.row.efficiency_percent;
        percent.is_some_and(|percent| percent < gate.efficiency_percent)
            && !seen.row.is_anomaly
            && !is_launch_scale(input, seen.row)
    };
    let slow = seen.iter().filter(is_slow).collect();
    outcome.findings = rule::find(input, rules::RULES, slow);
    let is_trained = |seen: &Seen| {
        seen.norm == NormKind::Batch && (seen.is_backward || seen.is_training == Some(true))
    };
    if has_convolutions(input) && !seen.iter().any(is_trained) {
        let fixed = seen.iter().filter(|seen| seen.is_training == Some(false));
        let foldable = rule::find(input, rules::FOLDABLE, fixed.collect());
        outcome.findings.extend(foldable);
    }
    let all: Vec<&Row> = rows.iter().collect();
    let unknown = unmodelled(input, &all, &gate, "norm");
    outcome.findings.extend(unknown);
    outcome.notes.extend(launch_scale_note(input, &rows));
    outcome.notes.push(
        "Bytes of norms are lower bounds (input and result once each), so their efficiency is too."
            .to_owned(),
    );
    Ok(outcome)
}

/// The flag as it was recorded: the sixth argument of every batch norm,
/// `(x, scale, shift, mean, variance, training, …)`, the eighth of `native_batch_norm_backward`.
fn is_training(input: &Input, operation: &Operation, is_backward: bool) -> Option<bool> {
    let name = operation.short_name(input.profile);
    if name.ends_with("_no_training") {
        return Some(false);
    }
    let arguments = operation.arguments(input.profile)?;
    match is_backward {
        false => arguments.flag(5),
        true if name.ends_with("native_batch_norm_backward") => arguments.flag(7),
        true => None,
    }
}

/// The format with the channels (dimension 1) last, where their stride is not the smallest. The
/// input is the first argument, of a backward pass the second.
fn wanted_format(input: &Input, operation: &Operation, is_backward: bool) -> Option<&'static str> {
    let arguments = operation.arguments(input.profile)?;
    let x = arguments.tensor(usize::from(is_backward))?;
    let strides = x.strides.filter(|strides| strides.len() == x.shape.len())?;
    let are_apart =
        x.shape.get(1).is_some_and(|size| *size > 1) && strides.get(1) != strides.iter().min();
    channels_last(x.shape.len()).filter(|_| are_apart)
}

fn facts(input: &Input, outcome: &mut Outcome, baseline: &Baseline, seen: &[Seen]) {
    let count = |is: &dyn Fn(&Seen) -> bool| {
        let n = seen.iter().filter(|seen| is(seen)).count();
        Value::Count(n as u64)
    };
    for norm in NormKind::ALL {
        let n = count(&|seen| seen.norm == norm);
        outcome.fact(norm.count_key(), norm.title(), n);
    }
    let batch = seen.iter().filter(|seen| seen.norm == NormKind::Batch);
    let batch: Vec<&Row> = batch.map(|seen| seen.row).collect();
    let [trained, fixed] = [true, false].map(|flag| count(&|seen| seen.is_training == Some(flag)));
    let time = Value::Ns(time_ns(&batch));
    outcome.fact("batch_norm", "Time in batch norms", time);
    outcome.fact(
        "batch_norm_training_count",
        "Batch norms in training",
        trained,
    );
    outcome.fact(
        "batch_norm_inference_count",
        "Batch norms with fixed statistics",
        fixed,
    );
    baseline.facts(outcome);
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}
