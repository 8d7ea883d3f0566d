//! Norms, especially batch norm: they read and write each element once or twice, so the simplest element-wise
//! operations of the trace show what they could reach.
//!
//! Bytes are lower bounds. With n elements, a forward pass reads the input and writes the result (2·n). A backward pass
//! reads the input and the gradient and writes one (3·n). The statistics of a batch norm in training need the whole
//! batch before the first result: unless the operands stay on chip, it reads them twice (3·n and 5·n). It is judged by
//! that.

mod neighbors;
mod rules;
#[cfg(test)]
mod tests;

use super::elementwise::dropout::is_inference;
use crate::assess::waterfall::{Cause, Waterfall};
use crate::findings::elementwise::baseline::{Baseline, Simple};
use crate::findings::engine::compute::{gbps, impact, main_cause};
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::norm::NormKind;
use crate::profile::operations::kinds::norm::Norm;
use crate::profile::operations::measured::MeasuredOperations;

struct Observed<'a> {
    row: &'a Row,
    norm: Norm,
    /// The bandwidth that the element-wise operations of the trace reach.
    baseline: &'a Baseline,
    /// The operation that it is compared with.
    yardstick: Option<Simple>,
    gbps: Option<f64>,
    /// Kernels of a call that do its work one after another.
    n_kernels: usize,
    /// What most of its gap to the roofline is.
    cause: Option<Cause>,
    /// It normalizes the weights of a layer, rather than its input.
    is_of_weights: bool,
    /// How many times as many bytes it has to move as its lower bound says.
    read_twice: f64,
}

impl<'a> Observed<'a> {
    fn new(input: &Input, baseline: &'a Baseline, row: &'a Row) -> Observed<'a> {
        let work = input.evaluation(row.operation).work;
        let bytes = work.and_then(|work| work.bytes);
        let norm = Norm::of(input.profile, input.operation(row.operation));
        Observed {
            row,
            norm,
            read_twice: match norm.is_backward {
                _ if !norm.is_trained_batch_norm() => 1.0,
                true => 5.0 / 3.0,
                false => 3.0 / 2.0,
            },
            baseline,
            yardstick: bytes.and_then(|bytes| baseline.yardstick(bytes)),
            gbps: gbps(input, row),
            n_kernels: MeasuredOperations::of(input.profile)
                .get(input.profile, row.operation)
                .map_or(1, |measured| measured.n_main_kinds),
            cause: Waterfall::of(input, row.operation).and_then(|all| main_cause(&all)),
            is_of_weights: input
                .operation(row.operation)
                .short_name(input.profile)
                .contains("_weight_norm"),
        }
    }

    /// Its rate divided by that of the yardstick.
    fn ratio(&self) -> Option<f64> {
        Some(self.gbps? / self.yardstick?.gbps)
    }

    /// What it saves by its gap to the roofline, without the time of reading its operands a second time.
    fn gap(&self, input: &Input) -> Option<Impact> {
        let all = impact(input, &[self.row]).0?;
        let roofline_ns = self.row.steady_ns() as f64 * self.row.steady_percent().unwrap_or(0.0);
        let second_ns = (roofline_ns / 100.0 * (self.read_twice - 1.0)).round() as i64;
        Some(all.map(|ns| (ns - second_ns).max(0)))
    }

    /// Whether it is at a low % of the roofline of these bytes.
    fn is_slow(&self, gate: &Gate) -> bool {
        let percent = self.row.judged_percent();
        percent.is_some_and(|percent| percent * self.read_twice < gate.efficiency_percent)
    }
}

pub(super) const DOCS: Docs = || {
    [rules::RULES, rules::FOLDABLE, rules::OF_WEIGHTS]
        .map(rule::docs)
        .concat()
};

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let baseline = Baseline::of(input);
    let observed = rows.iter().map(|row| Observed::new(input, &baseline, row));
    let observed: Vec<Observed> = observed.collect();
    facts(input, outcome, &baseline, &observed);
    let gate = Gate::of(input, input.options.thresholds.norm_gate_ms);
    let is_slow =
        |observed: &&Observed| observed.is_slow(&gate) && !is_launch_scale(input, observed.row);
    let are_foldable = input.has(Family::Convolution)
        && !observed
            .iter()
            .any(|observed| observed.norm.is_trained_batch_norm());
    let is_foldable =
        |observed: &&Observed| are_foldable && observed.norm.is_training == Some(false);
    let (of_weights, observed): (Vec<Observed>, Vec<Observed>) = observed
        .into_iter()
        .partition(|observed| observed.is_of_weights && is_inference(input));
    let slow = observed.iter().filter(is_slow).collect();
    let foldable = observed.iter().filter(is_foldable).collect();
    outcome.findings = [
        rule::find(input, rules::RULES, slow),
        rule::find(input, rules::FOLDABLE, foldable),
        rule::find(input, rules::OF_WEIGHTS, of_weights.iter().collect()),
        unmodeled(input, rows, &gate, "norm"),
    ]
    .concat();
    outcome.add_notes(launch_scale_note(input, rows));
    let note =
        "Bytes of norms are lower bounds (input and result once each), so their efficiency is too.";
    outcome.note(note.to_owned());
}

fn facts(input: &Input, outcome: &mut Outcome, baseline: &Baseline, observed: &[Observed]) {
    for kind in NormKind::ALL {
        let (key, title) = (kind.key(), kind.title());
        outcome.counts(
            observed,
            &[(key, title, &|observed| observed.norm.kind == kind)],
        );
    }
    let batch = observed
        .iter()
        .filter(|observed| observed.norm.kind == NormKind::Batch);
    let batch: Vec<&Row> = batch.map(|observed| observed.row).collect();
    let time = Value::Ns(time_ns(&batch));
    outcome.fact("batch_norm", "Time in batch norms", time);
    #[rustfmt::skip]
    outcome.counts(observed, &[
        ("batch_norm_training_count", "Batch norms in training", &|observed| observed.norm.is_training == Some(true)),
        ("batch_norm_inference_count", "Batch norms with fixed statistics", &|observed| observed.norm.is_training == Some(false)),
    ]);
    baseline.facts(outcome);
    outcome.fact("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input));
}
