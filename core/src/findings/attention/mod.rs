//! Attention: which kernel computes it, how its efficiency compares with what is usual for its
//! sequence length, what is copied for it, and whether it is one kernel at all.
//!
//! Forward and backward passes are two analyses with one implementation.

mod band;
mod copies;
mod rules;
mod serving;
#[cfg(test)]
mod tests;
mod unfused;

use std::sync::Arc;

use super::assessment::Assessment;
use super::compute::{Gate, is_large, outcome, shapes};
use super::narrower::matrix_rate_16_bit;
use super::order::Order;
use super::outcome::{Outcome, Row, Status};
use super::rule;
use super::unmodelled::{unmodelled, unmodelled_in_cache};
use super::{AnalysisKind, Finding, Input};
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::names::attention::{self, AttentionKernel};
use crate::profile::Profile;
use crate::profile::attention_sizes::AttentionSizes;
use crate::profile::operations::Operation;
use band::{Band, Verdict};
pub(super) use rules::docs;
use serving::CacheWrites;
use unfused::Unfused;

/// Whether an operation is a backward pass: by the reference's label, by its name, or by its kernels.
pub(super) fn is_backward(profile: &Profile, operation: &Operation) -> bool {
    match operation.key.label {
        "SDPA_bwd" => true,
        "SDPA_fwd" => false,
        _ => {
            attention::is_backward(operation.short_name(profile))
                || operation
                    .kernel_names(profile)
                    .first()
                    .is_some_and(|name| attention::is_backward(name))
        }
    }
}

/// What is known of one attention.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    /// What computes it: by the operator, and by its longest kernels where that says nothing.
    kernel: AttentionKernel,
    kernels: Vec<&'a str>,
    sizes: Option<AttentionSizes>,
    /// What is usual for its length; `None` for decoding, which has no such band.
    band: Option<Band>,
    verdict: Option<Verdict>,
    /// Few queries to many keys.
    is_decode: bool,
    is_backward: bool,
}

impl<'a> Seen<'a> {
    fn of(input: &Input<'a>, row: &'a Row, is_backward: bool) -> Seen<'a> {
        let thresholds = &input.options.thresholds;
        let operation = input.operation(row.operation);
        let kernels = operation.kernel_names(input.profile);
        let kernel = [operation.short_name(input.profile)]
            .iter()
            .chain(&kernels)
            .find_map(|name| AttentionKernel::of_name(name))
            .unwrap_or(AttentionKernel::Other);
        let mut sizes = AttentionSizes::of(input.profile, operation);
        if let Some(sizes) = sizes.as_mut().filter(|_| kernel == AttentionKernel::Cache) {
            // One slot for each new token is no list of where sequences start.
            sizes.n_packed = None;
        }
        let is_paged = kernel == AttentionKernel::Paged;
        let is_packed = sizes.is_some_and(|sizes| sizes.n_packed.is_some());
        let is_decode = sizes.is_some_and(|sizes| {
            sizes.queries() <= thresholds.sdpa_decode_queries
                && ((is_paged && is_packed) || sizes.keys() > sizes.queries())
        });
        // Steps of serving engines mix requests; without their number nothing tells how long each is.
        let is_mixed = is_paged && !is_packed;
        let length = sizes.map(|sizes| sizes.length());
        let band = length
            .filter(|_| kernel.has_scores() && !is_decode && !is_mixed)
            .map(|length| Band::of_length(length).of_pass(is_backward, thresholds));
        let efficiency = row.efficiency_percent.filter(|_| !row.is_anomaly);
        let verdict = || Some(Verdict::new(efficiency?, band?, length?, thresholds));
        Seen {
            row,
            operation,
            kernel,
            kernels,
            sizes,
            band,
            verdict: verdict(),
            is_decode,
            is_backward,
        }
    }

    /// Whether it is attention that is long enough for a finding.
    fn is_candidate(&self, input: &Input) -> bool {
        let is_attention = self.kernel.has_scores() && !self.row.is_anomaly;
        is_attention && is_large(input, self.row, &gate(input))
    }

    /// By what is usual for its length; `None` where nothing tells that.
    fn assessment(&self, thresholds: &Thresholds) -> Option<Assessment> {
        let (band, percent) = (self.band?, self.row.efficiency_percent?);
        Some(match self.verdict? {
            Verdict::ShortAndLow => Assessment::Acceptable,
            _ => Assessment::of_band(percent, (band.low, band.high), thresholds),
        })
    }

    fn class(&self) -> String {
        let mut classes = vec![self.kernel.label().to_owned()];
        if let Some(sizes) = self.sizes.filter(|_| self.kernel.has_scores()) {
            if self.is_decode {
                classes.push("decode".to_owned());
            }
            if sizes.is_causal {
                classes.push("causal".to_owned());
            }
            match (sizes.group(), sizes.h_kv) {
                (1, _) => {}
                (_, 1) => classes.push("MQA".to_owned()),
                (group, _) => classes.push(format!("GQA {group}:1")),
            }
            if let Some(head) = sizes.odd_head() {
                classes.push(format!("head dimension {head}"));
            }
        }
        classes.join(", ")
    }
}

fn gate(input: &Input) -> Gate {
    Gate {
        time_ms: input.options.thresholds.sdpa_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let is_backward = kind.key == "sdpa_bwd";
    let mut outcome = outcome(input, kind);
    let has_softmax = unfused::has_softmax(input);
    let order = match has_softmax || outcome.status == Status::Done {
        true => Order::of(input),
        false => Arc::default(),
    };
    let unfused: Vec<Unfused> = match has_softmax {
        true => unfused::find(input, &order, is_backward),
        false => Vec::new(),
    };
    if outcome.status != Status::Done && unfused.is_empty() {
        return Ok(outcome);
    }
    outcome.status = Status::Done;
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .map(|row| Seen::of(input, row, is_backward))
        .collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        let assessment = seen.assessment(&input.options.thresholds);
        row.class = seen.class();
        row.assessment = assessment.or(row.assessment);
    }
    let copies = copies::around(input, &order, &seen);
    let writes = CacheWrites::of(input, &seen);
    let unfused_ns = sum(unfused.iter().map(|one| one.time_ns));
    facts(input, &mut outcome, &seen, &writes);
    let copies_ns = Value::Ns(sum(copies.iter().map(|copy| copy.ns)));
    outcome.fact(
        "contiguous_copies",
        "Copies right before and after",
        copies_ns,
    );
    let label = "Attention in separate operations";
    outcome.fact("unfused_attention", label, Value::Ns(unfused_ns));
    if !seen.is_empty() {
        outcome.tables.push(bands(input, &seen));
    }
    let candidates = seen.iter().filter(|one| one.is_candidate(input)).collect();
    outcome.findings = rule::find(input, rules::RULES, candidates);
    outcome
        .findings
        .extend(of_unknown_work(input, &seen, is_backward));
    let others = [
        rule::find(input, rules::CACHE_WRITES, vec![&writes]),
        rule::find(input, rules::COPIES, copies.iter().collect()),
        rule::find(input, rules::UNFUSED, unfused.iter().collect()),
    ];
    outcome.findings.extend(others.into_iter().flatten());
    unfused::add_rows(input, &mut outcome, &unfused);
    if unfused_ns > 0 {
        outcome.notes.push(format!(
            "Rows marked as unfused are parts of attention in separate operations ({}); their time counts in the analyses of their own category.",
            format::time_ns(unfused_ns)
        ));
    }
    if input.gpu().is_none() {
        let note = "No GPU profile is chosen, so the % of roofline of attention is unknown.";
        outcome.notes.push(note.to_owned());
    }
    Ok(outcome)
}

/// Attention without a FLOP/byte model. What is in a paged cache is a value, and only shapes are
/// recorded.
fn of_unknown_work(input: &Input, seen: &[Seen], is_backward: bool) -> Vec<Finding> {
    let rows = |is_paged: bool| -> Vec<&Row> {
        let wanted = |one: &&Seen| (one.kernel == AttentionKernel::Paged) == is_paged;
        seen.iter().filter(wanted).map(|one| one.row).collect()
    };
    let what = match is_backward {
        true => "backward pass of attention",
        false => "attention",
    };
    let gate = gate(input);
    let mut findings = unmodelled(input, &rows(false), &gate, what);
    findings.extend(unmodelled_in_cache(input, &rows(true), &gate));
    findings
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen], writes: &CacheWrites) {
    let count = |is: &dyn Fn(&Seen) -> bool| seen.iter().filter(|one| is(one)).count() as u64;
    // Attention over pages never writes its scores either.
    let n_fused = count(&|one| one.kernel.is_fused());
    let n_paged = count(&|one| one.kernel == AttentionKernel::Paged);
    let n_modelled = count(&|one| input.judged(one.row.operation).work.is_some());
    let n_grouped = count(&|one| one.sizes.is_some_and(|sizes| sizes.group() > 1));
    let rate = matrix_rate_16_bit(input).map(|(_, figure)| Value::Tflops(figure.tflops));
    let bandwidth = input.gpu().map(|gpu| Value::GbPerS(gpu.mem_bw_gbps));
    for (key, label, value) in [
        (
            "flash_attention_count",
            "Fused attention operations",
            Value::Count(n_fused),
        ),
        (
            "paged_attention_count",
            "Paged attention operations",
            Value::Count(n_paged),
        ),
        (
            "has_perf_model_count",
            "Operations with a FLOP/byte model",
            Value::Count(n_modelled),
        ),
        (
            "grouped_heads_count",
            "Operations with GQA or MQA",
            Value::Count(n_grouped),
        ),
        (
            "flash_attention_detected",
            "Fused attention",
            Value::Flag(n_fused > 0),
        ),
        (
            "paged_attention_detected",
            "Paged attention",
            Value::Flag(n_paged > 0),
        ),
        (
            "peak_maf",
            "Matrix rate, 16-bit",
            rate.unwrap_or(Value::NO_TFLOPS),
        ),
        (
            "peak_hbm_bw",
            "Memory bandwidth",
            bandwidth.unwrap_or(Value::NO_GBPS),
        ),
    ] {
        outcome.fact(key, label, value);
    }
    if n_paged > 0 {
        serving::facts(input, outcome, writes);
    }
}

/// Sizes, efficiencies and what is usual.
fn bands(input: &Input, seen: &[Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 20;
    let name = |one: &Seen| {
        let name = one.operation.short_name(input.profile);
        Value::Quoted(format::middle_ellipsis(name, 60))
    };
    let sizes = |one: &Seen| match one.sizes {
        Some(sizes) => Value::Text(sizes.text()),
        None => Value::Text(shapes(input, one.operation)),
    };
    let verdict = |one: &Seen| match (one.verdict, one.is_decode) {
        (Some(verdict), _) => Value::Text(verdict.label().to_owned()),
        (None, true) => Value::Text("by the memory bandwidth".to_owned()),
        (None, false) => Value::Empty,
    };
    let usual = |one: &Seen| {
        one.band
            .map_or(Value::Empty, |band| Value::Text(band.text()))
    };
    Table::of::<&Seen>(
        "bands",
        "Efficiency, and what is usual for the length",
        seen.iter().take(MAX_ROWS),
        &[
            ("operation", "Operation", &|one| name(one)),
            ("sizes", "Batch×heads×length×head dimension", &|one| {
                sizes(one)
            }),
            ("kind", "Type", &|one| Value::Text(one.class())),
            ("calls", "Calls", &|one| Value::Count(one.row.n_calls)),
            ("time", "Time", &|one| Value::Ns(one.row.time_ns)),
            ("efficiency", "% roofline", &|one| {
                Value::percent(one.row.efficiency_percent)
            }),
            ("expected", "Usual", &|one| usual(one)),
            ("verdict", "Verdict", &|one| verdict(one)),
        ],
    )
}
