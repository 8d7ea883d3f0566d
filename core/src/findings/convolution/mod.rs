//! Convolutions: what is lost by changing layouts around them, and which are below what is usual for
//! their kind.
//!
//! Kernels of a DNN library read images with channels next to each other (NHWC) or apart (NCHW). A
//! convolution whose tensors lie the other way is surrounded by kernels that change the layout. They
//! are told by their names among the kernels of the convolution itself, and by copies of its input
//! or result right before or after it. Their time is measured, so what the right layout saves is
//! measured, too.

mod class;
mod findings;
mod layout_finding;

#[cfg(test)]
mod tests;

use super::assessment::Assessment;
use super::compute::{is_wide, outcome};
use super::layout::channels_last;
use super::narrower::matrix_rate_16_bit;
use super::order::{Order, Placed, is_copy, keeps_type, tensors, time_ns};
use super::outcome::{Outcome, Row, Status, weighted};
use super::{AnalysisKind, Input};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::names::Family;
use crate::perf::ComputeSpec;
use crate::profile::operations::Operation;
use class::{Class, Shape};

/// What is known of one convolution.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    shape: Option<Shape>,
    spec: Option<ComputeSpec>,
    pass: Pass,
    /// Kernels that change a layout: how many ran, and their time.
    layout: (u64, i64),
    /// A kernel that says of itself that it is the slow way.
    fallback: Option<String>,
}

/// Which pass a convolution belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    Backward,
    /// Only the name of a kernel is known, and both passes run such kernels.
    Unknown,
}

impl Pass {
    const ALL: [Pass; 3] = [Pass::Forward, Pass::Backward, Pass::Unknown];

    /// In a table.
    fn label(self) -> &'static str {
        match self {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::Unknown => "not told",
        }
    }

    /// By the reference's label, or by name.
    fn of(input: &Input, operation: &Operation) -> Pass {
        const BACKWARD: &[&str] = &["backward", "bwd", "dgrad", "wgrad", "wrw"];
        const FORWARD: &[&str] = &["forward", "fwd", "fprop"];
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if operation.key.label == "CONV_bwd" || has(BACKWARD) {
            Pass::Backward
        } else if operation.is_kernel() && !has(FORWARD) {
            Pass::Unknown
        } else {
            Pass::Forward
        }
    }
}

impl Seen<'_> {
    fn class_text(&self) -> String {
        let shape = self
            .shape
            .as_ref()
            .map_or_else(|| "unknown shape".to_owned(), Shape::text);
        match self.pass {
            Pass::Backward => format!("{shape}, backward"),
            Pass::Forward | Pass::Unknown => shape,
        }
    }

    /// In 32 bits or more.
    fn is_wide(&self) -> bool {
        self.spec.is_some_and(is_wide)
    }
}

/// Copies of inputs and results right before and after convolutions.
#[derive(Debug, Default)]
struct Adjacent {
    calls: Vec<Placed>,
    time_ns: i64,
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows.iter().filter_map(|row| look(input, row)).collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        row.class = seen.class_text();
        if let (Some(shape), Some(percent), Some(_)) =
            (&seen.shape, row.efficiency_percent, row.assessment)
        {
            let band = shape.class().band();
            let level = Assessment::of_band(percent, band, &input.options.thresholds);
            row.assessment = Some(level);
        }
    }
    let adjacent = adjacent(input, &seen);
    facts(input, &mut outcome, &seen, &adjacent);
    outcome.tables.push(directions(input, &seen));
    outcome.tables.push(classes(&seen));
    outcome.findings = findings::findings(input, &seen, &adjacent, outcome.time_ns);
    if input.gpu().is_none() {
        outcome.notes.push(
            "No GPU profile is chosen, so how far convolutions are from the roof is not known."
                .to_owned(),
        );
    }
    Ok(outcome)
}

fn look<'a>(input: &Input<'a>, row: &'a Row) -> Option<Seen<'a>> {
    let operation = input.profile.operations().get(row.operation)?;
    let judged = input.judged.get(row.operation)?;
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile);
    let mut layout = (0_u64, 0_i64);
    for (name, count, ns) in &kernels {
        if is_layout_change(strings.get(*name)) {
            layout = (
                layout.0.saturating_add(*count),
                layout.1.saturating_add(*ns),
            );
        }
    }
    let mut names = kernels.iter().map(|(name, ..)| strings.get(*name));
    Some(Seen {
        row,
        operation,
        shape: Shape::of(input, operation),
        spec: judged.work.and_then(|work| work.compute),
        pass: Pass::of(input, operation),
        layout,
        fallback: names.find(|name| is_fallback(name)).map(str::to_owned),
    })
}

/// Whether the channels of a convolution's input lie next to each other; `None` where strides do not
/// tell, and for images of one dimension, which have no such format.
pub(crate) fn is_channels_last(input: &Input, operation: &Operation) -> Option<bool> {
    let shape = Shape::of(input, operation)?;
    channels_last(shape.n_dims())?;
    shape.is_channels_last
}

/// Kernels that bring tensors of a convolution into another layout. A transposed convolution is
/// none.
fn is_layout_change(kernel: &str) -> bool {
    const WORDS: &[&str] = &[
        "batched_transpose",
        "transpose_nchw",
        "transpose_cnhw",
        "transpose_nhwc",
        "nchw2nhwc",
        "nhwc2nchw",
        "nchw2cnhw",
        "cnhw2nchw",
        "nchwtonhwc",
        "nhwctonchw",
        "ncdhw2ndhwc",
        "ndhwc2ncdhw",
        "nchwtofoldednhwc",
        "foldednhwctonchw",
        "tensortransform",
        "tensor_transform",
    ];
    let kernel = kernel.to_ascii_lowercase();
    WORDS.iter().any(|word| kernel.contains(word))
}

/// Kernels whose names say that they are what is taken where nothing better fits.
fn is_fallback(kernel: &str) -> bool {
    const WORDS: &[&str] = &["naive_conv", "im2col", "im2d2col", "col2im", "slow_conv"];
    let kernel = kernel.to_ascii_lowercase();
    WORDS.iter().any(|word| kernel.contains(word))
}

/// Copies that keep the type and have as many elements as the input or the result of the
/// convolution right after or before them.
fn adjacent(input: &Input, seen: &[Seen]) -> Adjacent {
    let operations = input.profile.operations();
    let mut wanted: Vec<Option<[u64; 2]>> = vec![None; operations.len()];
    for one in seen {
        if let (Some(shape), Some(slot)) = (&one.shape, wanted.get_mut(one.row.operation)) {
            *slot = Some(shape.elements());
        }
    }
    // A copy that changes the order of the dimensions in memory, and how many elements it has.
    let copied: Vec<Option<u64>> = operations
        .iter()
        .map(|operation| {
            if operation.family != Family::Elementwise || !is_copy(input, operation) {
                return None;
            }
            let tensors = tensors(input, operation);
            let largest = tensors.iter().max_by_key(|tensor| tensor.elements())?;
            let is_image = (3..=5).contains(&largest.shape.len());
            let changes_layout = tensors
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if a.strides != b.strides))
                || tensors.len() == 1;
            (is_image && changes_layout && keeps_type(&tensors)).then(|| largest.elements())
        })
        .collect();
    if copied.iter().all(Option::is_none) {
        return Adjacent::default();
    }
    let order = Order::new(input);
    let mut calls: Vec<Placed> = Vec::new();
    for lane in order.lanes() {
        let mut taken_to = 0;
        for (at, placed) in lane.iter().enumerate() {
            let Some(&Some(elements)) = wanted.get(placed.operation) else {
                continue;
            };
            let is_copy_of = |beside: &Placed| {
                let copied = copied.get(beside.operation).copied().flatten();
                copied.is_some_and(|copied| copied > 0 && elements.contains(&copied))
            };
            let before = at.checked_sub(1).filter(|before| *before >= taken_to);
            calls.extend(
                before
                    .and_then(|before| lane.get(before))
                    .filter(|placed| is_copy_of(placed)),
            );
            taken_to = at + 1;
            if let Some(after) = lane.get(at + 1).filter(|placed| is_copy_of(placed)) {
                calls.push(*after);
                taken_to = at + 2;
            }
        }
    }
    Adjacent {
        time_ns: time_ns(input, &calls),
        calls,
    }
}

/// The share of layout changes, in percent.
fn layout_percent(layout_ns: i64, time_ns: i64) -> Option<f64> {
    (time_ns > 0).then(|| layout_ns as f64 / time_ns as f64 * 100.0)
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen], adjacent: &Adjacent) {
    let layout_ns = sum(seen.iter().map(|one| one.layout.1));
    let n_layout = seen.iter().map(|one| one.layout.0).sum();
    let time_of = |pass: Pass| {
        let of_pass = seen.iter().filter(|one| one.pass == pass);
        sum(of_pass.map(|one| one.row.time_ns))
    };
    let n_channels_last = seen
        .iter()
        .filter_map(|one| one.shape.as_ref()?.is_channels_last)
        .filter(|is_last| *is_last)
        .count() as u64;
    let all_ns = outcome.time_ns;
    let mut fact = |key, label, value| outcome.fact(key, label, value);
    fact(
        "transpose_count",
        "Layout-changing kernels",
        Value::Count(n_layout),
    );
    fact(
        "transpose_time",
        "Changing layouts inside",
        Value::Ns(layout_ns),
    );
    fact(
        "transpose_overhead",
        "Share of changing layouts",
        Value::percent(layout_percent(layout_ns, all_ns)),
    );
    fact(
        "adjacent_layout_copy_time",
        "Copies into another layout right before or after",
        Value::Ns(adjacent.time_ns),
    );
    fact("forward_time", "Forward", Value::Ns(time_of(Pass::Forward)));
    fact(
        "backward_time",
        "Backward",
        Value::Ns(time_of(Pass::Backward)),
    );
    fact(
        "channels_last_count",
        "Operations on channels-last inputs",
        Value::Count(n_channels_last),
    );
    let rate = matrix_rate_16_bit(input);
    fact(
        "peak_maf",
        "Matrix rate, 16-bit",
        rate.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops)),
    );
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::NO_GBPS, Value::GbPerS),
    );
}

/// The efficiency of some of them together, weighted by time.
fn efficiency<'a>(seen: impl Iterator<Item = &'a Seen<'a>>) -> Option<f64> {
    weighted(
        seen.filter(|one| !one.row.is_anomaly)
            .filter_map(|one| Some((one.row.efficiency_percent?, one.row.time_ns))),
    )
}

/// Forward and backward.
fn directions(input: &Input, seen: &[Seen]) -> Table {
    let mut table = Table::new(
        "directions",
        "Forward and backward",
        &[
            ("direction", "Pass"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("percent_of_compute", "Of compute"),
            ("efficiency", "Of the roof"),
            ("layout", "Changing layouts"),
        ],
    );
    for pass in Pass::ALL {
        let of_direction = || seen.iter().filter(|one| one.pass == pass);
        if of_direction().next().is_none() {
            continue;
        }
        let time_ns = sum(of_direction().map(|one| one.row.time_ns));
        let share = input
            .computation_ns()
            .map(|all| time_ns as f64 / all as f64 * 100.0);
        table.rows.push(vec![
            Value::Text(pass.label().to_owned()),
            Value::Count(of_direction().map(|one| one.row.n_calls).sum()),
            Value::Ns(time_ns),
            Value::percent(share),
            Value::percent(efficiency(of_direction())),
            Value::Ns(sum(of_direction().map(|one| one.layout.1))),
        ]);
    }
    table
}

/// Kinds with what is usual for them.
fn classes(seen: &[Seen]) -> Table {
    let mut table = Table::new(
        "classes",
        "Efficiency, and what is usual for the kind",
        &[
            ("kind", "Kind"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("efficiency", "Of the roof"),
            ("expected", "Usual"),
            ("verdict", "Verdict"),
        ],
    );
    for class in Class::ALL {
        let of_class = || {
            let has_class = |one: &&Seen| one.shape.as_ref().map(Shape::class) == Some(class);
            seen.iter().filter(has_class)
        };
        if of_class().next().is_none() {
            continue;
        }
        let (low, high) = class.band();
        let efficiency = efficiency(of_class());
        let verdict = efficiency.map(|percent| match percent {
            percent if percent < low => "below",
            percent if percent <= high => "as usual",
            _ => "above",
        });
        table.rows.push(vec![
            Value::Text(class.label().to_owned()),
            Value::Count(of_class().map(|one| one.row.n_calls).sum()),
            Value::Ns(sum(of_class().map(|one| one.row.time_ns))),
            Value::percent(efficiency),
            Value::Text(format!("{low:.0}–{high:.0} %")),
            verdict.map_or(Value::Empty, |verdict| Value::Text(verdict.to_owned())),
        ]);
    }
    table
}

/// "`aten::convolution` (10×64×56×56 by 64×64×3×3)" of the longest, and how many more.
fn subject(input: &Input, seen: &[&Seen]) -> String {
    let Some(first) = seen.first() else {
        return String::new();
    };
    let name = format::middle_ellipsis(first.operation.short_name(input.profile), 60);
    let sizes = first
        .shape
        .as_ref()
        .map(|shape| format!(" ({})", shape.sizes()));
    let more = match seen.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("`{name}`{}{more}", sizes.unwrap_or_default())
}
