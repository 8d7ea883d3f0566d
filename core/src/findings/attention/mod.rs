//! Attention: which kernel computes it, how close to what is usual for its length it comes, what is
//! copied for it, and whether it is one kernel at all.
//!
//! Forward and backward passes are two analyses with one implementation.

mod band;
mod copies;
mod findings;
mod kind;
mod serving;
mod sizes;
mod unfused;
mod unfused_finding;

#[cfg(test)]
mod tests;

use super::assessment::Assessment;
use super::compute::{outcome, shapes};
use super::narrower::matrix_rate_16_bit;
use super::order::Order;
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::perf::ComputeSpec;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use band::{Band, Verdict};
use copies::Copies;
use kind::Kind;
use sizes::Sizes;

/// Whether an operation is a backward pass: by the reference's label, by its name, or by its kernels.
pub(super) fn is_backward(profile: &Profile, operation: &Operation) -> bool {
    let strings = &profile.trace.strings;
    let of_kernels = || {
        let kernels = operation.kernels(profile);
        let longest = kernels.first().map(|(name, ..)| strings.get(*name));
        longest.is_some_and(kind::is_backward)
    };
    match operation.key.label {
        "SDPA_bwd" => true,
        "SDPA_fwd" => false,
        _ => kind::is_backward(operation.short_name(profile)) || of_kernels(),
    }
}

/// What is known of one attention.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    kind: Kind,
    sizes: Option<Sizes>,
    spec: Option<ComputeSpec>,
    /// What is usual for its length; `None` for decoding, which has no such band.
    band: Option<Band>,
    verdict: Option<Verdict>,
    /// Few queries to many keys.
    is_decode: bool,
    /// The head dimension that its kernel is made for.
    kernel_head: Option<u64>,
}

impl Seen<'_> {
    /// The head dimension, where it is none of those that most kernels are tuned for.
    fn odd_head(&self) -> Option<u64> {
        let sizes = self.sizes?;
        let is_odd = |d: &u64| !matches!(d, 64 | 128);
        [sizes.d_qk, sizes.d_v].into_iter().find(is_odd)
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
        let mut classes = vec![self.kind.label().to_owned()];
        if let Some(sizes) = self.sizes.filter(|_| self.kind.has_scores()) {
            if self.is_decode {
                classes.push("decode".to_owned());
            }
            if sizes.is_causal {
                classes.push("causal".to_owned());
            }
            match (sizes.group(), sizes.h_kv) {
                (1, _) => {}
                (_, 1) => classes.push("one key head".to_owned()),
                (group, _) => classes.push(format!("{group} heads for each key head")),
            }
            if let Some(head) = self.odd_head() {
                classes.push(format!("head dimension {head}"));
            }
        }
        classes.join(", ")
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let is_backward = kind.key == "sdpa_bwd";
    let mut outcome = outcome(input, kind);
    let has_softmax = unfused::has_softmax(input);
    let order = match has_softmax || outcome.status == Status::Done {
        true => Order::new(input),
        false => Order::default(),
    };
    let instances = match has_softmax {
        true => unfused::find(input, &order, is_backward),
        false => Vec::new(),
    };
    if outcome.status != Status::Done && instances.is_empty() {
        return Ok(outcome);
    }
    outcome.status = Status::Done;
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| look(input, row, is_backward))
        .collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        row.class = seen.class();
        row.assessment = seen
            .assessment(&input.options.thresholds)
            .or(row.assessment);
    }
    let copies = Copies::around(input, &order, &seen);
    facts(input, &mut outcome, &seen);
    outcome.fact(
        "contiguous_copies",
        "Copies right before and after",
        Value::Ns(copies.time_ns),
    );
    let unfused_ns = sum(instances.iter().map(|instance| instance.time_ns(input)));
    outcome.fact(
        "unfused_attention",
        "Attention in separate operations",
        Value::Ns(unfused_ns),
    );
    if !seen.is_empty() {
        outcome.tables.push(bands(input, &seen));
    }
    outcome.findings = findings::findings(input, &seen, is_backward);
    outcome.findings.extend(serving::cache_writes(input, &seen));
    outcome.findings.extend(copies.finding(input));
    outcome
        .findings
        .extend(unfused_finding::finding(input, &instances, is_backward));
    unfused_finding::add_rows(input, &mut outcome, &instances);
    if unfused_ns > 0 {
        outcome.notes.push(format!(
            "Rows marked as unfused are parts of attention in separate operations, {} in all; their time counts in the analyses of their own kind.",
            format::time_ns(unfused_ns)
        ));
    }
    if input.gpu().is_none() {
        outcome.notes.push(
            "No GPU profile is chosen, so how far attention is from the roof is not known."
                .to_owned(),
        );
    }
    Ok(outcome)
}

fn look<'a>(input: &Input<'a>, row: &'a Row, is_backward: bool) -> Option<Seen<'a>> {
    let thresholds = &input.options.thresholds;
    let operation = input.profile.operations().get(row.operation)?;
    let judged = input.judged.get(row.operation)?;
    let kind = Kind::of(input, operation);
    // One slot for each new token is no list of where sequences begin.
    let sizes = Sizes::of(input, operation).map(|sizes| match kind {
        Kind::Cache => Sizes {
            n_packed: None,
            ..sizes
        },
        _ => sizes,
    });
    let length = sizes.map(|sizes| sizes.length());
    let is_decode = sizes.is_some_and(|sizes| {
        let is_cached = kind == Kind::Paged && sizes.n_packed.is_some();
        sizes.queries() <= thresholds.sdpa_decode_queries
            && (is_cached || sizes.keys() > sizes.queries())
    });
    // Steps of serving engines mix requests; without their number nothing tells how long each is.
    let is_mixed = kind == Kind::Paged && sizes.is_some_and(|sizes| sizes.n_packed.is_none());
    let band = length
        .filter(|_| kind.has_scores() && !is_decode && !is_mixed)
        .map(Band::of_length)
        .map(|band| match is_backward {
            true => band.scaled(thresholds.sdpa_backward_percent),
            false => band,
        });
    let efficiency = row.efficiency_percent.filter(|_| !row.is_anomaly);
    let verdict = || Some(Verdict::new(efficiency?, band?, length?, thresholds));
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile);
    let mut names = kernels.iter().map(|(name, ..)| strings.get(*name));
    Some(Seen {
        row,
        operation,
        kind,
        sizes,
        spec: judged.work.and_then(|work| work.compute),
        band,
        verdict: verdict(),
        is_decode,
        kernel_head: names.find_map(kind::head_dimension),
    })
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let count = |is_it: &dyn Fn(&Seen) -> bool| seen.iter().filter(|one| is_it(one)).count() as u64;
    // Attention over pages never writes its scores either.
    let n_flash = count(&|one| {
        matches!(
            one.kind,
            Kind::Flash | Kind::MemoryEfficient | Kind::Library | Kind::Flex | Kind::Paged
        )
    });
    let n_paged = count(&|one| one.kind == Kind::Paged);
    let n_modelled = count(&|one| {
        let judged = input.judged.get(one.row.operation);
        judged.is_some_and(|judged| judged.work.is_some())
    });
    let n_grouped = count(&|one| one.sizes.is_some_and(|sizes| sizes.group() > 1));
    let mut fact = |key, label, value| outcome.fact(key, label, value);
    fact(
        "flash_attention_count",
        "Fused attention operations",
        Value::Count(n_flash),
    );
    fact(
        "paged_attention_count",
        "Paged attention operations",
        Value::Count(n_paged),
    );
    fact(
        "has_perf_model_count",
        "Operations of known work",
        Value::Count(n_modelled),
    );
    fact(
        "grouped_heads_count",
        "Operations with fewer key heads than query heads",
        Value::Count(n_grouped),
    );
    fact(
        "flash_attention_detected",
        "Fused attention",
        Value::Flag(n_flash > 0),
    );
    fact(
        "paged_attention_detected",
        "Paged attention",
        Value::Flag(n_paged > 0),
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
    if n_paged > 0 {
        serving::facts(input, outcome, seen);
    }
}

/// Sizes, efficiencies and what is usual.
fn bands(input: &Input, seen: &[Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 20;
    let mut table = Table::new(
        "bands",
        "Efficiency, and what is usual for the length",
        &[
            ("operation", "Operation"),
            ("sizes", "Batch×heads×length×width"),
            ("kind", "Kind"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("efficiency", "Of the roof"),
            ("expected", "Usual"),
            ("verdict", "Verdict"),
        ],
    );
    let text = |text: String| Value::Text(text);
    table.rows = seen
        .iter()
        .take(MAX_ROWS)
        .map(|one| {
            let name = format::middle_ellipsis(one.operation.short_name(input.profile), 60);
            let sizes = one.sizes.map(|sizes| sizes.text());
            let verdict = match (one.verdict, one.is_decode) {
                (Some(verdict), _) => text(verdict.label().to_owned()),
                (None, true) => text("by the memory bandwidth".to_owned()),
                (None, false) => Value::Empty,
            };
            vec![
                Value::Quoted(name),
                text(sizes.unwrap_or_else(|| shapes(input, one.operation))),
                text(one.class()),
                Value::Count(one.row.n_calls),
                Value::Ns(one.row.time_ns),
                Value::percent(one.row.efficiency_percent),
                one.band.map_or(Value::Empty, |band| text(band.text())),
                verdict,
            ]
        })
        .collect();
    table
}
