//! Convolutions: what is lost by changing layouts around them, and which are below the efficiency that
//! is usual for their kind.
//!
//! Kernels of a DNN library read images with channels next to each other (NHWC) or apart (NCHW). A
//! convolution whose tensors lie the other way is surrounded by kernels that change the layout. They
//! are known by their names among the kernels of the convolution itself, and by copies of its input
//! or result right before or after it. Their time is measured, so what the right layout saves is
//! measured, too.

mod layout;
mod rules;
#[cfg(test)]
mod tests;

use super::assessment::Assessment;
use super::compute::memory_bandwidth;
use super::compute::{Gate, is_large, is_wide, outcome};
use super::finding::Impact;
use super::narrower::matrix_rate_16_bit;
use super::outcome::{Outcome, Row, Status, weighted};
use super::rule::{self, RuleDoc};
use super::unmodelled::missing_units;
use super::unmodelled::unmodelled;
use super::{AnalysisKind, Input};
use crate::base::interval::{percent_of, sum};
use crate::base::value::{Table, Value};
use crate::names::convolution::{Pass, is_fallback, is_layout_change};
use crate::profile::convolution::{ConvolutionKind, ConvolutionShape};
use crate::profile::operations::Operation;
use layout::Layouts;

/// What is known of one convolution.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    shape: Option<ConvolutionShape>,
    kind: Option<ConvolutionKind>,
    pass: Pass,
    /// It computes in FP32 or wider.
    is_wide: bool,
    /// Below what is usual for its kind, or below the gate.
    is_low: bool,
    /// Kernels that change a layout: how many ran, and their time.
    layout: (u64, i64),
    /// A kernel whose name says that it is the slow way.
    fallback: Option<&'a str>,
}

impl<'a> Seen<'a> {
    fn new(input: &Input<'a>, row: &'a Row) -> Seen<'a> {
        let operation = input.operation(row.operation);
        let work = input.judged(row.operation).work;
        let strings = &input.profile.trace.strings;
        let kernels = operation.kernels(input.profile);
        let names = || kernels.iter().map(|(name, ..)| strings.get(*name));
        let changes = kernels
            .iter()
            .filter(|(name, ..)| is_layout_change(strings.get(*name)));
        let (counts, times): (Vec<u64>, Vec<i64>) = changes.map(|(_, n, ns)| (*n, *ns)).unzip();
        let shape = ConvolutionShape::of(input.profile, operation);
        let kind = shape.as_ref().map(ConvolutionShape::kind);
        let gate = gate(input, kind).efficiency_percent;
        let low = kind.map_or(gate, |kind| band(kind).0.max(gate));
        Seen {
            row,
            operation,
            shape,
            kind,
            pass: match operation.key.label {
                "CONV_bwd" => Pass::Backward,
                _ => Pass::of(operation.short_name(input.profile), operation.is_kernel()),
            },
            is_wide: work.and_then(|work| work.compute).is_some_and(is_wide),
            is_low: row.efficiency_percent.is_some_and(|percent| percent < low),
            layout: (counts.into_iter().fold(0, u64::saturating_add), sum(times)),
            fallback: names().find(|name| is_fallback(name)),
        }
    }

    fn class(&self) -> String {
        let shape = self.shape.as_ref();
        let shape = shape.map_or_else(|| "unknown shape".to_owned(), ConvolutionShape::text);
        match self.pass {
            Pass::Backward => format!("{shape}, backward"),
            Pass::Forward | Pass::Unknown => shape,
        }
    }

    /// Whether something is known to hold of its shape.
    fn has(&self, is: impl Fn(&ConvolutionShape) -> bool) -> bool {
        self.shape.as_ref().is_some_and(is)
    }

    /// What the kernels that compute can save. Layout changes are worth a finding of their own, so
    /// that their time is left out here.
    fn impact(&self, input: &Input) -> Option<Impact> {
        let time_ns = self.row.time_ns;
        let computing_ns = self.computing_ns();
        let Some(percent) = self.row.efficiency_percent else {
            return input.gpu().map(|_| Impact::heuristic(computing_ns));
        };
        Some(match self.kind.map(band) {
            Some((low, high)) => {
                let roofline_ns = time_ns as f64 * percent / 100.0;
                Impact::of_band(computing_ns, roofline_ns, low, high)
            }
            // What is usual for its kind is not known.
            None => Impact::of_efficiency(computing_ns, percent),
        })
    }

    /// Its time without that of layout changes.
    fn computing_ns(&self) -> i64 {
        self.row.time_ns.saturating_sub(self.layout.1).max(0)
    }
}

/// What can be found.
pub(super) fn docs() -> Vec<RuleDoc> {
    let layouts = layout::RULES.iter().map(rule::Rule::doc);
    layouts
        .chain(rules::RULES.iter().map(rule::Rule::doc))
        .collect()
}

/// What is usual of a kind, in percent of roofline: lower and upper end.
fn band(kind: ConvolutionKind) -> (f64, f64) {
    match kind {
        ConvolutionKind::Depthwise => (30.0, 50.0),
        ConvolutionKind::Pointwise => (40.0, 60.0),
        ConvolutionKind::Standard => (50.0, 70.0),
        ConvolutionKind::Large => (60.0, 80.0),
    }
}

/// Depthwise convolutions are expected to be less efficient.
fn gate(input: &Input, kind: Option<ConvolutionKind>) -> Gate {
    let thresholds = &input.options.thresholds;
    let percent = thresholds.gate_efficiency_percent;
    Gate {
        time_ms: thresholds.conv_gate_ms,
        efficiency_percent: match kind {
            Some(ConvolutionKind::Depthwise) => band(ConvolutionKind::Depthwise).0.min(percent),
            _ => percent,
        },
    }
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows.iter().map(|row| Seen::new(input, row)).collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        row.class = seen.class();
        if let (Some(kind), Some(percent)) = (seen.kind, row.efficiency_percent) {
            let of_band = Assessment::of_band(percent, band(kind), &input.options.thresholds);
            row.assessment = row.assessment.map(|_| of_band);
        }
    }
    let layouts = Layouts::new(input, &seen, outcome.time_ns);
    facts(input, &mut outcome, &seen, &layouts);
    outcome.tables.push(directions(input, &seen));
    outcome.tables.push(kinds(&seen));
    let candidates = seen.iter().filter(|seen| {
        is_large(input, seen.row, &gate(input, seen.kind))
            && !seen.row.is_anomaly
            && missing_units(input, seen.row).is_none()
    });
    let found = rule::find(input, rules::RULES, candidates.collect());
    let is_left = |row: &&Row| {
        let mut taken = found.iter().flat_map(|found| &found.operations);
        !taken.any(|at| *at == row.operation)
    };
    let left: Vec<&Row> = rows.iter().filter(is_left).collect();
    outcome.findings = rule::find(input, layout::RULES, vec![&layouts]);
    outcome.findings.extend(found);
    let unknown = unmodelled(input, &left, &gate(input, None), "convolution");
    outcome.findings.extend(unknown);
    if input.gpu().is_none() {
        outcome.notes.push(
            "No GPU profile is chosen, so % of roofline of convolutions is unknown.".to_owned(),
        );
    }
    Ok(outcome)
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen], layouts: &Layouts) {
    let n_changes = seen.iter().map(|one| one.layout.0).sum();
    let share = percent_of(layouts.inside_ns, outcome.time_ns);
    let time_of = |pass: Pass| {
        let of_pass = seen.iter().filter(|one| one.pass == pass);
        Value::Ns(sum(of_pass.map(|one| one.row.time_ns)))
    };
    let is_last = |one: &&Seen| one.has(|shape| shape.is_channels_last == Some(true));
    let n_last = seen.iter().filter(is_last).count() as u64;
    let rate = matrix_rate_16_bit(input);
    let rate = rate.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops));
    #[rustfmt::skip]
    outcome.facts([
        ("transpose_count", "Layout-changing kernels", Value::Count(n_changes)),
        ("transpose_time", "Layout changes inside", Value::Ns(layouts.inside_ns)),
        ("transpose_overhead", "Share of layout changes", Value::percent(share)),
        ("adjacent_layout_copy_time", "Copies into another layout right before or after", Value::Ns(layouts.adjacent_ns)),
        ("forward_time", "Forward", time_of(Pass::Forward)),
        ("backward_time", "Backward", time_of(Pass::Backward)),
        ("channels_last_count", "Operations on channels-last inputs", Value::Count(n_last)),
        ("peak_maf", "Matrix rate, 16-bit", rate),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
}

/// Calls, time and efficiency of some of them together.
fn figures<'a>(seen: impl Iterator<Item = &'a Seen<'a>>) -> Option<(Value, i64, Option<f64>)> {
    let rows: Vec<&Row> = seen.map(|one| one.row).collect();
    let known = rows.iter().filter(|row| !row.is_anomaly);
    let known = known.filter_map(|row| Some((row.efficiency_percent?, row.time_ns)));
    let n_calls = rows.iter().map(|row| row.n_calls).sum();
    let time_ns = sum(rows.iter().map(|row| row.time_ns));
    (!rows.is_empty()).then(|| (Value::Count(n_calls), time_ns, weighted(known)))
}

/// Forward and backward.
fn directions(input: &Input, seen: &[Seen]) -> Table {
    let rows = Pass::ALL.into_iter().filter_map(|pass| {
        let of_pass = || seen.iter().filter(|one| one.pass == pass);
        let (calls, time_ns, efficiency) = figures(of_pass())?;
        let share = percent_of(time_ns, input.computation_ns().unwrap_or(0));
        Some(vec![
            Value::Text(pass.label().to_owned()),
            calls,
            Value::Ns(time_ns),
            Value::percent(share),
            Value::percent(efficiency),
            Value::Ns(sum(of_pass().map(|one| one.layout.1))),
        ])
    });
    let table = Table::new(
        "directions",
        "Forward and backward",
        &[
            ("direction", "Pass"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("percent_of_compute", "% of compute"),
            ("efficiency", "% roofline"),
            ("layout", "Layout changes"),
        ],
    );
    table.with_rows(rows)
}

/// Kinds with what is usual for them.
fn kinds(seen: &[Seen]) -> Table {
    let rows = ConvolutionKind::ALL.into_iter().filter_map(|kind| {
        let of_kind = seen.iter().filter(|one| one.kind == Some(kind));
        let (calls, time_ns, efficiency) = figures(of_kind)?;
        let (low, high) = band(kind);
        let verdict = efficiency.map_or(Value::Empty, |percent| {
            let verdict = match percent {
                percent if percent < low => "below",
                percent if percent <= high => "as usual",
                _ => "above",
            };
            Value::Text(verdict.to_owned())
        });
        Some(vec![
            Value::Text(kind.label().to_owned()),
            calls,
            Value::Ns(time_ns),
            Value::percent(efficiency),
            Value::Text(format!("{low:.0}–{high:.0} %")),
            verdict,
        ])
    });
    let table = Table::new(
        "classes",
        "Efficiency, and what is usual for the kind",
        &[
            ("kind", "Kind"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("efficiency", "% roofline"),
            ("expected", "Usual"),
            ("verdict", "Verdict"),
        ],
    );
    table.with_rows(rows)
}
