//! Operations along an axis: softmax, sums, extrema, pooling, losses, sorting, scans.

mod cross_entropy;
mod rules;
#[cfg(test)]
mod tests;
mod unused_logits;

use crate::findings::engine::assessment::Band;
use crate::findings::engine::compute::impact_of_gap;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::reduction::{ReductionKind, is_softmax_of_attention};
use crate::perf::{share_of_radix_selection, share_of_radix_sort};
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::reduction::Axis;

struct Observed<'a> {
    row: &'a Row,
    name: &'a str,
    kind: ReductionKind,
    axis: Option<Axis>,
    /// What is usual for a sort of its keys, or a selection from its values.
    usual_passes: Option<Band>,
}

impl Observed<'_> {
    /// Whether it sorts or selects, and is about as fast as a radix sort or a radix selection.
    fn is_as_usual(&self, kind: ReductionKind) -> bool {
        let usual = self.usual_passes.zip(self.row.efficiency_percent);
        self.kind == kind && usual.is_some_and(|(Band(low, _), percent)| percent >= low)
    }

    /// What it saves with as few passes at the usual bandwidth.
    fn impact_of_passes(&self) -> Option<Impact> {
        match self.usual_passes {
            Some(band) => Impact::of_usual(self.row, band),
            None => self.impact(),
        }
    }

    /// What it saves at the usual efficiency, or at roofline if that is unknown.
    fn impact(&self) -> Option<Impact> {
        let row = self.row;
        match self.kind {
            kind if kind.takes_passes() => Some(Impact::heuristic(row.time_ns)),
            kind if kind.is_plain() => Impact::of_usual(row, rules::USUAL),
            _ => impact_of_gap(row),
        }
    }
}

/// The usual efficiency of a sort or a selection: its passes at 50 to 70 % of the memory bandwidth, as for other
/// reductions.
fn usual_passes(input: &Input, operation: &Operation, kind: ReductionKind) -> Option<Band> {
    let tensors = operation.tensors(input.profile);
    let dtype = tensors.first()?.dtype;
    let share = match kind {
        ReductionKind::Sorting => share_of_radix_sort(dtype)?,
        ReductionKind::Selection => share_of_radix_selection(dtype)?,
        _ => return None,
    };
    let Band(low, high) = rules::USUAL;
    Some(Band(low * share, high * share))
}

pub(super) const DOCS: Docs = || {
    let of_logits = [
        rule::docs(cross_entropy::RULES),
        rule::docs(unused_logits::RULES),
    ];
    [of_logits.concat(), rule::docs(rules::RULES)].concat()
};

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let observed = rows.iter().map(|row| {
        let operation = input.operation(row.operation);
        let name = operation.short_name(input.profile);
        let kind = ReductionKind::of(name);
        Observed {
            row,
            name,
            kind,
            axis: Axis::of(input.profile, operation),
            usual_passes: usual_passes(input, operation, kind),
        }
    });
    let observed: Vec<Observed> = observed.collect();
    facts(input, outcome, &observed);
    let gate = Gate::of(input, input.options.thresholds.reduce_gate_ms);
    let candidates = observed
        .iter()
        .filter(|observed| gate.is_slow(observed.row) && !is_launch_scale(input, observed.row));
    let found = rule::find_large(input, rules::RULES, candidates.collect(), &gate);
    let losses = cross_entropy::losses(input);
    let losses = losses
        .iter()
        .flat_map(|loss| rule::find(input, cross_entropy::RULES, vec![loss]));
    let losses: Vec<Finding> = losses.collect();
    let unused = unused_logits::unused(input);
    let unused = rule::find(input, unused_logits::RULES, unused.iter().collect());
    outcome.findings = [
        losses,
        unused,
        found,
        unmodeled(input, rows, &gate, "reduction"),
    ]
    .concat();
    outcome.add_notes(launch_scale_note(input, rows));
}

fn facts(input: &Input, outcome: &mut Outcome, observed: &[Observed]) {
    let rows = |is: &dyn Fn(&Observed) -> bool| -> Vec<&Row> {
        let chosen = observed.iter().filter(|observed| is(observed));
        chosen.map(|observed| observed.row).collect()
    };
    let softmax = rows(&|observed| observed.kind == ReductionKind::Softmax);
    let sorting = time_ns(&rows(&|observed| observed.kind.takes_passes()));
    #[rustfmt::skip]
    outcome.facts([
        ("softmax_count", "Softmax operations", Value::Count(softmax.len() as u64)),
        ("softmax", "Time in softmax", Value::Ns(time_ns(&softmax))),
        ("sorting", "Time in sorting, selecting and compacting", Value::Ns(sorting)),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
    let strings = &input.profile.trace.strings;
    let has_batched = input.operations().any(|(_, operation, _)| {
        let name = strings.get(operation.key.name);
        operation.family == Family::Gemm && (name.contains("bmm") || name.contains("matmul"))
    });
    let scores = rows(&|observed| is_softmax_of_attention(observed.name));
    if has_batched && !scores.is_empty() {
        let calls = format::counted(n_calls(&scores), "call");
        let time = format::time_ns(time_ns(&scores));
        outcome.note(format!(
            "Softmax runs as its own kernel ({calls}, {time}) in a trace with batched GEMMs: a sign of attention that is not fused. The analysis of attention tells whether it is."
        ));
    }
}
