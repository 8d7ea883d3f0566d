//! GEMMs whose operands are quantized or dequantized right before them, in kernels of their own.
//!
//! ```text
//! by stream: … | abs max mul clamp cast | abs max mul clamp cast | GEMM (FP8) |    quantizes both operands
//!            … | dequantize                                      | GEMM (BF16)|    widens the weights
//!            … | copy (INT8 to BF16) mul                         | GEMM (BF16)|    the same in steps
//! ```
//!
//! Both are meant to make GEMMs cheaper, or weights smaller. Where they take longer than the GEMMs, they do not; where
//! they take a good part of that time, fewer kernels could do the same.

use std::collections::{BTreeMap, BTreeSet};

use super::is_narrow;
use crate::base::sort::Gather;
use crate::findings::engine::narrower::matrix_rate_16_bit;
use crate::findings::prelude::*;
use crate::hardware::Precision;
use crate::names::Family;
use crate::names::moe::{dequantizes, quantizes};
use crate::names::words::contains_any;
use crate::perf::{Tensor, fused_ops, product};
use crate::profile::operations::Operation;
use crate::profile::operations::streams::{StreamCall, stream_calls};

/// Steps of quantizing in eager mode, without `aten::` and a trailing underscore.
#[rustfmt::skip]
const CHAIN: &[&str] = &[
    "abs", "amax", "max", "aminmax", "reciprocal", "div", "mul", "clamp", "clamp_min", "copy", "round", "log2", "floor",
    "ceil", "exp2", "pow", "maximum", "sub",
];

/// It starts with finding the largest value. What comes before may belong to the layer.
const FIRST: &[&str] = &["abs", "amax", "max", "aminmax"];

/// What a generated kernel merges in addition, where it quantizes and does nothing else.
#[rustfmt::skip]
const GENERATED: &[&str] = &[
    "_to_copy", "to", "max", "expand", "full", "full_like", "view", "reshape", "unsqueeze", "squeeze", "scalar_tensor",
    "minimum", "clone", "t", "transpose", "permute", "eq", "where", "lt",
];

/// Types that operands are quantized to.
const NARROW: &[&str] = &["Float8", "signed char", "unsigned char", "Float4"];

/// What an operation does in this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Multiplies operands of 8 bits or fewer.
    NarrowGemm,
    Gemm,
    /// Widens weights.
    Widens,
    /// Converts this many elements to a wider type: the weights, if the GEMM takes a tensor of this size. Steps that
    /// scale and shift them follow.
    Converts(u64),
    /// Quantizes in one operation.
    Quantizes,
    /// A step of quantizing.
    Step {
        is_first: bool,
        is_narrow: bool,
    },
    /// Ends it.
    Other,
}

/// What is done to the operands of the GEMMs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Widening,
    Quantizing,
}

/// What is done to operands counts from this share of the time of their GEMMs on.
const LEAST_SHARE: f64 = 0.2;

/// From this number of kernels for each GEMM on, an operand is quantized step by step.
const LEAST_STEPS: u64 = 3;

/// Such steps count from this share of the time of their GEMMs on, without those that write the narrow operands.
const LEAST_SHARE_OF_STEPS: f64 = 0.1;

/// All GEMMs that take less time than what is done to their operands, or all for which that takes a good part of it.
pub(super) struct Prepared {
    kind: Kind,
    /// It takes longer than the GEMMs.
    is_longer: bool,
    gemm_ns: i64,
    preparation_ns: i64,
    /// The part of it in kernels that write the narrow operands.
    writes_ns: i64,
    n_kernels: u64,
    n_gemms: u64,
    /// By operation: how long it prepares.
    savings: Vec<(usize, i64)>,
    /// Longest first.
    gemms: Vec<usize>,
    /// What these GEMMs would take in 16 bits; for quantized operands alone.
    wide_ns: i64,
}

/// The GEMMs of one operation, with what precedes them.
#[derive(Debug, Default)]
struct OfGemm {
    n: u64,
    ns: i64,
    n_kernels: u64,
    writes_ns: i64,
    preparation: BTreeMap<usize, i64>,
}

impl OfGemm {
    fn preparation_ns(&self) -> i64 {
        sum(self.preparation.values().copied())
    }

    /// What precedes the GEMMs as a share of their time.
    fn share(&self) -> f64 {
        self.preparation_ns() as f64 / self.ns.max(1) as f64
    }

    /// Whether this is a good part of it.
    fn is_costly(&self) -> bool {
        let steps_ns = self.preparation_ns().saturating_sub(self.writes_ns);
        let are_steps = self.writes_ns > 0 && self.n_kernels >= self.n.saturating_mul(LEAST_STEPS);
        self.share() > LEAST_SHARE
            || are_steps && steps_ns as f64 > self.ns as f64 * LEAST_SHARE_OF_STEPS
    }
}

/// The GEMMs for which this costs more than the GEMMs themselves, and those for which it costs a good part of their
/// time, by kind.
pub(super) fn prepared(input: &Input) -> Vec<Prepared> {
    let all = input.operations();
    let parts: Vec<Part> = all
        .map(|(at, operation, _)| part(input, at, operation))
        .collect();
    let may_prepare =
        |part: &Part| matches!(part, Part::NarrowGemm | Part::Widens | Part::Converts(_));
    // Order costs time, so it is skipped if nothing can come of it.
    if !parts.iter().any(may_prepare) {
        return Vec::new();
    }
    let counting = input.operations().map(|(at, operation, _)| (at, operation));
    let mut of_gemms: BTreeMap<(Kind, usize), OfGemm> = BTreeMap::new();
    let mut before: Vec<(StreamCall, Part)> = Vec::new();
    for step in stream_calls(input.profile, counting) {
        let part = step.as_ref().and_then(|step| parts.get(step.operation));
        let (Some(step), Some(part)) = (step, part.copied()) else {
            before.clear();
            continue;
        };
        match part {
            Part::Other => before.clear(),
            Part::Gemm | Part::NarrowGemm => {
                let takes = |n: u64| {
                    let tensors = input.operation(step.operation).tensors(input.profile);
                    tensors.iter().any(|tensor| elements(tensor) == n)
                };
                if let Some((kind, own)) = preparation(part, &before, &takes) {
                    let gemm = of_gemms.entry((kind, step.operation)).or_default();
                    gemm.n += 1;
                    gemm.ns = gemm.ns.saturating_add(step.ns);
                    for (step, part) in own {
                        gemm.n_kernels += step.n_kernels as u64;
                        if is_written(*part) {
                            gemm.writes_ns = gemm.writes_ns.saturating_add(step.ns);
                        }
                        let ns = gemm.preparation.entry(step.operation).or_default();
                        *ns = ns.saturating_add(step.ns);
                    }
                }
                before.clear();
            }
            _ => before.push((step, part)),
        }
    }
    let costly = of_gemms.into_iter().filter(|(_, gemm)| gemm.is_costly());
    let by_kind = grouped(
        costly.map(|((kind, at), gemm)| ((kind, gemm.share() > 1.0), (at, gemm))),
        |all: &mut Vec<(usize, OfGemm)>, one| all.push(one),
    );
    let prepared = by_kind
        .into_iter()
        .map(|((kind, is_longer), all)| Prepared::new(input, kind, is_longer, all));
    prepared.collect()
}

/// The operations that widen weights right before GEMMs and cost a good part of their time: a GEMM that reads the narrow
/// weights needs none of them.
pub(in crate::findings) fn widening(input: &Input) -> BTreeSet<usize> {
    let prepared = prepared(input).into_iter();
    let widening = prepared.filter(|prepared| prepared.kind == Kind::Widening);
    let operations = widening.flat_map(|prepared| prepared.savings);
    operations.map(|(at, _)| at).gather()
}

/// The role of an operation.
fn part(input: &Input, at: usize, operation: &Operation) -> Part {
    let full = input.profile.trace.strings.get(operation.key.name);
    let is_narrow_gemm = || {
        let work = input.evaluation(at).work.and_then(|work| work.compute);
        work.is_some_and(is_narrow)
    };
    match operation.family {
        Family::Gemm if is_narrow_gemm() => return Part::NarrowGemm,
        Family::Gemm => return Part::Gemm,
        Family::Attention | Family::Moe | Family::Communication | Family::MemoryCopy => {
            return Part::Other;
        }
        _ => {}
    }
    let kernels = operation.activity(input.profile);
    let mut names = kernels.map(|work| input.profile.trace.strings.get(work.name));
    let kernel = names.next().unwrap_or("");
    let of_name = |is: fn(&str) -> bool| is(full) || is(kernel);
    if of_name(dequantizes) {
        return Part::Widens;
    }
    if of_name(quantizes) {
        return Part::Quantizes;
    }
    let is_narrow = |dtype: &str| contains_any(dtype, NARROW);
    if operation.family == Family::Triton {
        let tensors = operation.tensors(input.profile);
        return generated(full, tensors.iter().any(|tensor| is_narrow(tensor.dtype)));
    }
    let name = full.strip_prefix("aten::").unwrap_or("");
    let name = name.strip_suffix('_').unwrap_or(name);
    if !CHAIN.contains(&name) {
        return Part::Other;
    }
    let tensors = operation.tensors(input.profile);
    let is_copied = |at: usize| tensors.get(at).map(|tensor| is_narrow(tensor.dtype));
    match (name, is_copied(0), is_copied(1)) {
        ("copy", Some(false), Some(true)) => Part::Converts(tensors.first().map_or(0, elements)),
        (_, to, _) => Part::Step {
            is_first: FIRST.contains(&name),
            is_narrow: name == "copy" && to == Some(true),
        },
    }
}

fn elements(tensor: &Tensor) -> u64 {
    product(tensor.shape) as u64
}

/// The role of a generated kernel: one that merges steps of quantizing alone. What others take is not for that alone.
fn generated(name: &str, has_narrow: bool) -> Part {
    let ops = fused_ops(name);
    let is_known = |op: &&str| CHAIN.contains(op) || GENERATED.contains(op);
    let is_first = ops.iter().any(|op| FIRST.contains(op));
    match !ops.is_empty() && ops.iter().all(is_known) {
        true if has_narrow => Part::Quantizes,
        true if is_first => Part::Step {
            is_first,
            is_narrow: false,
        },
        _ => Part::Other,
    }
}

/// The steps directly before a GEMM that prepare its operands; `takes` says whether the GEMM takes a tensor of a size.
fn preparation<'b>(
    gemm: Part,
    before: &'b [(StreamCall, Part)],
    takes: &dyn Fn(u64) -> bool,
) -> Option<(Kind, Vec<&'b (StreamCall, Part)>)> {
    if gemm != Part::NarrowGemm {
        let is_weight = |part: Part| matches!(part, Part::Converts(n) if takes(n));
        let converted = before.iter().position(|(_, part)| is_weight(*part));
        let own = before.iter().enumerate().filter(|(at, (_, part))| {
            let follows = converted.is_some_and(|converted| *at >= converted);
            *part == Part::Widens || follows
        });
        let own: Vec<&(StreamCall, Part)> = own.map(|(_, one)| one).collect();
        return (!own.is_empty()).then_some((Kind::Widening, own));
    }
    let starts = |part: Part| matches!(part, Part::Quantizes | Part::Step { is_first: true, .. });
    let first = before.iter().position(|(_, part)| starts(*part))?;
    let own = before.get(first..)?;
    let has_quantized = own.iter().any(|(_, part)| is_written(*part));
    has_quantized.then(|| (Kind::Quantizing, own.iter().collect()))
}

/// Whether it writes a quantized operand.
fn is_written(part: Part) -> bool {
    matches!(
        part,
        Part::Quantizes
            | Part::Step {
                is_narrow: true,
                ..
            }
    )
}

impl Prepared {
    fn new(input: &Input, kind: Kind, is_longer: bool, mut all: Vec<(usize, OfGemm)>) -> Prepared {
        all.arrange_by_key(|(at, gemm)| (std::cmp::Reverse(gemm.ns), *at));
        let of_16_bits = all.iter().map(|(at, gemm)| {
            let times = times_in_16_bits(input, *at);
            times.map_or(i64::MAX, |times| (gemm.ns as f64 * times).round() as i64)
        });
        let wide_ns = of_16_bits.fold(0_i64, i64::saturating_add);
        let preparation = all.iter().flat_map(|(_, gemm)| &gemm.preparation);
        Prepared {
            kind,
            is_longer,
            writes_ns: sum(all.iter().map(|(_, gemm)| gemm.writes_ns)),
            gemm_ns: sum(all.iter().map(|(_, gemm)| gemm.ns)),
            preparation_ns: sum(all.iter().map(|(_, gemm)| gemm.preparation_ns())),
            n_kernels: all.iter().map(|(_, gemm)| gemm.n_kernels).sum(),
            n_gemms: all.iter().map(|(_, gemm)| gemm.n).sum(),
            savings: times_by_operation(preparation.map(|(at, ns)| (*at, *ns))),
            gemms: all.iter().map(|(at, _)| *at).collect(),
            wide_ns,
        }
    }

    /// Whether a compiler has generated kernels for most of it already.
    fn is_compiled(&self, input: &Input) -> bool {
        let is_generated = |at: usize| input.operation(at).family == Family::Triton;
        let generated = self.savings.iter().filter(|(at, _)| is_generated(*at));
        sum(generated.map(|(_, ns)| *ns)) > self.preparation_ns / 2
    }

    /// What is saved without any of it: quantized GEMMs would take longer in 16 bits.
    fn saved_ns(&self) -> i64 {
        let more_ns = match self.kind {
            Kind::Widening => 0,
            Kind::Quantizing => self.wide_ns.saturating_sub(self.gemm_ns),
        };
        self.preparation_ns.saturating_sub(more_ns).max(0)
    }

    /// Whether operands of GEMMs that are worth quantizing are quantized step by step.
    fn is_in_steps(&self) -> bool {
        let are_many = self.n_kernels >= self.n_gemms.saturating_mul(LEAST_STEPS);
        self.kind == Kind::Quantizing && are_many && !self.is_wasted()
    }

    /// Whether quantizing takes longer than the GEMMs, and than 16 bits would cost.
    fn is_wasted(&self) -> bool {
        self.kind == Kind::Quantizing && self.is_longer && self.saved_ns() > 0
    }

    /// What the advice removes: all of it, or all but the kernels that write the narrow operands.
    fn removed_ns(&self) -> i64 {
        match self.is_in_steps() {
            true => self.preparation_ns.saturating_sub(self.writes_ns),
            false => self.saved_ns(),
        }
    }
}

/// How many times as long a GEMM takes in 16 bits: by the rates of the matrix units or by the bytes, whichever is more.
fn times_in_16_bits(input: &Input, at: usize) -> Option<f64> {
    let spec = input.evaluation(at).work?.compute?;
    let own = input
        .gpu()?
        .matrix_rate(spec.precision, input.options.basis)?;
    let (_, wide) = matrix_rate_16_bit(input)?;
    let bits = match spec.precision {
        Precision::Fp4 => 4.0,
        Precision::Fp6 => 6.0,
        _ => 8.0,
    };
    (wide.tflops > 0.0).then(|| (own.tflops / wide.tflops).max(16.0 / bits))
}

impl Subject for Prepared {
    type Of<'a> = Prepared;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, observed) = (group.input, group.first());
        let impact = Impact::at_most(observed.removed_ns());
        let middle = |ns: i64| {
            let share = impact.mid_ns as f64 / observed.preparation_ns.max(1) as f64;
            (ns as f64 * share).round() as i64
        };
        let prepares = observed.savings.iter().map(|(at, _)| *at);
        let operations = prepares.chain(observed.gemms.iter().copied()).collect();
        let time_ns = observed.preparation_ns.saturating_add(observed.gemm_ns);
        let savings = observed.savings.iter().map(|(at, ns)| (*at, middle(*ns)));
        Some(Evidence {
            impact: Some(impact),
            savings: savings.collect(),
            ..Evidence::of_time(input, operations, time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (input, observed) = (group.input, group.first());
        let longest = observed.gemms.first().map(|at| input.operation(*at));
        let subject = longest.map(|one| match shapes(input, one) {
            shapes if shapes.is_empty() => format!("`{}`", short_name(input, one)),
            shapes => format!("`{}` ({shapes})", short_name(input, one)),
        });
        let prepares = observed.savings.iter().max_by_key(|(_, ns)| *ns);
        let prepares = prepares.map(|(at, _)| short_name(input, input.operation(*at)));
        let wide = matrix_rate_16_bit(input).map_or("16 bits", |(precision, _)| match precision {
            Precision::Fp16 => "FP16",
            _ => "BF16",
        });
        vec![
            (
                "preparation",
                time_and_share(observed.preparation_ns, input),
            ),
            ("gemm_time", format::time_ns(observed.gemm_ns)),
            ("gemms", format::counted(observed.n_gemms, "GEMM")),
            ("kernels", format::counted(observed.n_kernels, "kernel")),
            ("longest", subject.unwrap_or_default()),
            ("prepares", prepares.unwrap_or_default()),
            ("wide", wide.to_owned()),
            ("wide_time", format::time_ns(observed.wide_ns)),
            ("saved", format::time_ns(observed.saved_ns())),
            ("writes", format::time_ns(observed.writes_ns)),
            holds("longer", observed.is_longer),
            holds("compiled", observed.is_compiled(input)),
        ]
    }
}

pub(super) const RULES: &[Rule<Prepared>] = &[
    Rule {
        key: "dequantized_weights",
        when: "operations that dequantize run directly before GEMMs, and take more than a fifth of their time",
        applies: |_, observed| observed.kind == Kind::Widening,
        title: "{longer?Dequantizing weights takes longer than their GEMMs|Weights dequantized in kernels of their own}",
        issue: "{kernels} dequantize operands of {gemms} directly before them (`{prepares}`): {preparation}, for GEMMs of {gemm_time} (the longest: {longest}).",
        model: "use GEMM kernels that dequantize weights as they read them (Marlin, `aten::_weight_int4pack_mm`), or dequantize once and keep the weights in {wide}, where memory suffices; more tokens per call spread the cost over more work.",
        kernel: "dequantize a tile of the weights on chip, inside of the GEMM: wide weights then never go through memory.",
        notes: &[
            "The estimate is the time of dequantizing. A GEMM that reads narrow weights itself is faster still where reading weights determines its time.",
        ],
        ..PREPARED
    },
    Rule {
        key: "quantized_operands",
        when: "quantizing the operands of GEMMs of 8 bits or fewer takes longer than these GEMMs, and than 16 bits would cost",
        applies: |_, observed| observed.is_wasted(),
        title: "Quantizing operands takes longer than their GEMMs",
        issue: "{kernels} quantize the operands of {gemms} directly before them: {preparation}, for GEMMs of {gemm_time} (the longest: {longest}), which would take about {wide_time} in {wide}.",
        model: "{compiled?let the compiler merge it with what precedes it (norm, activation), in one compiled region without a graph break between them, or use scales that are known ahead, so that no pass looks for the largest value|compile the module (`torch.compile`), so that scaling, clamping and casting are one kernel}; quantize weights that do not change once, not in each call; where neither is possible, keep these GEMMs in {wide}.",
        kernel: "scale and cast in the kernel that produces the operand (norm, activation), or in one kernel for each operand.",
        notes: &[
            "The estimate is what {wide} saves: {saved} at most, the time of quantizing less what the GEMMs would take longer at the rates of the GPU. One kernel for each operand may save more.",
        ],
        effect: Effect::FewerLaunches,
        ..PREPARED
    },
    Rule {
        key: "quantized_in_steps",
        when: "three or more kernels for each GEMM of 8 bits or fewer quantize its operands step by step, in more than a fifth of its time, or in more than a tenth without those that write them",
        applies: |_, observed| observed.is_in_steps(),
        title: "Operands quantized step by step",
        issue: "{kernels} quantize the operands of {gemms} directly before them: {preparation}, for GEMMs of {gemm_time} (the longest: {longest}).",
        model: "{compiled?let the compiler merge it with what precedes it (norm, activation), in one compiled region without a graph break between them|compile the module (`torch.compile`), or use a quantizing operator of the engine or library, so that finding the largest value, scaling, clamping and casting are one kernel}; scales that are known ahead need no pass for the largest value.",
        kernel: "read the wide operand once, and write the narrow one in the same kernel.",
        notes: &[
            "The estimate leaves the kernels that write the narrow operands ({writes}): one kernel can do all steps in about their time.",
        ],
        effect: Effect::FewerLaunches,
        ..PREPARED
    },
];

const PREPARED: Rule<Prepared> = Rule {
    saves: Saves::Evidence,
    has_reproducer: false,
    ..Rule::BASE
};
