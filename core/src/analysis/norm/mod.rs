//! Norms, batch norm above all: they read and write each element once or twice, so the simplest
//! element-wise operations of the trace show what they could reach.
//!
//! Bytes are lower bounds. With n elements: a forward pass reads the input and writes the result
//! (2·n); in training a kernel that cannot keep the input on the chip reads it twice (3·n), which
//! is not held against it. A backward pass reads the input and the gradient and writes one (3·n,
//! at worst 5·n).

#[cfg(test)]
mod tests;

use super::bandwidth::{Baseline, Simple};
use super::compute::{Draft, Gate, efficiency, finding, outcome};
use super::finding::Finding;
use super::memory_bound::{
    NOT_SHOWN, are_large, arguments, called_from, gbps, is_launch_scale, launch_scale_note,
    n_calls, operations_table, removable, short_name, subject_and_time, time_ns, unmodelled,
};
use super::outcome::{Outcome, Row, Status, weighted};
use super::value::{Table, Value};
use super::{AnalysisKind, Input};
use crate::category::Family;
use crate::format;
use crate::interval::sum;
use crate::operations::Operation;

/// Kinds of norms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Norm {
    Batch,
    Instance,
    Group,
    Layer,
    Rms,
    Other,
}

impl Norm {
    const ALL: [Norm; 6] = [
        Norm::Batch,
        Norm::Instance,
        Norm::Group,
        Norm::Layer,
        Norm::Rms,
        Norm::Other,
    ];

    /// By the name of the operator, or of the kernel that stands for itself.
    fn of(name: &str) -> Norm {
        const WORDS: &[(&str, Norm)] = &[
            ("rmsnorm", Norm::Rms),
            ("l2norm", Norm::Rms),
            ("qknorm", Norm::Rms),
            ("instancenorm", Norm::Instance),
            ("batchnorm", Norm::Batch),
            ("bnorm", Norm::Batch),
            ("bnfw", Norm::Batch),
            ("bnbw", Norm::Batch),
            ("groupnorm", Norm::Group),
            ("layernorm", Norm::Layer),
            ("lnfwd", Norm::Layer),
            ("lnbwd", Norm::Layer),
        ];
        let letters: String = name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let word = WORDS.iter().find(|(word, _)| letters.contains(word));
        word.map_or(Norm::Other, |(_, norm)| *norm)
    }

    /// For people, in the middle of a sentence.
    fn label(self) -> &'static str {
        match self {
            Norm::Batch => "batch norm",
            Norm::Instance => "instance norm",
            Norm::Group => "group norm",
            Norm::Layer => "layer norm",
            Norm::Rms => "RMS norm",
            Norm::Other => "other norm",
        }
    }

    /// At the start of a title.
    fn title(self) -> &'static str {
        match self {
            Norm::Batch => "Batch norm",
            Norm::Instance => "Instance norm",
            Norm::Group => "Group norm",
            Norm::Layer => "Layer norm",
            Norm::Rms => "RMS norm",
            Norm::Other => "Other norms",
        }
    }

    fn count_key(self) -> &'static str {
        match self {
            Norm::Batch => "batch_norm_count",
            Norm::Instance => "instance_norm_count",
            Norm::Group => "group_norm_count",
            Norm::Layer => "layer_norm_count",
            Norm::Rms => "rms_norm_count",
            Norm::Other => "other_norm_count",
        }
    }
}

/// A norm as the analysis sees it.
struct Seen<'a> {
    row: &'a Row,
    norm: Norm,
    is_backward: bool,
    /// Whether a batch norm takes its statistics from the batch; `None` where that was not
    /// recorded.
    is_training: Option<bool>,
    /// Whether the input of four or five dimensions has its channels last in memory.
    has_channels_last: Option<bool>,
    /// What it could reach.
    yardstick: Option<Simple>,
    gbps: Option<f64>,
}

impl Seen<'_> {
    /// The type of the row.
    fn class(&self) -> String {
        let mut class = self.norm.label().to_owned();
        match (self.is_backward, self.is_training) {
            (true, _) => class.push_str(" backward"),
            (false, Some(true)) => class.push_str(", training"),
            (false, Some(false)) => class.push_str(", inference"),
            (false, None) => {}
        }
        class
    }

    /// The rate over that of the yardstick.
    fn ratio(&self) -> Option<f64> {
        Some(self.gbps? / self.yardstick?.gbps)
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let baseline = Baseline::of(input);
    for row in &mut outcome.rows {
        row.class = look(input, &baseline, row).map_or_else(String::new, |seen| seen.class());
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| look(input, &baseline, row))
        .collect();
    facts(&mut outcome, &baseline, &seen);
    let gate = Gate {
        time_ms: input.options.thresholds.norm_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    for norm in Norm::ALL {
        let of_kind: Vec<&Seen> = seen.iter().filter(|seen| seen.norm == norm).collect();
        outcome
            .findings
            .extend(below(input, &baseline, norm, &of_kind, &gate));
    }
    outcome.findings.extend(foldable(input, &seen, &gate));
    let all: Vec<&Row> = rows.iter().collect();
    outcome
        .findings
        .extend(unmodelled(input, &all, &gate, "norm"));
    outcome.notes.extend(launch_scale_note(input, &rows));
    outcome.notes.push(
        "Bytes of norms are lower bounds (input and result once each), so their efficiency is too."
            .to_owned(),
    );
    Ok(outcome)
}

fn look<'a>(input: &Input, baseline: &Baseline, row: &'a Row) -> Option<Seen<'a>> {
    let operation = input.profile.operations().get(row.operation)?;
    let name = operation.short_name(input.profile);
    let norm = Norm::of(name);
    let lower = name.to_ascii_lowercase();
    let is_backward =
        lower.contains("backward") || lower.contains("bwd") || operation.key.label == "NORM_bwd";
    let bytes = input
        .judged
        .get(row.operation)
        .and_then(|judged| judged.work?.bytes);
    Some(Seen {
        row,
        norm,
        is_backward,
        is_training: (norm == Norm::Batch)
            .then(|| is_training(input, operation, is_backward))
            .flatten(),
        has_channels_last: has_channels_last(input, operation, is_backward),
        yardstick: bytes.and_then(|bytes| baseline.yardstick(bytes)),
        gbps: gbps(input, row),
    })
}

/// The flag as it was recorded: the sixth argument of every batch norm,
/// `(x, scale, shift, mean, variance, training, …)`, the eighth of `native_batch_norm_backward`.
fn is_training(input: &Input, operation: &Operation, is_backward: bool) -> Option<bool> {
    let name = operation.short_name(input.profile);
    if name.ends_with("_no_training") {
        return Some(false);
    }
    let arguments = arguments(input, operation)?;
    match is_backward {
        false => arguments.flag(5),
        true if name.ends_with("native_batch_norm_backward") => arguments.flag(7),
        true => None,
    }
}

/// Whether the stride of the channels (dimension 1) is the smallest. The input is the first
/// argument, of a backward pass the second.
fn has_channels_last(input: &Input, operation: &Operation, is_backward: bool) -> Option<bool> {
    let arguments = arguments(input, operation)?;
    let x = arguments.tensor(usize::from(is_backward))?;
    let strides = x.strides.filter(|strides| strides.len() == x.shape.len())?;
    let has_channels =
        matches!(x.shape.len(), 4 | 5) && x.shape.get(1).is_some_and(|size| *size > 1);
    has_channels.then(|| strides.get(1) == strides.iter().min())
}

fn facts(outcome: &mut Outcome, baseline: &Baseline, seen: &[Seen]) {
    let rate = |gbps: Option<f64>| gbps.map_or(Value::Empty, Value::GbPerS);
    let percent = |gbps: Option<f64>| Value::percent(gbps.and_then(|gbps| baseline.percent(gbps)));
    let demonstrated = baseline.demonstrated.map(|one| one.gbps);
    for norm in Norm::ALL {
        let n = seen.iter().filter(|seen| seen.norm == norm).count();
        outcome.fact(norm.count_key(), norm.title(), Value::Count(n as u64));
    }
    let batch = |wanted: bool| {
        let rows = seen.iter().filter(|seen| seen.is_training == Some(wanted));
        Value::Count(rows.count() as u64)
    };
    let batch_ns = sum(seen
        .iter()
        .filter(|seen| seen.norm == Norm::Batch)
        .map(|seen| seen.row.time_ns));
    outcome.fact("batch_norm", "Time in batch norms", Value::Ns(batch_ns));
    outcome.fact(
        "batch_norm_training_count",
        "Batch norms in training",
        batch(true),
    );
    outcome.fact(
        "batch_norm_inference_count",
        "Batch norms with fixed statistics",
        batch(false),
    );
    outcome.fact(
        "baseline_bandwidth",
        "Element-wise baseline",
        rate(baseline.mean_gbps),
    );
    outcome.fact(
        "baseline_efficiency",
        "Element-wise baseline, of the memory bandwidth",
        percent(baseline.mean_gbps),
    );
    outcome.fact(
        "demonstrated_bandwidth",
        "Best large element-wise operation",
        rate(demonstrated),
    );
    outcome.fact(
        "demonstrated_efficiency",
        "Best large element-wise operation, of the memory bandwidth",
        percent(demonstrated),
    );
    outcome.fact(
        "plain_mean_bandwidth",
        "Plain mean of aten::add_, aten::mul and aten::copy_, small ones included",
        rate(baseline.plain_mean_gbps),
    );
    outcome.fact(
        "plain_mean_efficiency",
        "Plain mean, of the memory bandwidth",
        percent(baseline.plain_mean_gbps),
    );
    outcome.fact("peak_hbm_bw", "Memory bandwidth", rate(baseline.peak_gbps));
}

/// Norms of a kind that are together large and far from the roof.
fn below(
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
    let is_channels_first = slow
        .iter()
        .any(|seen| seen.has_channels_last == Some(false));
    let model = match norm {
        Norm::Batch if is_channels_first => {
            "run the network in `channels_last`, so that the channels of a pixel lie side by side; larger batches; group or layer norm where the accuracy allows."
        }
        Norm::Batch => {
            "merge it with the activation behind it (`torch.compile`); larger batches; group or layer norm where the accuracy allows."
        }
        Norm::Instance | Norm::Group => {
            "merge it with its neighbours (`torch.compile`), or try the layout that the convolutions around it use."
        }
        _ => {
            "merge it with the residual addition before it and the conversion behind it (a fused norm, or `torch.compile`)."
        }
    };
    finding(
        input,
        &rows,
        true,
        Draft {
            pattern,
            title,
            issue,
            model: model.to_owned(),
            kernel: "a norm should come near the bandwidth of simple element-wise kernels: have this one compared with other implementations for these shapes, with the reproducer.".to_owned(),
            reasoning: reasoning(input, baseline, &slow),
            tables: vec![comparison(input, &slow), operations_table(input, &rows)],
        },
    )
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
        .filter(|seen| seen.has_channels_last == Some(false))
        .count();
    if first > 0 {
        sentences.push(format!(
            "{first} of {} read tensors whose channels do not lie side by side in memory.",
            format::counted(slow.len() as u64, "operation")
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
                bytes.map_or(Value::Empty, |bytes| Value::Bytes(bytes as u64)),
                seen.gbps.map_or(Value::Empty, Value::GbPerS),
                seen.yardstick
                    .map_or(Value::Empty, |one| Value::Quoted(simple_name(input, one))),
                seen.yardstick
                    .map_or(Value::Empty, |one| Value::GbPerS(one.gbps)),
                Value::number(seen.ratio()),
            ])
        })
        .collect();
    table
}

/// Batch norms with fixed statistics scale and shift each channel: a convolution before them can
/// do that with other weights. `None` where any batch norm of the trace is trained.
fn foldable(input: &Input, seen: &[Seen], gate: &Gate) -> Option<Finding> {
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
