//! Copies right around attention: of its operands before, and of its result after.

use super::super::Input;
use super::super::compute::{Draft, finding, priority, time_and_share};
use super::super::finding::{Finding, Impact};
use super::super::order::{Order, Placed, is_copy, keeps_type, tensors, time_ns};
use super::super::outcome::Row;
use super::Seen;
use super::findings::reasoning;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::names::Family;

/// Copies of an attention's operands and of its result, right before and after it.
pub(super) struct Copies<'a> {
    calls: Vec<Placed>,
    pub(super) time_ns: i64,
    /// The attention that they stand beside.
    beside: Vec<&'a Seen<'a>>,
    /// Some of them repeat heads in memory.
    repeats_heads: bool,
}

impl<'a> Copies<'a> {
    /// Calls that do nothing but copy Q, K or V right before an attention, or its result right after.
    pub(super) fn around(input: &Input, order: &Order, seen: &'a [Seen<'a>]) -> Copies<'a> {
        /// Q, K and V.
        const MAX_BEFORE: usize = 3;
        let operations = input.profile.operations();
        let mut calls: Vec<Placed> = Vec::new();
        let mut beside: Vec<&Seen> = Vec::new();
        let mut repeats_heads = false;
        // By operation: the elements of Q, K, V and of the result.
        let mut wanted: Vec<Option<(&Seen, [u64; 4])>> = vec![None; operations.len()];
        for one in seen.iter().filter(|one| one.kind.has_scores()) {
            if let (Some(sizes), Some(slot)) = (one.sizes, wanted.get_mut(one.row.operation)) {
                let elements = |n: u64, h: u64, d: u64| {
                    let all = [sizes.batch, n, h, d];
                    all.into_iter().fold(1_u64, u64::saturating_mul)
                };
                *slot = Some((
                    one,
                    [
                        elements(sizes.n_q, sizes.h_q, sizes.d_qk),
                        elements(sizes.n_kv, sizes.h_kv, sizes.d_qk),
                        elements(sizes.n_kv, sizes.h_kv, sizes.d_v),
                        elements(sizes.n_q, sizes.h_q, sizes.d_v),
                    ],
                ));
            }
        }
        // What a call copies, if that is all it does: elements, and whether it repeats some.
        let copied: Vec<Option<(u64, bool)>> = operations
            .iter()
            .map(|operation| {
                if operation.family != Family::Elementwise || !is_copy(input, operation) {
                    return None;
                }
                let tensors = tensors(input, operation);
                let largest = tensors.iter().map(|tensor| tensor.elements()).max()?;
                let repeats = tensors.iter().any(|tensor| tensor.is_expanded());
                (keeps_type(&tensors) && largest > 0).then_some((largest, repeats))
            })
            .collect();
        let copy_at = |placed: &Placed| copied.get(placed.operation).copied().flatten();
        for lane in order.lanes() {
            // A copy between two attentions belongs to one of them.
            let mut taken_to = 0;
            for (at, placed) in lane.iter().enumerate() {
                let Some(&Some((one, [q, k, v, result]))) = wanted.get(placed.operation) else {
                    continue;
                };
                let n_before = calls.len();
                let first = at.saturating_sub(MAX_BEFORE).max(taken_to);
                for before in lane.get(first..at).unwrap_or_default().iter().rev() {
                    match copy_at(before) {
                        Some((elements, repeats)) if [q, k, v].contains(&elements) => {
                            calls.push(*before);
                            repeats_heads |= repeats;
                        }
                        _ => break,
                    }
                }
                taken_to = at + 1;
                if let Some(after) = lane.get(at + 1)
                    && copy_at(after).is_some_and(|(elements, _)| elements == result)
                {
                    calls.push(*after);
                    taken_to = at + 2;
                }
                if calls.len() > n_before
                    && !beside
                        .iter()
                        .any(|known| known.row.operation == one.row.operation)
                {
                    beside.push(one);
                }
            }
        }
        Copies {
            time_ns: time_ns(input, &calls),
            calls,
            beside,
            repeats_heads,
        }
    }

    /// Copies of Q, K, V and of the result.
    pub(super) fn finding(&self, input: &Input) -> Option<Finding> {
        let copies = self;
        let thresholds = &input.options.thresholds;
        let beside: Vec<&Row> = copies.beside.iter().map(|one| one.row).collect();
        let attention_ns = sum(beside.iter().map(|row| row.time_ns));
        let first = copies.beside.first()?;
        if copies.time_ns as f64 * 100.0 <= thresholds.sdpa_copies_percent * attention_ns as f64 {
            return None;
        }
        let mut savings: Vec<(usize, i64)> = Vec::new();
        for placed in &copies.calls {
            let ns = placed.kernel_ns(input);
            match savings.iter_mut().find(|(at, _)| *at == placed.operation) {
                Some((_, sum)) => *sum = sum.saturating_add(ns),
                None => savings.push((placed.operation, ns)),
            }
        }
        savings.arrange_by_key(|&(operation, ns)| (std::cmp::Reverse(ns), operation));
        let name = format::middle_ellipsis(first.operation.short_name(input.profile), 60);
        let mut reasoning = reasoning(input, first);
        reasoning.insert(
        0,
        "The copies have as many elements as Q, K, V or the result, keep the type, and stand right before or after the attention on its stream."
            .to_owned(),
    );
        if copies.repeats_heads {
            reasoning.insert(
            1,
            "Some of them repeat key heads in memory; kernels that share key heads (`enable_gqa`) need no copy of them."
                .to_owned(),
        );
        }
        let mut found = finding(
        input,
        &beside,
        true,
        Draft {
            pattern: "contiguous_copies",
            title: "Copies around attention".to_owned(),
            issue: format!(
                "{} around `{name}` only change the layout of its operands and result: {}, {} of the attention's own time.",
                format::counted(copies.calls.len() as u64, "copy call"),
                time_and_share(copies.time_ns, input),
                format::percent(copies.time_ns as f64 / attention_ns.max(1) as f64 * 100.0)
            ),
            model: "drop `.contiguous()` around the attention, or project into the layout that it wants: fused attention kernels take strided tensors."
                .to_owned(),
            kernel: "a kernel that reads and writes these strides makes the copies unnecessary."
                .to_owned(),
            reasoning,
            tables: Vec::new(),
        },
    )?;
        // The copies are what it is about; the attention beside them is where to look.
        let first_row = Row {
            time_ns: copies.time_ns,
            percent_of_compute: input
                .computation_ns()
                .map(|all| copies.time_ns as f64 / all as f64 * 100.0),
            efficiency_percent: None,
            ..(*beside.first()?).clone()
        };
        found.priority = priority(input, &first_row, true);
        found.operations = savings
            .iter()
            .map(|(operation, _)| *operation)
            .chain(beside.iter().map(|row| row.operation))
            .collect();
        found.time_ns = copies.time_ns;
        found.efficiency_percent = None;
        found.impact = Some(Impact::measured(copies.time_ns));
        found.savings = savings;
        found.replay = None;
        Some(found)
    }
}
