//! The finding about layout changes around convolutions.

use super::super::Input;
use super::super::compute::{Draft, finding as finding_of, priority, time_and_share};
use super::super::finding::{Finding, Impact};
use super::super::layout::channels_last;
use super::super::outcome::Row;
use super::{Adjacent, Seen, layout_percent};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arrange;
use crate::base::value::{Table, Value};

/// Kernels and copies that only change the layout.
pub(super) fn finding(
    input: &Input,
    seen: &[Seen],
    adjacent: &Adjacent,
    time_ns: i64,
) -> Option<Finding> {
    let thresholds = &input.options.thresholds;
    let inside_ns = sum(seen.iter().map(|one| one.layout.1));
    let layout_ns = inside_ns.saturating_add(adjacent.time_ns);
    let inside = layout_percent(inside_ns, time_ns)?;
    let all_ns = time_ns.saturating_add(adjacent.time_ns);
    let share = layout_percent(layout_ns, all_ns)?;
    if share < thresholds.conv_layout_percent {
        return None;
    }
    let with: Vec<&Seen> = seen.iter().filter(|one| one.layout.1 > 0).collect();
    let rows: Vec<&Row> = match with.is_empty() {
        // Only copies beside them.
        true => seen.iter().map(|one| one.row).collect(),
        false => with.iter().map(|one| one.row).collect(),
    };
    let is_high = share >= thresholds.conv_layout_high_percent;
    let mut savings: Vec<(usize, i64)> = with
        .iter()
        .map(|one| (one.row.operation, one.layout.1))
        .collect();
    for placed in &adjacent.calls {
        let ns = placed.kernel_ns(input);
        match savings.iter_mut().find(|(at, _)| *at == placed.operation) {
            Some((_, sum)) => *sum = sum.saturating_add(ns),
            None => savings.push((placed.operation, ns)),
        }
    }
    let known: Vec<bool> = with
        .iter()
        .filter_map(|one| one.shape.as_ref()?.is_channels_last)
        .collect();
    let all_last = !known.is_empty() && known.iter().all(|is_last| *is_last);
    let shaped = with.iter().copied().chain(seen);
    let mut n_dims = shaped.filter_map(|one| Some(one.shape.as_ref()?.n_dims()));
    let model = match (channels_last(n_dims.next().unwrap_or(4)), all_last) {
        (None, _) => {
            "convolutions in one dimension have no channels-last format: run them as `Conv2d` with a height of one in `torch.channels_last`, or have kernels tried that take the layout as it is.".to_owned()
        }
        (Some(_), true) => {
            "inputs are channels-last already: check that weights and the operations between convolutions keep that layout, and whether these kernels want the other one.".to_owned()
        }
        (Some(format), false) => format!(
            "`model.to(memory_format={format})`, and the same for inputs, so that tensors lie as the kernels want them."
        ),
    };
    let mut reasoning = vec![format!(
        "Kernels that change the layout inside the convolutions take {}, {} of their time.",
        format::time_ns(inside_ns),
        format::percent(inside)
    )];
    if adjacent.time_ns > 0 {
        reasoning.push(format!(
            "{} of an input or a result right before or after a convolution {} another {}.",
            format::counted(adjacent.calls.len() as u64, "copy call"),
            if adjacent.calls.len() == 1 {
                "takes"
            } else {
                "take"
            },
            format::time_ns(adjacent.time_ns)
        ));
    }
    reasoning.push(format!(
        "More than {} is a {} overhead; 30 to 45 % are typical of a wrong layout.",
        format::percent(match is_high {
            true => thresholds.conv_layout_high_percent,
            false => thresholds.conv_layout_percent,
        }),
        if is_high { "high" } else { "moderate" }
    ));
    reasoning.push(
        "The saving is the measured time of these kernels; one change of the layout at the entry of the model remains."
            .to_owned(),
    );
    let mut found = finding_of(
        input,
        &rows,
        true,
        Draft {
            pattern: "layout_changes",
            title: "Layout changes around convolutions".to_owned(),
            issue: format!(
                "Convolutions spend {} in kernels that only change the layout of their tensors, {} of their time.",
                time_and_share(layout_ns, input),
                format::percent(share)
            ),
            model,
            kernel: "a kernel for the layout that the tensors have makes the changes unnecessary."
                .to_owned(),
            reasoning,
            tables: vec![layout_kernels(input, seen)],
        },
    )?;
    let whole = Row {
        time_ns: layout_ns,
        percent_of_compute: input
            .computation_ns()
            .map(|all| layout_ns as f64 / all as f64 * 100.0),
        efficiency_percent: None,
        ..(*rows.first()?).clone()
    };
    found.priority = priority(input, &whole, true);
    found.time_ns = layout_ns;
    found.efficiency_percent = None;
    found.impact = Some(Impact::measured(layout_ns));
    found.savings = savings;
    // What convolutions themselves could win is without their layout changes: see `impact`.
    found.apart = with.iter().map(|one| one.row.operation).collect();
    found.replay = None;
    Some(found)
}

/// The kernels that change layouts.
fn layout_kernels(input: &Input, seen: &[Seen]) -> Table {
    /// More are in the sheets.
    const MAX_ROWS: usize = 8;
    let strings = &input.profile.trace.strings;
    let mut kernels: Vec<(&str, u64, i64)> = Vec::new();
    for one in seen.iter().filter(|one| one.layout.1 > 0) {
        for (name, count, ns) in one.operation.kernels(input.profile) {
            let name = strings.get(name);
            if !super::is_layout_change(name) {
                continue;
            }
            match kernels.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, all, sum)) => {
                    *all = all.saturating_add(count);
                    *sum = sum.saturating_add(ns);
                }
                None => kernels.push((name, count, ns)),
            }
        }
    }
    kernels.arrange_by_key(|&(name, _, ns)| (std::cmp::Reverse(ns), name));
    let mut table = Table::new(
        "layout_kernels",
        "Kernels that change layouts",
        &[("kernel", "Kernel"), ("count", "Runs"), ("time", "Time")],
    );
    table.rows = kernels
        .into_iter()
        .take(MAX_ROWS)
        .map(|(name, count, ns)| {
            vec![
                Value::Quoted(format::middle_ellipsis(name, 100)),
                Value::Count(count),
                Value::Ns(ns),
            ]
        })
        .collect();
    table
}
