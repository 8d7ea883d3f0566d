//! GEMMs: which reach a low % of roofline, and what their shapes and kernels say about it.

mod advice;
mod product;
mod rules;
#[cfg(test)]
mod tests;

use super::compute::{
    Gate, is_bottleneck, is_large, is_launch_scale, launch_scale_note, memory_bandwidth, outcome,
};
use super::narrower::{is_complex, is_wide, matrix_rate_16_bit, won_by_16_bit};
use super::order::tensors;
use super::outcome::{Outcome, Row, Status};
use super::rule::{self, Rule, RuleDoc};
use super::unmodelled::{missing_units, unmodelled};
use super::{AnalysisKind, Input};
use crate::assess::Thresholds;
use crate::base::interval::sum;
use crate::base::value::Value;
use crate::hardware::Precision;
use crate::names::gemm::{
    is_by_columns, is_layout_change, is_narrow_tensile, is_of_tensile, is_quantized, is_split,
    is_split_sum, output_tile,
};
use crate::perf::{ComputeSpec, Unit};
use crate::profile::launch::launch_size;
use crate::profile::operations::Operation;
use product::{OddPitch, Product, odd_pitches};

/// Layout changes that take a smaller share of an operation are not worth a word.
const LAYOUT_SHARE: f64 = 0.05;

/// Tiles for up to this share of the compute units are few; above it nearly all have work.
const FEW_TILES: f64 = 0.75;

/// GEMMs, as rules look at them.
struct Gemms;

/// What is known of one GEMM.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    product: Option<Product>,
    /// The output tile, by the name of the longest kernel that tells it.
    tile: Option<(u64, u64)>,
    /// How many of them there are.
    n_tiles: Option<u64>,
    /// There are fewer of them than compute units, and no other way of splitting the work.
    has_few_tiles: bool,
    /// A kernel says that it is split along K, or twice as many workgroups run as there are tiles.
    is_split: bool,
    /// Distances along memory that are not 16-byte aligned.
    odd: Vec<OddPitch>,
    /// Time in kernels that change a layout, and in kernels that add up the parts of split-K GEMMs.
    layout_ns: i64,
    split_ns: i64,
    /// It runs in FP32 or FP64, and a type of 16 bits would save time.
    is_wide: bool,
    is_quantized: bool,
    /// Most GEMMs of the trace are in types of 16 bits or fewer.
    among_narrow: bool,
}

impl Seen<'_> {
    /// Each entry of the batch has a matrix of its own: no weights, which all would share.
    fn is_batched(&self) -> bool {
        let product = self.product;
        product.is_some_and(|product| product.batch > 1 && !product.is_grouped)
    }

    /// Whether most of what it moves is its result.
    fn writes_most(&self) -> bool {
        self.product.is_some_and(|Product { m, n, k, .. }| {
            let (m, n, k) = (m as f64, n as f64, k as f64);
            m * n > (m + n) * k
        })
    }

    fn changes_layout(&self) -> bool {
        self.layout_ns as f64 > LAYOUT_SHARE * self.row.time_ns as f64
    }

    /// Tiles in the last wave over the compute units, and how many waves there are; `None` where the
    /// tiles are not known, or each is split.
    fn last_wave(&self, n_units: u32) -> Option<(u64, u64)> {
        let tiles = self.n_tiles.filter(|tiles| *tiles > 0 && !self.is_split)?;
        let n_units = u64::from(n_units);
        let waves = tiles.div_ceil(n_units);
        Some((tiles - (waves - 1) * n_units, waves))
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    let rules = rules::RULES.iter().chain(rules::SHORT);
    rules.map(Rule::doc).collect()
}

/// Whether an operation multiplies very many matrices so small that the choice of the kernel
/// decides how fast that is.
pub(crate) fn is_tiny_batched(operation: &Operation, thresholds: &Thresholds) -> bool {
    Product::of_params(operation).is_some_and(|product| product.is_tiny_batched(thresholds))
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let gate = Gate {
        time_ms: input.options.thresholds.gemm_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let among_narrow = are_narrow(input, &outcome.rows);
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .map(|row| look(input, row, among_narrow))
        .collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        row.class = rule::class_of(input, rules::RULES, seen);
        // Without sizes nothing tells that they are regular.
        if row.class.is_empty() && seen.product.is_some() {
            row.class = "regular".to_owned();
        }
    }
    facts(input, &mut outcome, &seen);
    let (candidates, others): (Vec<&Seen>, Vec<&Seen>) = seen
        .iter()
        .partition(|seen| is_candidate(input, seen, &gate));
    outcome.findings = rule::find(input, rules::RULES, candidates);
    let other_rows: Vec<&Row> = others.iter().map(|seen| seen.row).collect();
    outcome
        .findings
        .extend(unmodelled(input, &other_rows, &gate, "GEMM"));
    let is_short = |seen: &&Seen| is_launch_scale(input, seen.row) && !seen.row.is_anomaly;
    let short = others.into_iter().filter(is_short).collect();
    outcome
        .findings
        .extend(rule::find(input, rules::SHORT, short));
    outcome.notes.extend(launch_scale_note(input, &rows));
    if input.gpu().is_none() {
        let note = "No GPU profile is chosen, so the % of roofline of GEMMs is not known.";
        outcome.notes.push(note.to_owned());
    }
    Ok(outcome)
}

fn is_candidate(input: &Input, seen: &Seen, gate: &Gate) -> bool {
    let row = seen.row;
    // GEMMs of nothing, as of a MoE expert without tokens, have nothing to save.
    let mut operands = tensors(input, seen.operation).into_iter();
    if operands.any(|operand| operand.shape.contains(&0))
        || is_launch_scale(input, row)
        || missing_units(input, row).is_some()
    {
        return false;
    }
    // What is measured, or saved by another type, needs no gap to the roofline.
    let needs_no_gap = seen.changes_layout() || seen.is_wide;
    is_bottleneck(input, row, gate)
        || is_large(input, row, gate)
            && match row.efficiency_percent {
                Some(_) => needs_no_gap && !row.is_anomaly,
                None => rules::is_odd(input, seen),
            }
}

/// Whether most of the time of GEMMs with a model is in types of 16 bits or fewer.
fn are_narrow(input: &Input, rows: &[Row]) -> bool {
    let (mut narrow_ns, mut all_ns) = (0_i64, 0_i64);
    for row in rows {
        let work = input.judged(row.operation).work;
        let Some(spec) = work.and_then(|work| work.compute) else {
            continue;
        };
        all_ns = all_ns.saturating_add(row.time_ns);
        if !is_wide(spec) {
            narrow_ns = narrow_ns.saturating_add(row.time_ns);
        }
    }
    narrow_ns > all_ns / 2
}

fn look<'a>(input: &Input<'a>, row: &'a Row, among_narrow: bool) -> Seen<'a> {
    let operation = input.operation(row.operation);
    let work = input.judged(row.operation).work;
    let spec = work.and_then(|work| work.compute);
    let product = Product::of(input.profile, operation);
    let name = operation.short_name(input.profile);
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile).into_iter();
    let kernels: Vec<(&str, i64)> = kernels
        .map(|(kernel, _, ns)| (strings.get(kernel), ns))
        .collect();
    let is_any = |is_it: fn(&str) -> bool| kernels.iter().any(|(kernel, _)| is_it(kernel));
    let time_of = |is_it: fn(&str) -> bool| {
        let such = kernels.iter().filter(|(kernel, _)| is_it(kernel));
        sum(such.map(|(_, ns)| *ns))
    };
    let mut tiles = kernels
        .iter()
        .filter_map(|(kernel, _)| Some((output_tile(kernel)?, is_by_columns(name, kernel))));
    let tiled = tiles.next();
    let n_tiles = product
        .zip(tiled)
        .map(|(product, (tile, is_by_columns))| product.tiles(tile, is_by_columns));
    let workgroups = workgroups(input, operation);
    let has_parts = n_tiles
        .zip(workgroups)
        .is_some_and(|(tiles, workgroups)| workgroups >= tiles.saturating_mul(2));
    let is_split = is_any(is_split) || has_parts;
    // A column times a row writes, and hardly reads: it has nothing to pad, to split along K, or to
    // compute faster in another type.
    let is_outer = product.is_some_and(|product| product.k == 1);
    let has_few_tiles = n_tiles
        .zip(input.n_units())
        .is_some_and(|(tiles, n_units)| {
            let at_once = tiles.max(workgroups.unwrap_or(0)) as f64;
            at_once <= FEW_TILES * f64::from(n_units) && !is_split && !is_outer
        });
    let odd = product.zip(spec).filter(|_| !is_outer);
    Seen {
        row,
        operation,
        product,
        tile: tiled.map(|(tile, _)| tile),
        n_tiles,
        has_few_tiles,
        is_split,
        odd: odd.map_or(Vec::new(), |(product, spec)| {
            odd_pitches(operation, product, spec)
        }),
        layout_ns: time_of(is_layout_change),
        split_ns: time_of(is_split_sum),
        is_wide: !is_outer && spec.is_some_and(|spec| is_too_wide(input, row, spec, among_narrow)),
        is_quantized: is_quantized(name)
            || is_any(is_narrow_tensile)
            || spec.is_some_and(is_narrow),
        among_narrow,
    }
}

/// Whether FP32 or FP64 is more than the rest of the trace has, or than 16 bits would take.
fn is_too_wide(input: &Input, row: &Row, spec: ComputeSpec, among_narrow: bool) -> bool {
    // What is FP64 in all of a trace is so on purpose.
    let saves =
        || spec.precision != Precision::Fp64 && won_by_16_bit(input, row).is_some_and(|ns| ns > 0);
    is_wide(spec) && !is_complex(input, input.operation(row.operation)) && (among_narrow || saves())
}

fn is_narrow(spec: ComputeSpec) -> bool {
    use Precision::{Fp4, Fp8, Int8};
    spec.unit == Unit::Matrix && matches!(spec.precision, Fp8 | Fp4 | Int8)
}

/// Workgroups of the longest of Tensile's kernels, where its launch was written down. Others round
/// theirs up, or keep as many as there are units.
fn workgroups(input: &Input, operation: &Operation) -> Option<u64> {
    let (profile, trace) = (input.profile, &input.profile.trace);
    let name = |event| trace.strings.get(trace.events.name(event));
    let work = operation.work().filter_map(|id| profile.gpu.get(id));
    let of_tensile = work.filter(|work| is_of_tensile(trace.strings.get(work.name)));
    let longest = of_tensile.max_by_key(|work| (work.span.length(), work.event))?;
    let (grid, block) = launch_size(trace, longest.event)?;
    let all = |sizes: [u64; 3]| sizes.into_iter().try_fold(1_u64, u64::checked_mul);
    let counts_threads = longest
        .launched_by
        .is_some_and(|call| name(call).contains("hipExtModuleLaunch"));
    match counts_threads {
        true => all(grid)?.checked_div(all(block)?),
        false => all(grid),
    }
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let count = |is: &dyn Fn(&Seen) -> bool| {
        Value::Count(seen.iter().filter(|seen| is(seen)).count() as u64)
    };
    let time = |ns: fn(&Seen) -> i64| Value::Ns(sum(seen.iter().map(ns)));
    let without_model = |seen: &Seen| input.judged(seen.row.operation).work.is_none();
    let peak = matrix_rate_16_bit(input);
    let facts = [
        (
            "quantized_count",
            "Quantized GEMMs",
            count(&|seen| seen.is_quantized),
        ),
        (
            "missing_perf_model_count",
            "GEMMs without a perf model",
            count(&without_model),
        ),
        (
            "split_k_reduce",
            "Split-K reduction",
            time(|seen| seen.split_ns),
        ),
        (
            "layout_change",
            "Layout changes inside",
            time(|seen| seen.layout_ns),
        ),
        (
            "peak_maf",
            "Matrix rate, 16-bit",
            peak.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops)),
        ),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ];
    for (key, label, value) in facts {
        outcome.fact(key, label, value);
    }
}
