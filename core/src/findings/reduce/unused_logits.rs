//! An output layer on all tokens of a prompt, of which only the last ones are used.
//!
//! ```text
//! hidden 8192×4096 ─GEMM→ logits 8192×152064 ─to FP32→ ─last row→ argmax of 1×152064
//! ```

use crate::findings::prelude::*;
use crate::hardware::roofline::roofline;
use crate::names::Family;
use crate::perf::{Work, product};
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::GemmSizes;

/// An output layer has at least this many classes; the hidden sizes of models are smaller.
const LEAST_CLASSES: u64 = 16_384;
/// Logits are unused if operations that choose among them take at most this part of their rows.
const MOST_USED: f64 = 0.25;

/// An output layer, and the rows of its logits that are used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unused {
    classes: u64,
    /// Over all calls.
    rows: f64,
    /// The rows of the operation that takes the most of them.
    used: f64,
    /// The time of each operation on the logits, and the part of it that unused rows take.
    times: Vec<(usize, i64, i64)>,
}

/// The output layers of a trace most of whose logits are unused, by the number of classes. A loss takes all of them.
pub(super) fn unused(input: &Input) -> Vec<Unused> {
    if input.profile.is_training() {
        return Vec::new();
    }
    let layers = input.operations().filter_map(|(_, operation, _)| {
        let sizes = output_layer(input, operation)?;
        Some((sizes.n, sizes.m as f64 * operation.n_calls() as f64))
    });
    let layers = grouped(layers, |all: &mut f64, rows| *all += rows);
    let layers = layers.into_iter().filter_map(|(classes, rows)| {
        let used = used_rows(input, classes)?;
        (used <= rows * MOST_USED).then(|| {
            let of_it = |(at, ns): (usize, i64)| (at, ns, unused_ns(input, at, used / rows));
            let times = on_logits(input, classes, used).into_iter().map(of_it);
            Unused {
                classes,
                rows,
                used,
                times: times.collect(),
            }
        })
    });
    layers.collect()
}

/// The sizes of a GEMM with as many columns as an output layer.
fn output_layer(input: &Input, operation: &Operation) -> Option<GemmSizes> {
    let sizes = GemmSizes::of(input.profile, operation)?;
    let is_one = operation.family == Family::Gemm && sizes.batch == 1;
    (is_one && sizes.n >= LEAST_CLASSES).then_some(sizes)
}

/// The rows of logits that an operation takes in all of its calls.
fn rows_of(input: &Input, operation: &Operation, classes: u64) -> Option<f64> {
    let tensors = operation.tensors(input.profile).into_iter();
    let logits =
        tensors.filter(|tensor| tensor.shape.last().copied() == i64::try_from(classes).ok());
    let rows = logits.map(|tensor| product(tensor.shape) / classes as f64);
    Some(rows.reduce(f64::max)? * operation.n_calls() as f64)
}

/// The most rows that one operation chooses from: what sorts, reduces or samples. Others pass rows on. `None` if nothing
/// reduces them.
fn used_rows(input: &Input, classes: u64) -> Option<f64> {
    let chooses = input.operations().filter(|(_, operation, _)| {
        !matches!(
            operation.family,
            Family::Gemm | Family::Elementwise | Family::MemoryCopy
        )
    });
    let rows = chooses.filter_map(|(_, operation, _)| {
        let is_reduction = operation.family == Family::Reduction;
        Some((is_reduction, rows_of(input, operation, classes)?))
    });
    let rows: Vec<(bool, f64)> = rows.collect();
    let most = rows.iter().map(|(_, rows)| *rows).reduce(f64::max);
    most.filter(|_| rows.iter().any(|(is_reduction, _)| *is_reduction))
}

/// The operations on more rows of logits than are used, and their time; longest first.
fn on_logits(input: &Input, classes: u64, used: f64) -> Vec<(usize, i64)> {
    let all = input.operations().filter(|(_, operation, _)| {
        let of_layer = output_layer(input, operation);
        let rows = match of_layer.filter(|sizes| sizes.n == classes) {
            Some(sizes) => Some(sizes.m as f64 * operation.n_calls() as f64),
            None if operation.family == Family::Elementwise => rows_of(input, operation, classes),
            None => None,
        };
        rows.is_some_and(|rows| rows > used)
    });
    all.map(|(at, operation, _)| (at, operation.kernel_ns))
        .arranged_by_largest(|(_, ns)| *ns)
}

/// The time of an operation that unused rows take, where a part of them is used: weights are read in any case.
fn unused_ns(input: &Input, at: usize, used: f64) -> i64 {
    let operation = input.operation(at);
    let needed_ns = operation.kernel_ns as f64 * used;
    let weights_ns = || {
        let sizes = output_layer(input, operation)?;
        let tensors = operation.tensors(input.profile);
        let bytes = sizes.n as f64 * sizes.k as f64 * tensors.first()?.element_bytes()?;
        let reads = Work {
            bytes: Some(bytes),
            flops: 0.0,
            ..input.evaluation(at).work?
        };
        let (gpu, basis) = (input.gpu()?, input.options.basis);
        let each_us = roofline(&reads, gpu, basis)?.memory_us;
        Some(each_us * 1e3 * operation.n_calls() as f64)
    };
    let left_ns = needed_ns.max(weights_ns().unwrap_or(0.0)).round() as i64;
    operation.kernel_ns.saturating_sub(left_ns).max(0)
}

impl Unused {
    fn ns(&self) -> i64 {
        sum(self.times.iter().map(|(_, ns, _)| *ns))
    }

    fn unused_ns(&self) -> i64 {
        sum(self.times.iter().map(|(.., ns)| *ns))
    }
}

impl Subject for Unused {
    type Of<'a> = Unused;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, layer) = (group.input, group.first());
        let impact = Impact::at_most(layer.unused_ns());
        let share = impact.mid_ns as f64 / impact.high_ns.max(1) as f64;
        let savings = layer.times.iter();
        let savings = savings.map(|(at, _, ns)| (*at, (*ns as f64 * share).floor() as i64));
        let operations = layer.times.iter().map(|(at, ..)| *at).collect();
        Some(Evidence {
            impact: Some(impact),
            savings: savings.collect(),
            ..Evidence::of_time(input, operations, layer.ns())
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (input, layer) = (group.input, group.first());
        let count = |size: f64| format::count(size.round() as u64);
        vec![
            ("time", time_and_share(layer.ns(), input)),
            ("rows", count(layer.rows)),
            ("used", count(layer.used)),
            ("classes", format::count(layer.classes)),
        ]
    }
}

pub(super) const RULES: &[Rule<Unused>] = &[Rule {
    key: "unused_logits",
    when: "an output layer computes the logits of at least four times as many rows as any operation chooses from, and nothing is trained",
    gate: |group| {
        let (input, layer) = (group.input, group.first());
        let share = percent_of(layer.unused_ns(), input.total_ns().unwrap_or(0));
        share >= Some(input.options.thresholds.finding_percent_of_total)
    },
    title: "Logits of tokens that are not used",
    issue: "The output layer computes {rows} rows of {classes} logits, and what chooses from them takes {used}: {time}, with the conversions of all rows.",
    model: "take the hidden states of the last tokens before the output layer (`hidden[:, -1:]`; `logits_to_keep=1` in the forward pass of Hugging Face models, which `generate` sets): a prompt needs the logits of its last token alone.",
    kernel: "nothing to tune: most of these rows need not be computed.",
    notes: &[
        "The saving is the measured time of the rows that are not used, as far as reading the weights once for each call takes no longer.",
    ],
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
}];

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, found, patterns};

    /// 8 192 rows of 65 536 logits, 7 ms with their conversion, of which the last is used. On an H100 the weights of
    /// 537 MB are read in 160 µs.
    #[test]
    fn a_prompt_needs_the_logits_of_its_last_token() {
        let forward = |rows: u32| {
            let calls = Calls::new()
                .call("aten::mm", "8192x4096, 4096x65536", "gemm", 6_000)
                .call("aten::_to_copy", "8192x65536", "copy_kernel", 1_000);
            let logits = format!("{rows}x65536:float, =-1, =False");
            let calls = calls.call("aten::argmax", &logits, "reduce_kernel", 10);
            calls.outcome_on("H100", "reduce")
        };
        let outcome = forward(1);
        let finding = found(&outcome, "unused_logits");
        assert_contains(
            &finding.issue,
            &["8 192 rows of 65 536 logits", "takes 1: 7.00 ms"],
        );
        let most_us = finding.impact.map(|impact| impact.high_ns / 1_000);
        assert!(
            (6_838..6_841).contains(&most_us.unwrap_or(0)),
            "{most_us:?}"
        );
        // All of them are used.
        assert!(!patterns(&forward(8_192)).contains(&"unused_logits"));
    }
}
