//! Work with the same result in each layer and each step: none of its operands' dimensions depends on tokens, requests
//! or their cache.

use super::{Issue, Kind, Source, pass_word};
use crate::base::map::Set;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::profile::operations::Operation;

/// With fewer elements, launches dominate rather than work.
const LEAST_ELEMENTS: f64 = 65_536.0;
/// An operation with fewer calls per pass does not belong to layers.
const LEAST_LAYERS: u64 = 4;
/// The number of rows may be up to this multiple of the tokens: heads, or expert choices.
const MOST_TIMES: i64 = 256;

pub(super) fn issues(source: &Source) -> Vec<Issue> {
    let (input, passes) = (source.input, source.passes);
    let Some(serving) = source.serving else {
        return Vec::new();
    };
    let batches = serving.steps.iter().filter_map(|step| step.batch);
    let sizes = batches.flat_map(|batch| {
        [
            batch.tokens(),
            batch.requests(),
            batch.kv_tokens(),
            batch.padded_to,
        ]
    });
    let mut of_batch: Set<i64> = sizes
        .flatten()
        .filter_map(|size| i64::try_from(size).ok())
        .collect();
    // GEMMs have the tokens as rows, possibly padded.
    for (_, operation, _) in input.operations() {
        if is_of_tokens(operation) {
            // A bias may come before the operand with the tokens.
            let tensors = operation.tensors(input.profile).into_iter();
            let mut tensors = tensors.filter(|tensor| tensor.shape.len() > 1);
            of_batch.extend(tensors.next().and_then(|tensor| rows(tensor.shape)));
        }
    }
    if of_batch.is_empty() {
        return Vec::new();
    }
    let n_passes = passes.all.len().max(1) as u64;
    let layers = passes.layers() as u64;
    // A layer may reuse the result of an earlier one.
    let least = layers.saturating_sub(2).max(LEAST_LAYERS);
    let mut issues = Vec::new();
    for (at, operation, evaluation) in input.operations() {
        let n = operation.n_calls();
        let of_pass = n / n_passes;
        let mean_ns = operation.kernel_ns / (n as i64).max(1);
        let is_long = mean_ns >= passes.floor_ns.saturating_mul(2) && mean_ns > 0;
        let does = !is_of_tokens(operation)
            && operation.family.computes()
            && operation.family != Family::Normalization
            && !evaluation.is_over_link;
        if !does || of_pass < least || !is_long || !is_constant(source, operation, &of_batch) {
            continue;
        }
        let saved_ns = operation
            .kernel_ns
            .saturating_sub(mean_ns.saturating_mul(n_passes as i64));
        let words = vec![
            ("name", format!("`{}`", short_name(input, operation))),
            ("shapes", shapes(input, operation)),
            ("calls", format::counted(n, "call")),
            ("mean", format::time_ns(mean_ns)),
            ("pass", pass_word(passes).to_owned()),
            ("saved", format::time_ns(saved_ns)),
        ];
        issues.push(Issue {
            operations: vec![at],
            words,
            ..Issue::new(Kind::Constant, operation.kernel_ns)
                .saving(Impact::measured(saved_ns), [(at, saved_ns)])
        });
    }
    issues
}

fn is_of_tokens(operation: &Operation) -> bool {
    matches!(
        operation.family,
        Family::Gemm | Family::Attention | Family::Moe | Family::Convolution
    )
}

/// The dimension that counts rows: the first, or the second if the batch size is one.
fn rows(shape: &[i64]) -> Option<i64> {
    match shape {
        [1, rows, _, ..] => Some(*rows),
        [rows, ..] => Some(*rows),
        [] => None,
    }
}

/// Whether operands are known and large, and none of their dimensions depends on the batch.
fn is_constant(source: &Source, operation: &Operation, of_batch: &Set<i64>) -> bool {
    let tensors = operation.tensors(source.input.profile);
    let is_large = tensors.iter().any(|tensor| tensor.n() >= LEAST_ELEMENTS);
    let is_of_batch = |size: i64| {
        let times = |of: &i64| *of > 1 && size % of == 0 && size / of <= MOST_TIMES;
        of_batch.contains(&size) || of_batch.iter().any(times)
    };
    let counts = |shape: &[i64]| {
        let inner = shape.iter().rev().skip(1);
        rows(shape).is_some_and(is_of_batch) || inner.clone().any(|size| of_batch.contains(size))
    };
    is_large && tensors.iter().all(|tensor| !counts(tensor.shape))
}
