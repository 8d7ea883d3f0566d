//! Cross entropy over many classes in separate kernels: each of them reads or writes the logits of all classes.
//!
//! ```text
//! logits ─to FP32→ ─log_softmax→ ─nll_loss→ loss ─nll_loss_backward→ ─log_softmax_backward→ ─to BF16→ gradient
//! ```
//!
//! A fused loss reads the logits once, and writes their gradient in their place.

use crate::findings::engine::finding::Estimate;
use crate::findings::fusion::least_ns;
use crate::findings::prelude::*;
use crate::names::elementwise::ElementwiseKind;
use crate::perf::{Tensor, element_bytes, product};
use crate::profile::operations::Operation;

/// With fewer classes, other kernels of the loss take as long.
const LEAST_CLASSES: i64 = 8_192;

/// What an operation does for the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Forward,
    Backward,
    /// Picks the probability of the class, or writes its gradient.
    Picks,
    /// Converts the logits or their gradient to another type.
    Converts,
}

/// The losses over logits of one size.
#[derive(Debug, Clone, Default)]
pub(super) struct Loss {
    rows: f64,
    classes: i64,
    /// By operation.
    times: Vec<(usize, i64)>,
    ns: i64,
    n_kernels: u64,
    n_forward: u64,
    has_backward: bool,
    picks: bool,
    converts: bool,
    /// The fewest bytes per element in which the logits are at hand.
    element_bytes: Option<f64>,
}

/// The losses of a trace, by the size of their logits.
pub(super) fn losses(input: &Input) -> Vec<Loss> {
    let parts = input.operations().filter_map(|(at, operation, _)| {
        let (part, logits) = part(input, operation)?;
        let (classes, _) = logits.shape.split_last()?;
        (*classes >= LEAST_CLASSES).then(|| {
            let size = (
                *classes,
                (product(logits.shape) / *classes as f64).round() as i64,
            );
            (size, (at, operation, part, narrowest(input, operation)))
        })
    });
    let by_size = grouped(parts, |all: &mut Vec<_>, one| all.push(one));
    let losses = by_size.into_iter().map(|((classes, rows), parts)| {
        let mut loss = Loss {
            rows: rows as f64,
            classes,
            ..Loss::default()
        };
        for (at, operation, part, bytes) in parts {
            loss.times.push((at, operation.kernel_ns));
            loss.ns = loss.ns.saturating_add(operation.kernel_ns);
            loss.n_kernels += operation.work().count() as u64;
            loss.has_backward |= part == Part::Backward;
            loss.picks |= part == Part::Picks;
            loss.converts |= part == Part::Converts;
            if part == Part::Forward {
                loss.n_forward += operation.calls.len() as u64;
            }
            let known = loss.element_bytes.into_iter().chain(bytes);
            loss.element_bytes = known.reduce(f64::min);
        }
        loss.times
            .arrange_by_key(|(at, ns)| (std::cmp::Reverse(*ns), *at));
        loss
    });
    // Without picking a class it is a softmax, such as that of sampling.
    let losses = losses.filter(|loss| loss.n_forward > 0 && loss.picks);
    losses.collect()
}

/// The part of a loss that an operation is, and the logits.
fn part<'a>(input: &Input<'a>, operation: &'a Operation) -> Option<(Part, Tensor<'a>)> {
    let arguments = operation.arguments(input.profile)?;
    let (part, at) = match arguments.name {
        "aten::_log_softmax" | "aten::log_softmax" => (Part::Forward, 0),
        "aten::_log_softmax_backward_data" => (Part::Backward, 1),
        "aten::nll_loss_forward" => (Part::Picks, 0),
        "aten::nll_loss_backward" => (Part::Picks, 1),
        "aten::copy_" => {
            let kind = ElementwiseKind::of(input.profile, operation);
            (kind == ElementwiseKind::Cast).then_some((Part::Converts, 0))?
        }
        _ => return None,
    };
    Some((part, arguments.tensor(at)?))
}

/// The bytes per element of the narrowest floating-point tensor of an operation.
fn narrowest(input: &Input, operation: &Operation) -> Option<f64> {
    let tensors = operation.tensors(input.profile).into_iter();
    let large = tensors.filter(|tensor| tensor.shape.last() >= Some(&LEAST_CLASSES));
    let bytes = large.filter_map(|tensor| element_bytes(tensor.dtype));
    bytes.reduce(f64::min)
}

impl Loss {
    /// What a fused loss would take at roofline.
    fn fused_ns(&self, input: &Input) -> Option<f64> {
        let passes = if self.has_backward { 2.0 } else { 1.0 };
        let bytes = self.rows * self.classes as f64 * self.element_bytes? * passes;
        Some(bytes * self.n_forward as f64 / input.gpu()?.mem_bw_gbps)
    }

    fn impact(&self, input: &Input) -> Option<Impact> {
        let Some(fused_ns) = self.fused_ns(input) else {
            // The longest kernel reads the logits and writes as many, too.
            let longest_ns = self.times.iter().map(|(_, ns)| *ns).max()?;
            return Some(Impact::measured(self.ns.saturating_sub(longest_ns)));
        };
        let targets = [0.75, 0.875, 1.0];
        Some(Impact::of_each(Estimate::Roofline, targets, |share| {
            let left_ns = (fused_ns / share).round() as i64;
            self.ns.saturating_sub(left_ns).max(0)
        }))
    }
}

impl Subject for Loss {
    type Of<'a> = Loss;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, loss) = (group.input, group.first());
        let impact = loss.impact(input)?;
        let share = impact.mid_ns as f64 / loss.ns.max(1) as f64;
        let savings = loss.times.iter();
        let savings = savings.map(|(at, ns)| (*at, (*ns as f64 * share).floor() as i64));
        let operations = loss.times.iter().map(|(at, _)| *at).collect();
        Some(Evidence {
            impact: Some(impact),
            savings: savings.collect(),
            ..Evidence::of_time(input, operations, loss.ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (input, loss) = (group.input, group.first());
        let count = |size: f64| format::count(size as u64);
        let least = match loss.fused_ns(input) {
            Some(ns) => {
                let writes = match loss.has_backward {
                    true => " and writing their gradient",
                    false => "",
                };
                let ns = format::time_ns(ns.round() as i64);
                format!("reading the logits{writes} once takes: {ns} at roofline")
            }
            None => {
                "the longest of these kernels takes: it moves as much as a fused loss".to_owned()
            }
        };
        vec![
            ("time", time_and_share(loss.ns, input)),
            ("rows", count(loss.rows)),
            ("classes", count(loss.classes as f64)),
            ("kernels", format::counted(loss.n_kernels, "kernel")),
            ("least", least),
            holds("backward", loss.has_backward),
        ]
    }
}

pub(super) const RULES: &[Rule<Loss>] = &[Rule {
    key: "cross_entropy",
    when: "a cross entropy over at least 8192 classes runs as separate kernels, in 5 % of the computation or more, or converts the logits and could save 2 % of the run",
    gate: |group| {
        let (input, loss) = (group.input, group.first());
        let saved_ns = loss.impact(input).map_or(0, |impact| impact.mid_ns);
        let least = input.options.thresholds.medium_percent_of_compute;
        let share = input.percent_of_compute(loss.ns);
        let is_much = share.is_some_and(|share| share >= least);
        saved_ns > 0 && (is_much || loss.converts && saved_ns as f64 >= least_ns(input))
    },
    title: "Cross entropy over {classes} classes in separate kernels",
    issue: "{kernels} convert the logits ({rows}×{classes}), compute their softmax and pick the loss{backward?, forward and backward|}: {time}; each reads or writes all logits.",
    model: "use a fused cross entropy (`LigerFusedLinearCrossEntropyLoss`, `cut_cross_entropy`, or `torch.compile` around the output layer and the loss), which never writes probabilities to memory; do not convert the logits to FP32 before it (it computes in FP32 inside), and leave out rows that the loss ignores before the output layer.",
    kernel: "one kernel reads the logits of a row once, and writes their gradient in their place.",
    notes: &["The saving is the measured time less what {least}."],
    saves: Saves::Evidence,
    effect: Effect::FewerLaunches,
    has_reproducer: false,
    ..Rule::BASE
}];
