//! Attention: which kernel computes it, how its efficiency compares with the usual one for its sequence length, what is
//! copied for it, and whether it is a single kernel at all.
//!
//! Forward and backward passes are two analyses with one implementation.

mod around;
mod band;
mod copies;
mod rules;
mod serving;
#[cfg(test)]
mod tests;
pub(crate) mod unfused;

use super::unmodeled::unmodeled_in_cache;
use crate::assess::Thresholds;
use crate::assess::waterfall::{Cause, Detail, Fact, Waterfall};
use crate::findings::engine::assessment::{Assessment, Band};
use crate::findings::engine::compute::{are_idle_units_half, cause_of};
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::attention::{self, AttentionKernel};
use crate::names::words::contains_any;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::call_order::Order;
use crate::profile::operations::kinds::attention::AttentionSizes;
use band::Verdict;
use serving::CacheWrites;
use unfused::Unfused;

/// Whether an operation is a backward pass: by the reference's label, its name, or its kernels.
pub(super) fn is_backward(profile: &Profile, operation: &Operation) -> bool {
    match operation.key.label {
        "SDPA_bwd" => true,
        "SDPA_fwd" => false,
        _ => {
            let kernel = operation.kernel_names(profile).into_iter().next();
            let mut names = [operation.short_name(profile)].into_iter().chain(kernel);
            names.any(attention::is_backward)
        }
    }
}

/// Padding of the head dimension is not named as the class if it explains a smaller part of the gap.
const LEAST_PADDING: f64 = 0.05;

/// What computes an operation: decided by the operator, or by its longest kernels if that is not conclusive.
fn kernel_of(profile: &Profile, operation: &Operation) -> AttentionKernel {
    let kernels = operation.kernel_names(profile);
    let mut names = std::iter::once(operation.short_name(profile)).chain(kernels);
    let kernel = names.find_map(AttentionKernel::of_name);
    kernel.unwrap_or(AttentionKernel::Other)
}

/// Whether the context of an operation, which its time depends on, is not among its arguments: calls that differ may
/// have different ones.
pub(super) fn depends_on_context(profile: &Profile, operation: &Operation) -> bool {
    operation.family == Family::Attention && kernel_of(profile, operation) == AttentionKernel::Paged
}

struct Observed<'a> {
    row: &'a Row,
    operation: &'a Operation,
    /// What computes it: decided by the operator, or by its longest kernels if that is not conclusive.
    kernel: AttentionKernel,
    kernels: Vec<&'a str>,
    sizes: Option<AttentionSizes>,
    /// The usual efficiency for its length; `None` for decoding, which has no such band.
    band: Option<Band>,
    verdict: Option<Verdict>,
    /// Few queries attend to many keys.
    is_decode: bool,
    /// Many queries attend to few keys, as cross attention to a text, and the memory is what takes the time.
    has_few_keys: bool,
    is_backward: bool,
    /// Why it is below its band, if it is.
    waterfall: Option<Waterfall>,
    /// What explains most of its gap.
    cause: Option<Cause>,
}

impl<'a> Observed<'a> {
    fn of(input: &Input<'a>, row: &'a Row, is_backward: bool) -> Observed<'a> {
        let thresholds = &input.options.thresholds;
        let operation = input.operation(row.operation);
        let kernels = operation.kernel_names(input.profile);
        let kernel = kernel_of(input.profile, operation);
        let mut sizes = AttentionSizes::of(input.profile, operation);
        if let Some(sizes) = sizes.as_mut().filter(|_| kernel == AttentionKernel::Cache) {
            // A slot for each new token is not a list of sequence starts.
            sizes.n_packed = None;
        }
        let is_paged = kernel == AttentionKernel::Paged;
        let is_packed = sizes.is_some_and(|sizes| sizes.n_packed.is_some());
        let is_decode = sizes.is_some_and(|sizes| {
            sizes.queries() <= thresholds.sdpa_decode_queries
                && ((is_paged && is_packed) || sizes.keys() > sizes.queries())
        });
        // Steps of serving engines mix requests; without their number the sequence lengths are unknown.
        let is_mixed = is_paged && !is_packed;
        let has_few_keys = sizes.zip(row.bound).is_some_and(|(sizes, bound)| {
            band::has_few_keys(sizes.queries(), sizes.keys(), bound, thresholds)
        });
        let length = sizes.map(|sizes| match has_few_keys {
            true => sizes.queries(),
            false => sizes.length(),
        });
        let band = length
            .filter(|_| kernel.has_scores() && !is_decode && !is_mixed)
            .map(|length| match has_few_keys {
                true => Band::OF_FEW_KEYS,
                false => Band::of_length(length),
            });
        let band = band.map(|band| band.of_pass(is_backward, thresholds));
        let efficiency = row.judged_percent();
        let verdict = || Some(Verdict::new(efficiency?, band?, length?, thresholds));
        let is_below = verdict() == Some(Verdict::Below);
        let waterfall = is_below
            .then(|| Waterfall::of(input, row.operation))
            .flatten();
        let is_of_context =
            |cause: &Cause| is_paged && matches!(cause, Cause::WarmUp | Cause::Spread);
        let cause = cause_of(input, row, waterfall.as_ref()).filter(|cause| !is_of_context(cause));
        // A head dimension that its kernel pads takes its time within the band, too.
        let waterfall = waterfall.or_else(|| match cause {
            Some(Cause::PaddedDimension) => Waterfall::of(input, row.operation),
            _ => None,
        });
        Observed {
            cause,
            waterfall,
            row,
            operation,
            kernel,
            kernels,
            sizes,
            band,
            verdict: verdict(),
            is_decode,
            has_few_keys,
            is_backward,
        }
    }

    /// Workgroups and compute units, if some of these have no work.
    fn few_workgroups(&self) -> Option<(u64, u32)> {
        let facts = &self.waterfall.as_ref()?.facts;
        facts.iter().find_map(|fact| match fact {
            Fact::FewWorkgroups { workgroups, units } | Fact::FewBlocks { workgroups, units } => {
                Some((*workgroups, *units))
            }
            _ => None,
        })
    }

    fn has_dropout(&self) -> bool {
        let mut facts = self.waterfall.iter().flat_map(|waterfall| &waterfall.facts);
        facts.any(|fact| matches!(fact, Fact::Dropout(_)))
    }

    /// Whether the only known cause of its gap is that there are fewer workgroups than units; for short sequences that
    /// is usual.
    fn is_short_of_workgroups(&self, input: &Input) -> bool {
        let short = input.options.thresholds.sdpa_short_length;
        let is_long = self.sizes.is_some_and(|sizes| sizes.length() >= short);
        is_long && self.cause.is_none() && are_idle_units_half(self.few_workgroups(), self.row)
    }

    /// Workgroups and compute units, where known.
    fn workgroups(&self) -> Option<(u64, u32)> {
        let step = self.waterfall.as_ref()?.step(Cause::WaveQuantization);
        match step.map(|step| step.detail) {
            Some(Detail::Waves {
                workgroups, units, ..
            }) => Some((workgroups, units)),
            _ => self.few_workgroups(),
        }
    }

    /// Its head dimension, and the padded one that its kernel computes.
    fn padded_head(&self) -> Option<(u64, u64)> {
        let waterfall = self.waterfall.as_ref()?;
        let step = waterfall.step(Cause::PaddedDimension)?;
        let gap_ns = waterfall.measured_ns - waterfall.roofline_ns;
        // It is not the cause of a gap that is many times as large.
        if (step.ns as f64) < gap_ns as f64 * LEAST_PADDING {
            return None;
        }
        match step.detail {
            Detail::Padded { size, padded, .. } => Some((size, padded)),
            _ => None,
        }
    }

    /// The sizes of the mask or bias in memory that it is called with, if its operator takes one after the values.
    fn mask<'i>(&self, input: &Input<'i>) -> Option<&'i [i64]> {
        const OPS: &[&str] = &[
            "scaled_dot_product_",
            "_efficient_attention_",
            "efficient_attention_",
        ];
        let (name, keys) = (self.operation.short_name(input.profile), self.sizes?.keys());
        let takes_one = contains_any(name, OPS) && !name.contains("flash");
        let at = 3 + usize::from(name.contains("backward"));
        let mask = self.operation.arguments(input.profile)?.tensor(at)?;
        let spans_keys = mask.shape.last().is_some_and(|last| *last as f64 >= keys);
        (takes_one && spans_keys && mask.shape.len() > 1).then_some(mask.shape)
    }

    fn name(&self, input: &Input) -> String {
        format::middle_ellipsis(self.operation.short_name(input.profile), 60)
    }

    /// Whether it is attention that can be rated.
    fn is_candidate(&self) -> bool {
        let is_known = self.kernel.has_scores()
            || (self.kernel == AttentionKernel::Linear && self.row.efficiency_percent.is_some());
        is_known && !self.row.is_anomaly
    }

    /// The rating relative to the usual efficiency for its length; `None` where that is unknown.
    fn assessment(&self, thresholds: &Thresholds) -> Option<Assessment> {
        let (band, percent) = (self.band?, self.row.efficiency_percent?);
        Some(match self.verdict? {
            Verdict::ShortAndLow => Assessment::Acceptable,
            _ => Assessment::of_band(percent, band, thresholds),
        })
    }

    fn class(&self) -> String {
        let kernel = self.kernel.label();
        let Some(sizes) = self.sizes.filter(|_| self.kernel.has_scores()) else {
            return kernel.to_owned();
        };
        let heads = match (sizes.group(), sizes.h_kv) {
            (1, _) => None,
            (_, 1) => Some(", MQA".to_owned()),
            (group, _) => Some(format!(", GQA {group}:1")),
        };
        let odd_head = sizes.odd_head();
        let odd_head = odd_head.map(|head| format!(", head dimension {head}"));
        [
            kernel,
            if self.is_decode { ", decode" } else { "" },
            match self.operation.sees_window {
                true => ", sliding window",
                false => "",
            },
            if sizes.is_causal { ", causal" } else { "" },
            heads.as_deref().unwrap_or_default(),
            odd_head.as_deref().unwrap_or_default(),
        ]
        .concat()
    }
}

pub(super) const DOCS: Docs = || {
    let around = [rule::docs(around::CACHE_WRITES), rule::docs(around::COPIES)].concat();
    [
        rule::docs(rules::RULES),
        around,
        rule::docs(around::UNFUSED),
    ]
    .concat()
};

fn gate(input: &Input) -> Gate {
    Gate::of(input, input.options.thresholds.sdpa_gate_ms)
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let is_backward = outcome.kind.key == "sdpa_bwd";
    let has_softmax = unfused::has_softmax(input);
    if outcome.status != Status::Done && !has_softmax {
        return;
    }
    let order = Order::of(input.profile);
    let unfused = has_softmax.then(|| unfused::find(input, &order, is_backward));
    let unfused: Vec<Unfused> = unfused.unwrap_or_default();
    if outcome.status != Status::Done && unfused.is_empty() {
        return;
    }
    outcome.status = Status::Done;
    let look = |row| Observed::of(input, row, is_backward);
    let observed: Vec<Observed> = rows.iter().map(look).collect();
    for (row, observed) in outcome.rows.iter_mut().zip(&observed) {
        let assessment = observed.assessment(&input.options.thresholds);
        row.class = observed.class();
        row.assessment = assessment.or(row.assessment);
    }
    let copies = copies::around(input, &order, &observed);
    let writes = CacheWrites::of(input, &observed);
    let unfused_ns = sum(unfused.iter().map(|one| one.time_ns));
    facts(input, outcome, &observed, &writes);
    let copies_ns = sum(copies.iter().map(|copy| copy.ns));
    #[rustfmt::skip]
    outcome.facts([
        ("contiguous_copies", "Copies right before and after", Value::Ns(copies_ns)),
        ("unfused_attention", "Attention in separate operations", Value::Ns(unfused_ns)),
    ]);
    if !observed.is_empty() {
        outcome.tables.push(bands(input, &observed));
    }
    let candidates = observed.iter().filter(|one| one.is_candidate());
    outcome.findings = [
        rule::find_large(input, rules::RULES, candidates.collect(), &gate(input)),
        of_unknown_work(input, &observed, is_backward),
        rule::find(input, around::CACHE_WRITES, vec![&writes]),
        rule::find(input, around::COPIES, copies.iter().collect()),
        rule::find(input, around::UNFUSED, unfused.iter().collect()),
    ]
    .concat();
    unfused::add_rows(input, outcome, &unfused);
    if unfused_ns > 0 {
        outcome.note(format!(
            "Rows marked as unfused are parts of attention in separate operations ({}); their time counts in the analyses of their own category.",
            format::time_ns(unfused_ns)
        ));
    }
    outcome.add_notes(of_windows(&observed));
    outcome.add_notes(of_less_than_all(input, &observed));
    outcome.add_notes(no_gpu_note(input, "attention"));
}

/// A note about attention that is not rated because the width of its sliding window is unknown.
fn of_windows(observed: &[Observed]) -> Option<String> {
    let is_unrated =
        |one: &&Observed| one.operation.sees_window && one.operation.estimate.is_none();
    let rows = observed.iter().filter(is_unrated);
    unrated(
        rows.map(|one| one.row),
        "use a sliding window, alternating with full-attention layers; the window size is not recorded",
    )
}

/// A note about attention that is not rated because it cannot have read the whole context in its time.
fn of_less_than_all(input: &Input, observed: &[Observed]) -> Option<String> {
    let rows = observed.iter().map(|one| one.row);
    unrated(
        rows.filter(|row| input.evaluation(row.operation).reads_less),
        "read less than the full context: reading all keys and values would exceed the memory bandwidth",
    )
}

/// A note about calls without a known efficiency; `None` if there are none.
fn unrated<'a>(rows: impl Iterator<Item = &'a Row>, why: &str) -> Option<String> {
    let rows: Vec<&Row> = rows.collect();
    let calls = format::counted(n_calls(&rows), "call");
    let time = format::time_ns(time_ns(&rows));
    (!rows.is_empty())
        .then(|| format!("{calls} of attention ({time}) {why}, so their efficiency is unknown."))
}

/// Attention without a FLOP/byte model: the length of a paged cache is a value, not a shape.
fn of_unknown_work(input: &Input, observed: &[Observed], is_backward: bool) -> Vec<Finding> {
    let is_paged = |one: &&Observed| one.kernel == AttentionKernel::Paged;
    let (paged, others): (Vec<&Observed>, Vec<&Observed>) = observed.iter().partition(is_paged);
    let [paged, others] = [paged, others].map(|observed| observed.into_iter().map(|one| one.row));
    let what = match is_backward {
        true => "backward pass of attention",
        false => "attention",
    };
    let gate = gate(input);
    let mut findings = unmodeled(input, others, &gate, what);
    findings.extend(unmodeled_in_cache(input, paged, &gate));
    findings
}

fn facts(input: &Input, outcome: &mut Outcome, observed: &[Observed], writes: &CacheWrites) {
    let count =
        |is: &dyn Fn(&Observed) -> bool| observed.iter().filter(|one| is(one)).count() as u64;
    // Paged attention never writes its scores either.
    let n_fused = count(&|one| one.kernel.is_fused());
    let n_paged = count(&|one| one.kernel == AttentionKernel::Paged);
    let n_modeled = count(&|one| input.evaluation(one.row.operation).work.is_some());
    let n_grouped = count(&|one| one.sizes.is_some_and(|sizes| sizes.group() > 1));
    #[rustfmt::skip]
    outcome.facts([
        ("flash_attention_count", "Fused attention operations", Value::Count(n_fused)),
        ("paged_attention_count", "Paged attention operations", Value::Count(n_paged)),
        ("has_perf_model_count", "Operations with a FLOP/byte model", Value::Count(n_modeled)),
        ("grouped_heads_count", "Operations with GQA or MQA", Value::Count(n_grouped)),
        ("flash_attention_detected", "Fused attention", Value::Flag(n_fused > 0)),
        ("paged_attention_detected", "Paged attention", Value::Flag(n_paged > 0)),
        ("peak_maf", "Matrix rate, 16-bit", matrix_rate(input)),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
    if n_paged > 0 {
        serving::facts(input, outcome, writes);
    }
}

fn bands(input: &Input, observed: &[Observed]) -> Table {
    const MAX_ROWS: usize = 20;
    let sizes = |one: &Observed| match one.sizes {
        Some(sizes) => Value::Text(sizes.text()),
        None => Value::Text(shapes(input, one.operation)),
    };
    let verdict = |one: &Observed| match (one.verdict, one.is_decode) {
        (Some(verdict), _) => Value::Text(verdict.label().to_owned()),
        (None, true) => Value::Text("by the memory bandwidth".to_owned()),
        (None, false) => Value::Empty,
    };
    let usual = |band: Option<Band>| band.map_or(Value::Empty, |band| Value::Text(band.text()));
    #[rustfmt::skip]
    let columns: &[CellColumn<&Observed>] = &[
        ("operation", "Operation", &|one| Value::Quoted(one.name(input))),
        ("sizes", "Batch×heads×length×head dimension", &|one| sizes(one)),
        ("kind", "Type", &|one| Value::Text(one.class())),
        ("calls", "Calls", &|one| Value::Count(one.row.n_calls)),
        ("time", "Time", &|one| Value::Ns(one.row.time_ns)),
        ("efficiency", "% roofline", &|one| Value::percent(one.row.efficiency_percent)),
        ("expected", "Usual", &|one| usual(one.band)),
        ("verdict", "Verdict", &|one| verdict(one)),
    ];
    let title = "Efficiency, and what is usual for the length";
    Table::of("bands", title, observed.iter().take(MAX_ROWS), columns)
}
