//! Traces that hold different work: other models, other sizes, or hardly any operation in common.

use super::of_both;
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::compare::comparison::Comparison;
use crate::compare::ops::{MatchLevel, MatchedOp};
use crate::compare::pair::Which;
use crate::compare::words;
use crate::findings::{Words, fill};
use crate::names::Family;

pub(super) const FEW_PARTNERS: &str = "{share} of the kernel time of the target is in operations that the reference has, too: compare categories rather than single operations.";

pub(super) const OTHER_WEIGHTS: &str = "Most GEMMs have other weights ({shapes} instead of {reference_shapes}): the traces are of different models, or of one model in two sizes. Which of them is faster says nothing about how well it runs.";

impl Comparison {
    /// That the traces hold different work, if they do: other models, or hardly any operation in common.
    pub fn different_work(&self) -> Option<String> {
        let other = other_weights(self).map(|words| fill(OTHER_WEIGHTS, &words));
        other.or_else(|| Some(fill(FEW_PARTNERS, &few_partners(self)?)))
    }
}

pub(super) fn other_models(comparison: &Comparison) -> Option<Words> {
    let models = comparison.sides.as_ref().map(|side| side.model.as_deref());
    let models = models.both()?;
    let differ = models.reference != models.target;
    differ.then(|| of_both(models.map(str::to_owned)))
}

/// GEMMs of other weights, if they are most of the GEMMs of the target and no names say that the models differ.
pub(super) fn unnamed_other_weights(comparison: &Comparison) -> Option<Words> {
    match other_models(comparison) {
        Some(_) => None,
        None => other_weights(comparison),
    }
}

/// GEMMs of other weights, if they are most of the GEMMs of the target.
fn other_weights(comparison: &Comparison) -> Option<Words> {
    const LEAST_PERCENT: f64 = 60.0;
    let matched = comparison.operations.matched.iter();
    let gemms = || matched.clone().filter(|op| op.family == Family::Gemm);
    let other = || gemms().filter(|op| op.has_other_weights);
    let ns = |op: &MatchedOp| op.times().target;
    let percent = percent_or_zero(sum(other().map(ns)), sum(gemms().map(ns)));
    let mut first = other().filter(|_| percent >= LEAST_PERCENT);
    let first = first.find_map(|op| Some((&op.shapes, op.reference_shapes.as_ref()?)));
    first.map(|(shapes, reference)| {
        vec![
            ("shapes", shapes.clone()),
            ("reference_shapes", reference.clone()),
        ]
    })
}

pub(super) fn few_partners(comparison: &Comparison) -> Option<Words> {
    let percent = comparison.partners_percent(Which::Target)?;
    let share = match percent > 0.0 {
        true => format!("Only {}", format::percent(percent)),
        false => "None".to_owned(),
    };
    let words = || vec![("share", share)];
    comparison.has_few_partners().then(words)
}

pub(super) fn other_sizes(comparison: &Comparison) -> Option<Words> {
    let matched = &comparison.operations.matched;
    let others: Vec<&MatchedOp> = matched.iter().filter(|op| is_other_size(op)).collect();
    let first = others.first()?;
    let unmatched = comparison.operations.unmatched.target.iter();
    let all_ns = sum(matched.iter().map(|op| op.times().target))
        .saturating_add(sum(unmatched.map(|op| op.side.time_ns)));
    let percent = percent_or_zero(sum(others.iter().map(|op| op.times().target)), all_ns);
    let are = if others.len() == 1 { "is" } else { "are" };
    let reference_shapes = first.reference_shapes.as_deref().unwrap_or("other types");
    let n_others = others.len() as u64;
    Some(vec![
        ("operations", format::counted(n_others, "operation")),
        ("percent", format::percent(percent)),
        ("are", are.to_owned()),
        ("first", words::quoted(&first.name)),
        ("shapes", first.shapes.clone()),
        ("reference_shapes", reference_shapes.to_owned()),
    ])
}

pub(super) fn is_other_size(op: &MatchedOp) -> bool {
    op.level == MatchLevel::Operator
}

pub(super) fn other_work(comparison: &Comparison) -> Option<Words> {
    let ops = comparison.operations.matched.iter();
    let other = ops.filter(|op| op.judgment.work_differs && !is_other_size(op));
    let n = other.count() as u64;
    (n > 0).then(|| vec![("operations", format::counted(n, "operation"))])
}
