//! GEMMs: which are at a low % of roofline, and what their shapes and kernels show about it.

mod advice;
mod conditions;
mod growing;
mod layouts;
mod norm;
mod projected_again;
mod quantization;
mod rules;
mod short;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use super::unmodeled::missing_units;
use crate::assess::Thresholds;
use crate::assess::waterfall::{Cause, Fact, Step, Waterfall};
use crate::findings::engine::compute::{are_idle_units_half, cause_of};
use crate::findings::engine::narrower::{is_wide, saved_by_16_bit};
use crate::findings::loops::experts::ExpertLoops;
use crate::findings::prelude::*;
use crate::hardware::Precision;
use crate::hardware::roofline::Bound;
use crate::names::HelperKind;
use crate::names::gemm::is_quantized;
use crate::perf::{ComputeSpec, Unit};
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::gemm::{
    GemmKernels, GemmSizes, OddPitch, is_of_adapter, odd_pitches,
};
use crate::profile::operations::measured::{Helper, MeasuredOperations};
use conditions::is_of_chunk;
use growing::Growing;
use layouts::FasterLayout;
use norm::SlowNorm;
use projected_again::ProjectedAgain;
pub(super) use quantization::widening;

/// Layout changes are mentioned if they take at least this share of an operation.
const LAYOUT_SHARE: f64 = 0.05;

/// A tile with at most this many results reads each operand often.
const SMALL_TILE: u64 = 64 * 64;

struct Observed<'a> {
    row: &'a Row,
    operation: &'a Operation,
    sizes: Option<GemmSizes>,
    kernels: GemmKernels,
    /// Why its % of roofline is not good, if it is not.
    waterfall: Option<Waterfall>,
    /// What explains most of its gap or, if it is not at a low % of roofline, much of its time.
    cause: Option<Cause>,
    /// It is at a low % of roofline.
    is_low: bool,
    /// Strides in memory that are not 16-byte aligned.
    odd: Vec<OddPitch>,
    /// It runs in FP32 or FP64, and a 16-bit type would save time.
    is_wide: bool,
    is_quantized: bool,
    /// Most GEMMs of the trace use types of 16 bits or fewer.
    among_narrow: bool,
    /// In each layer, a vector that does not depend on the tokens is multiplied by a matrix.
    is_of_one_input: bool,
    /// A loop over experts launches it for one of them.
    is_of_expert: bool,
    /// A loss launches it for a chunk of its rows, too few to keep the matrix units busy.
    is_of_chunk: bool,
    /// A slow norm that its operator runs before it.
    norm: Option<SlowNorm>,
    /// It has some rows more in each step.
    growing: Option<Growing>,
    /// It projects keys and values of cross-attention again for each token.
    projected_again: Option<ProjectedAgain>,
    /// The same GEMM with other strides is faster.
    faster_layout: Option<FasterLayout>,
}

impl Observed<'_> {
    fn is_batched(&self) -> bool {
        self.sizes.is_some_and(GemmSizes::is_batched)
    }

    fn fact<T>(&self, of: impl Fn(&Fact) -> Option<T>) -> Option<T> {
        let mut facts = self.waterfall.iter().flat_map(|waterfall| &waterfall.facts);
        facts.find_map(of)
    }

    /// Workgroups and compute units, if some of these have no work.
    fn few_workgroups(&self) -> Option<(u64, u32)> {
        self.waterfall.as_ref()?.few_workgroups()
    }

    /// Whether at least three of four units have no workgroup.
    fn is_nearly_idle(&self) -> bool {
        let few = self.few_workgroups();
        few.is_some_and(|(workgroups, units)| workgroups * 4 <= u64::from(units))
    }

    /// Whether units without a workgroup explain at least half of the gap. Where the memory limits a GEMM that gives many
    /// units work, and these reach less than a tenth of what they could, something else makes it slow.
    fn is_short_of_workgroups(&self) -> bool {
        const LEAST_OF_SHARE: f64 = 0.1;
        let few = self.few_workgroups();
        let reached = few.zip(self.row.judged_percent());
        let is_far_below = reached.is_some_and(|((workgroups, units), percent)| {
            let share = workgroups as f64 / f64::from(units.max(1));
            let is_of_memory = self.row.bound == Some(Bound::Memory) && !self.is_nearly_idle();
            is_of_memory && percent / 100.0 < share * LEAST_OF_SHARE
        });
        are_idle_units_half(few, self.row) && !is_far_below
    }

    /// The GPU generation that its kernel was built for, and that of the GPU.
    fn generations(&self) -> Option<(&'static str, &'static str)> {
        self.fact(|fact| match fact {
            Fact::OldGeneration { kernel, gpu } => Some((*kernel, *gpu)),
            _ => None,
        })
    }

    /// Whether it does not use the newer matrix instructions, which matters where arithmetic takes the time.
    fn is_of_older_generation(&self) -> bool {
        self.row.bound == Some(Bound::Compute) && self.generations().is_some()
    }

    /// K, if the kernel needs few steps for it.
    fn few_k_steps(&self) -> Option<u64> {
        self.fact(|fact| match fact {
            Fact::FewKSteps { k, .. } => Some(*k),
            _ => None,
        })
    }

    /// The tile, if it is so small that reading operands dominates the time.
    fn small_tile(&self) -> Option<(u64, u64)> {
        let tile = self.fact(|fact| match fact {
            Fact::TileReads { tile, .. } => Some(*tile),
            _ => None,
        });
        tile.filter(|(first, second)| first * second <= SMALL_TILE)
    }

    fn step(&self, cause: Cause) -> Option<&Step> {
        self.waterfall.as_ref()?.step(cause)
    }

    fn changes_layout(&self) -> bool {
        self.kernels.layout_ns as f64 > LAYOUT_SHARE * self.row.time_ns as f64
    }
}

pub(super) const DOCS: Docs = || {
    let of_gemms = [rules::RULES, short::SHORT].map(rule::docs).concat();
    [of_gemms, rule::docs(quantization::RULES)].concat()
};

/// Whether an operation multiplies a large number of tiny matrices.
pub(crate) fn is_tiny_batched(operation: &Operation, thresholds: &Thresholds) -> bool {
    GemmSizes::of_params(operation).is_some_and(|sizes| is_tiny(sizes, thresholds))
}

fn is_tiny(sizes: GemmSizes, thresholds: &Thresholds) -> bool {
    let lengths = [sizes.m, sizes.n, sizes.k].into_iter();
    let is_small = |length: &u64| *length as f64 <= thresholds.gemm_tiny_dim;
    !sizes.is_grouped
        && sizes.batch as f64 >= thresholds.gemm_tiny_batch
        && lengths.filter(is_small).count() >= 2
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let gate = Gate::of(input, input.options.thresholds.gemm_gate_ms);
    let among_narrow = are_narrow(input, rows);
    let known = input
        .profile
        .once(|| KernelsOfGemms(vec![OnceLock::new(); input.profile.operations().len()]));
    let look = |row| look(input, row, &known, among_narrow);
    let mut observed: Vec<Observed> = rows.iter().map(look).collect();
    mark_one_input(input, &mut observed);
    growing::mark(input, &mut observed);
    projected_again::mark(input, &mut observed);
    layouts::mark(input, &mut observed);
    let of_experts = ExpertLoops::of(input);
    for one in &mut observed {
        one.is_of_expert = of_experts.gemms.contains(&one.row.operation);
    }
    for (row, observed) in outcome.rows.iter_mut().zip(&observed) {
        row.class = rule::class_of(input, rules::RULES, observed);
        // Without sizes it is unknown whether they are regular.
        if row.class.is_empty() && observed.sizes.is_some() {
            row.class = "regular".to_owned();
        }
    }
    facts(input, outcome, &observed);
    // The analysis of serving steps has a finding about adapters.
    let is_serving = input.profile.serving().is_some();
    let is_elsewhere = |one: &Observed| is_serving && is_of_adapter(input.profile, one.operation);
    let (candidates, others): (Vec<&Observed>, Vec<&Observed>) = observed
        .iter()
        .filter(|observed| !is_elsewhere(observed))
        .partition(|observed| is_candidate(input, observed, &gate));
    let is_short =
        |observed: &&Observed| is_launch_scale(input, observed.row) && !observed.row.is_anomaly;
    let short = others.iter().copied().filter(is_short).collect();
    let prepared = quantization::prepared(input);
    outcome.findings = [
        rule::find(input, quantization::RULES, prepared.iter().collect()),
        rule::find_large(input, rules::RULES, candidates, &gate),
        unmodeled(
            input,
            others.iter().map(|observed| observed.row),
            &gate,
            "GEMM",
        ),
        rule::find(input, short::SHORT, short),
    ]
    .concat();
    outcome.add_notes(launch_scale_note(input, rows));
    outcome.add_notes(no_gpu_note(input, "GEMMs"));
}

fn is_candidate(input: &Input, observed: &Observed, gate: &Gate) -> bool {
    let row = observed.row;
    // Empty GEMMs, as for a MoE expert without tokens, have nothing to save.
    let mut operands = observed.operation.tensors(input.profile).into_iter();
    if operands.any(|operand| operand.shape.contains(&0))
        || is_launch_scale(input, row)
        || missing_units(input, row).is_some()
    {
        return false;
    }
    // These are rated together, because each is small.
    let is_again = observed.growing.is_some() || observed.projected_again.is_some();
    if observed.is_of_one_input || is_again {
        return !row.is_anomaly;
    }
    // What has a certain cause, measured or not, requires no large gap to the roofline, and neither does another type.
    let needs_no_gap = observed.changes_layout()
        || observed.is_wide
        || observed.cause.is_some()
        || observed.is_of_older_generation()
        || observed.is_of_chunk
        || observed.faster_layout.is_some()
        || observed.norm.is_some();
    match row.efficiency_percent {
        Some(_) => gate.is_slow(row) || needs_no_gap && !row.is_anomaly,
        None => is_large(input, row, gate) && rules::is_odd(input, observed),
    }
}

/// Whether most of the time of GEMMs with a model is spent in types of 16 bits or fewer.
fn are_narrow(input: &Input, rows: &[Row]) -> bool {
    let spec = |row: &Row| input.evaluation(row.operation).work?.compute;
    let modeled = rows
        .iter()
        .filter_map(|row| Some((spec(row)?, row.time_ns)));
    let all_ns = sum(modeled.clone().map(|(_, ns)| ns));
    let narrow = modeled.filter(|(spec, _)| !is_wide(*spec));
    sum(narrow.map(|(_, ns)| ns)) > all_ns / 2
}

/// What the kernels of GEMMs show, indexed by operation.
struct KernelsOfGemms(Vec<OnceLock<GemmKernels>>);

fn look<'a>(
    input: &Input<'a>,
    row: &'a Row,
    known: &KernelsOfGemms,
    among_narrow: bool,
) -> Observed<'a> {
    let operation = input.operation(row.operation);
    let work = input.evaluation(row.operation).work;
    let spec = work.and_then(|work| work.compute);
    let sizes = GemmSizes::of(input.profile, operation);
    let kernels = || GemmKernels::of(input.profile, operation, sizes);
    let kernels = match known.0.get(row.operation) {
        Some(known) => *known.get_or_init(kernels),
        None => kernels(),
    };
    // An outer product mostly writes and hardly reads: there is nothing to pad, to split along K, or to compute faster
    // in another type.
    let is_outer = sizes.is_some_and(|sizes| sizes.k == 1);
    let is_below = |line: f64| {
        let percent = row.judged_percent().filter(|_| !is_outer);
        percent.is_some_and(|percent| percent < line)
    };
    let thresholds = &input.options.thresholds;
    let is_low = is_below(thresholds.gate_efficiency_percent);
    let waterfall = is_below(thresholds.efficiency_good_percent)
        .then(|| Waterfall::of(input, row.operation))
        .flatten();
    let of_low = waterfall.as_ref().filter(|_| is_low);
    let cause = cause_of(input, row, of_low)
        .filter(|cause| *cause != Cause::Helpers || is_low || !is_cheap_split(input, row));
    let aligned = sizes.zip(spec).filter(|_| !is_outer);
    Observed {
        row,
        operation,
        sizes,
        kernels,
        cause,
        waterfall,
        is_low,
        odd: aligned.map_or(Vec::new(), |(sizes, spec)| {
            odd_pitches(operation, sizes, spec)
        }),
        is_wide: !is_outer && spec.is_some_and(|spec| is_too_wide(input, row, spec, among_narrow)),
        is_quantized: is_quantized(operation.short_name(input.profile))
            || kernels.is_narrow
            || spec.is_some_and(is_narrow),
        among_narrow,
        is_of_one_input: false,
        is_of_expert: false,
        is_of_chunk: is_of_chunk(input, row, operation),
        norm: SlowNorm::of(input, row, operation),
        growing: None,
        projected_again: None,
        faster_layout: None,
    }
}

/// Whether what runs beside a GEMM mostly adds up its parts along K, in a small part of its time: the price of using
/// more of the GPU than its tiles would.
fn is_cheap_split(input: &Input, row: &Row) -> bool {
    const SMALL: f64 = 0.2;
    let measured = MeasuredOperations::of(input.profile);
    let helpers = measured.helpers(input.profile, row.operation);
    let adds_up = |helper: &Helper| helper.kind == HelperKind::SplitSum;
    let all_ns = sum(helpers.iter().map(|helper| helper.ns));
    helpers.first().is_some_and(adds_up) && (all_ns as f64) < row.time_ns as f64 * SMALL
}

/// The minimum number of calls per step of an operation that each layer has.
const LEAST_PER_STEP: u64 = 4;

/// Marks GEMMs with one row among GEMMs with many: where a step has many tokens, a single row is not a token but an
/// input shared by all layers, such as the time step of a diffusion pipeline.
fn mark_one_input(input: &Input, observed: &mut [Observed]) {
    let Some(serving) = input.profile.serving() else {
        return;
    };
    let parts = serving.stages.iter().map(|stage| stage.parts.len());
    let n_steps = parts.max().unwrap_or(0).max(1) as u64;
    // For a matrix, how many rows are multiplied by it.
    let rows = |observed: &Observed| {
        let sizes = observed.sizes.filter(|sizes| sizes.batch == 1)?;
        let weights = (sizes.m.max(sizes.n), sizes.k);
        Some((sizes.m.min(sizes.n), weights))
    };
    let known: Vec<(u64, (u64, u64), i64)> = observed
        .iter()
        .filter_map(|one| rows(one).map(|(rows, weights)| (rows, weights, one.row.time_ns)))
        .collect();
    let ns = |is: &dyn Fn(u64) -> bool| {
        let of_it = known.iter().filter(|(rows, ..)| is(*rows));
        sum(of_it.map(|(.., ns)| *ns))
    };
    if ns(&|rows| rows > 1) < ns(&|rows| rows == 1) {
        return;
    }
    for one in observed {
        let Some((1, weights)) = rows(one) else {
            continue;
        };
        // A matrix that some calls multiply by more rows belongs to tokens, as an expert's weights do.
        let is_of_tokens = known
            .iter()
            .any(|(rows, of, _)| *rows > 1 && *of == weights);
        one.is_of_one_input = !is_of_tokens && one.row.n_calls >= LEAST_PER_STEP * n_steps;
    }
}

/// Whether FP32 or FP64 is wider than most of the trace, or slower than 16 bits would be.
fn is_too_wide(input: &Input, row: &Row, spec: ComputeSpec, among_narrow: bool) -> bool {
    // FP64 in all of a trace is intended, except on a GPU that is not made for it.
    let may_be_narrower = || spec.precision != Precision::Fp64 || is_fp64_slow(input);
    let saves = || may_be_narrower() && saved_by_16_bit(input, row).is_some_and(|ns| ns > 0);
    is_wide(spec)
        && !input.operation(row.operation).is_complex(input.profile)
        && (among_narrow || saves())
}

/// Whether FP32 is far faster than FP64, as on GPUs for graphics and inference.
fn is_fp64_slow(input: &Input) -> bool {
    const FAR: f64 = 16.0;
    let rate = |precision| {
        let figure = input.gpu()?.vector_rate(precision, input.options.basis)?;
        Some(figure.tflops)
    };
    let rates = rate(Precision::Fp64).zip(rate(Precision::Fp32));
    rates.is_some_and(|(fp64, fp32)| fp32 >= fp64 * FAR)
}

fn is_narrow(spec: ComputeSpec) -> bool {
    use Precision::{Fp4, Fp8, Int8};
    spec.unit == Unit::Matrix && matches!(spec.precision, Fp8 | Fp4 | Int8)
}

fn facts(input: &Input, outcome: &mut Outcome, observed: &[Observed]) {
    let time = |ns: fn(&Observed) -> i64| Value::Ns(sum(observed.iter().map(ns)));
    let has_no_model =
        |observed: &Observed| input.evaluation(observed.row.operation).work.is_none();
    #[rustfmt::skip]
    outcome.counts(observed, &[
        ("quantized_count", "Quantized GEMMs", &|observed| observed.is_quantized),
        ("missing_perf_model_count", "GEMMs without a perf model", &has_no_model),
    ]);
    #[rustfmt::skip]
    outcome.facts([
        ("split_k_reduce", "Split-K reduction", time(|observed| observed.kernels.split_ns)),
        ("layout_change", "Layout changes inside GEMMs", time(|observed| observed.kernels.layout_ns)),
        ("peak_maf", "Matrix rate, 16-bit", matrix_rate(input)),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
}
