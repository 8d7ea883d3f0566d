//! Findings about norms.

use super::super::Input;
use super::super::compute::{Draft, Gate, efficiency, finding};
use super::super::elementwise::{Baseline, Simple};
use super::super::finding::Finding;
use super::super::in_use::has_convolutions;
use super::super::memory_bound::{
    NOT_SHOWN, are_large, called_from, is_launch_scale, n_calls, operations_table, removable,
    short_name, subject_and_time, time_ns,
};
use super::super::outcome::{Row, weighted};
use super::neighbours::Neighbours;
use super::{Norm, Seen};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::names::Family;

/// Norms of a kind that are together large and far from the roof.
pub(super) fn below(
    input: &Input,
    baseline: &Baseline,
    norm: Norm,
    seen: &[&Seen],
    gate: &Gate,
) -> Option<Finding> {
    let thresholds = &input.options.thresholds;
    let slow: Vec<&Seen> = seen
        .iter()
        .copied()
        .filter(|seen| {
            let row = seen.row;
            let is_slow = row
                .efficiency_percent
                .is_some_and(|percent| percent < gate.efficiency_percent);
            is_slow && !row.is_anomaly && !is_launch_scale(input, row)
        })
        .collect();
    let rows: Vec<&Row> = slow.iter().map(|seen| seen.row).collect();
    if !are_large(input, &rows, gate) {
        return None;
    }
    let is_below = |seen: &&&Seen| {
        seen.ratio()
            .is_some_and(|ratio| ratio < thresholds.norm_baseline_ratio)
    };
    let is_below_most =
        time_ns(&rows) < 2 * sum(slow.iter().filter(is_below).map(|seen| seen.row.time_ns));
    let is_far = efficiency(&rows).is_some_and(|percent| percent < thresholds.norm_slow_percent);
    let yardsticks = slow.iter().filter_map(|seen| {
        let percent = baseline.percent(seen.yardstick?.gbps)?;
        Some((percent, seen.row.time_ns))
    });
    let is_baseline_good =
        weighted(yardsticks).is_some_and(|percent| percent > thresholds.norm_baseline_percent);
    let title = norm.title();
    let (pattern, title) = match (is_far && is_baseline_good, is_below_most) {
        (true, _) => (
            "norm_kernel_issue",
            format!("{title}: slow kernels, not a slow memory"),
        ),
        (false, true) => (
            "norm_below_baseline",
            format!("{title} far below element-wise operations"),
        ),
        (false, false) => ("memory_bound_gap", format!("{title} far from the roof")),
    };
    let mut issue = subject_and_time(input, &rows);
    match slow
        .first()
        .and_then(|first| Some((first.gbps?, first.yardstick?)))
    {
        Some((gbps, yardstick)) => issue.push_str(&format!(
            "; the longest moves {} where `{}` moves {}.",
            format::bandwidth_gbps(gbps),
            simple_name(input, yardstick),
            format::bandwidth_gbps(yardstick.gbps)
        )),
        None => issue.push('.'),
    }
    let wanted_format = slow.iter().find_map(|seen| seen.wanted_format);
    let model = match (norm, wanted_format) {
        (Norm::Batch, Some(format)) => format!(
            "run the network in `{format}`, so that the channels of a pixel lie side by side; larger batches; group or layer norm where the accuracy allows."
        ),
        (Norm::Batch, None) => {
            "merge it with the activation behind it (`torch.compile`); larger batches; group or layer norm where the accuracy allows.".to_owned()
        }
        (Norm::Instance | Norm::Group, _) if has_convolutions(input) => {
            "merge it with its neighbours (`torch.compile`), or try the layout that the convolutions around it use.".to_owned()
        }
        (Norm::Instance | Norm::Group, _) => {
            "merge it with its neighbours (`torch.compile`).".to_owned()
        }
        _ => merge(&Neighbours::of(input, &rows)),
    };
    finding(
        input,
        &rows,
        true,
        Draft {
            pattern,
            title,
            issue,
            model,
            kernel: "a norm should come near the bandwidth of simple element-wise kernels: have this one compared with other implementations for these shapes, with the reproducer.".to_owned(),
            reasoning: reasoning(input, baseline, &slow),
            tables: vec![comparison(input, &slow), operations_table(input, &rows)],
        },
    )
}

/// What to do about a norm, by what stands around it.
fn merge(around: &Neighbours) -> String {
    let name = |name: &String| format!("`{name}`");
    let rotary = match around.is_rotated {
        true => "; kernels that normalise Q and K and rotate them at once exist as well",
        false => "",
    };
    match (&around.before, &around.behind) {
        (Some(before), Some(behind)) => format!(
            "merge it with {} before it and {} behind it (a fused norm, or `torch.compile`){rotary}.",
            name(before),
            name(behind)
        ),
        (Some(before), None) => format!(
            "merge it with {} before it (a fused norm, or `torch.compile`){rotary}.",
            name(before)
        ),
        (None, Some(behind)) => format!(
            "merge it with {} behind it (a fused norm, or `torch.compile`){rotary}.",
            name(behind)
        ),
        (None, None) => format!(
            "no element-wise operation stands right before or behind most of its calls that it could be merged with: try other implementations of the norm (`torch.compile`, libraries of fused norms){rotary}."
        ),
    }
}

fn simple_name(input: &Input, simple: Simple) -> String {
    let operation = input.profile.operations().get(simple.operation);
    operation.map_or_else(String::new, |operation| short_name(input, operation))
}

fn reasoning(input: &Input, baseline: &Baseline, slow: &[&Seen]) -> Vec<String> {
    let rows: Vec<&Row> = slow.iter().map(|seen| seen.row).collect();
    let mut sentences: Vec<String> = called_from(input, &rows).into_iter().collect();
    let share = |gbps: f64| {
        baseline.percent(gbps).map_or(String::new(), |percent| {
            format!(
                ", {} of what the memory gives at most",
                format::percent(percent)
            )
        })
    };
    match baseline.demonstrated {
        Some(best) => sentences.push(format!(
            "Large simple operations of this trace reach {}{}.",
            format::bandwidth_gbps(best.gbps),
            share(best.gbps)
        )),
        None => {
            sentences.push(
                "No element-wise operation of this trace is large enough to show what the memory \
                 gives; each norm is compared with the fastest one that moves about as much."
                    .to_owned(),
            );
            if let Some(gbps) = baseline.plain_mean_gbps {
                sentences.push(format!(
                    "The plain mean of `aten::add_`, `aten::mul` and `aten::copy_` is {}{}; most of \
                     them are small.",
                    format::bandwidth_gbps(gbps),
                    share(gbps)
                ));
            }
        }
    }
    let first = slow
        .iter()
        .filter(|seen| seen.wanted_format.is_some())
        .count();
    if first > 0 {
        sentences.push(format!(
            "{first} of {} {} tensors whose channels do not lie side by side in memory.",
            format::counted(slow.len() as u64, "operation"),
            if first == 1 { "reads" } else { "read" }
        ));
    }
    sentences.push(
        "Bytes are a lower bound: a kernel that reads its input twice is not as slow as it looks."
            .to_owned(),
    );
    sentences.push(NOT_SHOWN.to_owned());
    sentences
}

/// Norms beside what they could reach.
fn comparison(input: &Input, slow: &[&Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 10;
    let mut table = Table::new(
        "baseline_comparison",
        "Beside element-wise operations",
        &[
            ("operation", "Operation"),
            ("type", "Type"),
            ("bytes", "Bytes a call"),
            ("bandwidth", "Bandwidth"),
            ("yardstick", "Compared with"),
            ("yardstick_bandwidth", "Its bandwidth"),
            ("ratio", "Ratio"),
        ],
    );
    table.rows = slow
        .iter()
        .take(MAX_ROWS)
        .filter_map(|seen| {
            let operation = input.profile.operations().get(seen.row.operation)?;
            let bytes = input.judged.get(seen.row.operation)?.work?.bytes;
            Some(vec![
                Value::Quoted(short_name(input, operation)),
                Value::Text(seen.class()),
                bytes.map_or(Value::NO_BYTES, |bytes| Value::Bytes(bytes as u64)),
                seen.gbps.map_or(Value::NO_GBPS, Value::GbPerS),
                seen.yardstick
                    .map_or(Value::Empty, |one| Value::Quoted(simple_name(input, one))),
                seen.yardstick
                    .map_or(Value::NO_GBPS, |one| Value::GbPerS(one.gbps)),
                Value::number(seen.ratio()),
            ])
        })
        .collect();
    table
}

/// Batch norms with fixed statistics scale and shift each channel: a convolution before them can
/// do that with other weights. `None` where any batch norm of the trace is trained.
pub(super) fn foldable(input: &Input, seen: &[Seen], gate: &Gate) -> Option<Finding> {
    let is_trained = seen.iter().any(|seen| {
        seen.norm == Norm::Batch && (seen.is_backward || seen.is_training == Some(true))
    });
    let has_convolutions = input
        .operations()
        .any(|(_, operation, _)| operation.family == Family::Convolution);
    let rows: Vec<&Row> = seen
        .iter()
        .filter(|seen| seen.norm == Norm::Batch && seen.is_training == Some(false))
        .map(|seen| seen.row)
        .collect();
    if is_trained || !has_convolutions || !are_large(input, &rows, gate) {
        return None;
    }
    let mut found = removable(
        input,
        &rows,
        Draft {
            pattern: "foldable_batch_norm",
            title: "Batch norms that convolutions can absorb".to_owned(),
            issue: format!(
                "{} of batch norms use fixed statistics: {}.",
                format::counted(n_calls(&rows), "call"),
                subject_and_time(input, &rows)
            ),
            model: "fold them into the weights and biases of the convolutions before them (`torch.nn.utils.fuse_conv_bn_eval`, or what exports the model).".to_owned(),
            kernel: "nothing to tune in kernels that need not run.".to_owned(),
            reasoning: vec![
                "The training flag of these calls is false, so each only scales and shifts its \
                 channels by constants."
                    .to_owned(),
                "Only those directly behind a convolution can be folded; the others stay."
                    .to_owned(),
            ],
            tables: vec![operations_table(input, &rows)],
        },
    )?;
    found.replay = None;
    Some(found)
}
