//! Norms, especially batch norm: they read and write each element once or twice, so the simplest element-wise
//! operations of the trace show what they could reach.
//!
//! Bytes are lower bounds. With n elements, a forward pass reads the input and writes the result (2·n); in training, a
//! kernel that cannot keep the input on chip reads it twice (3·n), which is not counted. A backward pass reads the
//! input and the gradient and writes one (3·n, at worst 5·n).

mod neighbors;
mod rules;
#[cfg(test)]
mod tests;

use super::bandwidth::{Baseline, Simple};
use super::compute::{gbps, main_cause};
use crate::assess::waterfall::{Cause, Waterfall};
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::norm::NormKind;
use crate::profile::measured::MeasuredOperations;
use crate::profile::norm::Norm;

struct Seen<'a> {
    row: &'a Row,
    norm: Norm,
    /// The bandwidth that the element-wise operations of the trace reach …
    baseline: &'a Baseline,
    /// … and the operation that it is compared with.
    yardstick: Option<Simple>,
    gbps: Option<f64>,
    /// Kernels of a call that do its work one after another.
    n_kernels: usize,
    /// What most of its gap to the roofline is.
    cause: Option<Cause>,
}

impl<'a> Seen<'a> {
    fn new(input: &Input, baseline: &'a Baseline, row: &'a Row) -> Seen<'a> {
        let work = input.judged(row.operation).work;
        let bytes = work.and_then(|work| work.bytes);
        Seen {
            row,
            norm: Norm::of(input.profile, input.operation(row.operation)),
            baseline,
            yardstick: bytes.and_then(|bytes| baseline.yardstick(bytes)),
            gbps: gbps(input, row),
            n_kernels: MeasuredOperations::of(input.profile)
                .get(input.profile, row.operation)
                .map_or(1, |measured| measured.n_main_kinds),
            cause: Waterfall::of(input, row.operation).and_then(|all| main_cause(&all)),
        }
    }

    /// Its rate divided by that of the yardstick.
    fn ratio(&self) -> Option<f64> {
        Some(self.gbps? / self.yardstick?.gbps)
    }
}

pub(super) const DOCS: Docs = || [rules::RULES, rules::FOLDABLE].map(rule::docs).concat();

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let baseline = Baseline::of(input);
    let seen = rows.iter().map(|row| Seen::new(input, &baseline, row));
    let seen: Vec<Seen> = seen.collect();
    facts(input, outcome, &baseline, &seen);
    let gate = Gate::of(input, input.options.thresholds.norm_gate_ms);
    let is_slow = |seen: &&Seen| gate.is_slow(seen.row) && !is_launch_scale(input, seen.row);
    let are_foldable = input.has(Family::Convolution)
        && !seen.iter().any(|seen| seen.norm.is_trained_batch_norm());
    let is_foldable = |seen: &&Seen| are_foldable && seen.norm.is_training == Some(false);
    let slow = seen.iter().filter(is_slow).collect();
    let foldable = seen.iter().filter(is_foldable).collect();
    outcome.findings = [
        rule::find(input, rules::RULES, slow),
        rule::find(input, rules::FOLDABLE, foldable),
        unmodelled(input, rows, &gate, "norm"),
    ]
    .concat();
    outcome.notes.extend(launch_scale_note(input, rows));
    let note =
        "Bytes of norms are lower bounds (input and result once each), so their efficiency is too.";
    outcome.notes.push(note.to_owned());
}

fn facts(input: &Input, outcome: &mut Outcome, baseline: &Baseline, seen: &[Seen]) {
    for kind in NormKind::ALL {
        let (key, title) = (kind.key(), kind.title());
        outcome.counts(seen, &[(key, title, &|seen| seen.norm.kind == kind)]);
    }
    let batch = seen.iter().filter(|seen| seen.norm.kind == NormKind::Batch);
    let batch: Vec<&Row> = batch.map(|seen| seen.row).collect();
    let time = Value::Ns(time_ns(&batch));
    outcome.fact("batch_norm", "Time in batch norms", time);
    #[rustfmt::skip]
    outcome.counts(seen, &[
        ("batch_norm_training_count", "Batch norms in training", &|seen| seen.norm.is_training == Some(true)),
        ("batch_norm_inference_count", "Batch norms with fixed statistics", &|seen| seen.norm.is_training == Some(false)),
    ]);
    baseline.facts(outcome);
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}
