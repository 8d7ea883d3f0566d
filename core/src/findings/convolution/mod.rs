//! Convolutions: the cost of layout changes around them, and which are below the usual efficiency for their kind.
//!
//! Kernels of a DNN library expect images as channels-last (NHWC) or channels-first (NCHW). A convolution whose tensors
//! have the other layout is surrounded by kernels that change it. They are recognized by name among the kernels of the
//! convolution itself, and as copies of its input or result directly before or after it. Their time is measured, and so
//! is what the right layout saves.

mod layout;
mod rules;
#[cfg(test)]
mod tests;
mod words;

use super::unmodeled::missing_units;
use crate::assess::waterfall::{Cause, Waterfall};
use crate::findings::engine::assessment::{Assessment, Band};
use crate::findings::engine::compute::cause_of;
use crate::findings::engine::compute::{impact_of_steps, is_wide, saved_by_16_bit};
use crate::findings::prelude::*;
use crate::names::HelperKind;
use crate::names::convolution::{ConvolutionPass, Pass, is_fallback, is_layout_change};
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::convolution::{ConvolutionKind, ConvolutionShape};
use crate::profile::operations::measured::MeasuredOperations;
use crate::trace::Category;
use layout::Layouts;

struct Observed<'a> {
    row: &'a Row,
    operation: &'a Operation,
    shape: Option<ConvolutionShape>,
    kind: Option<ConvolutionKind>,
    pass: Pass,
    is_wide: bool,
    /// Below the usual efficiency for its kind, or below the gate.
    is_low: bool,
    /// Layout-changing kernels: how many ran, and their time.
    layout: (u64, i64),
    /// The time of kernels that copy patches of the image into a matrix (im2col): kernels that read the image itself
    /// need none.
    patches_ns: i64,
    /// The time of all other kernels beside the one that computes: bias, activation, casts, fills.
    others_ns: i64,
    /// Whether most of that time converts to another type.
    converts: bool,
    /// A kernel whose name identifies a slow fallback.
    fallback: Option<&'a str>,
    /// Why its efficiency is low, if it is.
    waterfall: Option<Waterfall>,
    /// What explains most of its gap.
    cause: Option<Cause>,
}

impl<'a> Observed<'a> {
    fn new(input: &Input<'a>, row: &'a Row) -> Observed<'a> {
        let operation = input.operation(row.operation);
        let work = input.evaluation(row.operation).work;
        let strings = &input.profile.trace.strings;
        let kernels = operation.kernels(input.profile).into_iter();
        let kernels = kernels.map(|(name, n, ns)| (strings.get(name), (n, ns)));
        let changes = kernels.clone().filter(|(name, _)| is_layout_change(name));
        let (counts, times): (Vec<u64>, Vec<i64>) = changes.map(|(_, of_it)| of_it).unzip();
        let shape = ConvolutionShape::of(input.profile, operation);
        let kind = shape.as_ref().map(ConvolutionShape::kind);
        let gate = gate(input, kind).efficiency_percent;
        let low = kind.map_or(gate, |kind| band(kind).0.max(gate));
        let layout_ns = sum(times.iter().copied());
        // Layout changes have a finding of their own: what is left may be as fast as usual.
        let computing = |percent: f64| {
            let computing_ns = row.time_ns.saturating_sub(layout_ns).max(1);
            percent * row.time_ns as f64 / computing_ns as f64
        };
        let is_low = row
            .judged_percent()
            .is_some_and(|percent| computing(percent) < low);
        let waterfall = is_low
            .then(|| Waterfall::of(input, row.operation))
            .flatten();
        Observed {
            row,
            operation,
            shape,
            kind,
            pass: match operation.key.label {
                "CONV_bwd" => Pass::Backward,
                _ => Pass::of(operation.short_name(input.profile), operation.is_kernel()),
            },
            is_wide: work.and_then(|work| work.compute).is_some_and(is_wide),
            is_low,
            layout: (counts.into_iter().fold(0, u64::saturating_add), layout_ns),
            others_ns: others_ns(input, row, |_| true),
            converts: {
                let is_cast = |kind| kind == HelperKind::Cast;
                others_ns(input, row, is_cast) > others_ns(input, row, |_| true) / 2
            },
            patches_ns: sum(kernels
                .clone()
                .filter(|(name, _)| {
                    HelperKind::of(Category::Kernel, name) == Some(HelperKind::Patches)
                })
                .map(|(_, (_, ns))| ns)),
            fallback: kernels.map(|(name, _)| name).find(|name| is_fallback(name)),
            cause: cause_of(input, row, waterfall.as_ref()),
            waterfall,
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

    fn is_on_vector_units(&self) -> bool {
        let waterfall = self.waterfall.as_ref();
        waterfall.is_some_and(|waterfall| waterfall.step(Cause::SlowerUnit).is_some())
    }

    /// Whether it is in FP32 or wider, and 16-bit matrix units save more than removing its main cause, and more than the
    /// usual efficiency would. Far below the roofline of its type, something else makes it slow.
    fn saves_most_in_16_bits(&self, input: &Input) -> bool {
        /// Of the lower end of what is usual.
        const FAR: f64 = 0.5;
        let won_ns = saved_by_16_bit(input, self.row).filter(|ns| self.is_wide && *ns > 0);
        let Some(won_ns) = won_ns else {
            return false;
        };
        let usual = self.kind.map(band);
        let percent = self.row.efficiency_percent;
        let is_far = usual
            .zip(percent)
            .is_none_or(|(Band(low, _), percent)| percent < low * FAR);
        let of_cause = || {
            let waterfall = Waterfall::of(input, self.row.operation)?;
            impact_of_steps(&waterfall, &[self.cause?])
        };
        let of_usual = || self.impact(input).filter(|_| self.is_low);
        let mut others = [of_cause(), of_usual()].into_iter().flatten();
        self.is_on_vector_units()
            || (!is_far || !self.is_low) && others.all(|other| other.high_ns < won_ns)
    }

    /// Whether its longest kernel computes the gradient of the filter.
    fn is_of_filter(&self, input: &Input) -> bool {
        let measured = MeasuredOperations::of(input.profile);
        let measured = measured.get(input.profile, self.row.operation);
        let kernel = measured.and_then(|measured| measured.main);
        kernel.is_some_and(|kernel| {
            let name = input.profile.trace.strings.get(kernel.name);
            ConvolutionPass::of_kernel(name) == ConvolutionPass::Filter
        })
    }

    /// Whether most of the time beside its computing kernel is in neither layout changes nor copies of patches.
    fn is_mostly_beside(&self) -> bool {
        self.others_ns > self.layout.1.saturating_add(self.patches_ns)
    }

    fn has(&self, is: impl Fn(&ConvolutionShape) -> bool) -> bool {
        self.shape.as_ref().is_some_and(is)
    }

    /// What a kernel that reads the image itself saves: at least the measured time of copying patches. Whether it also
    /// computes faster is an estimate.
    fn impact_of_fallback(&self, input: &Input) -> Option<Impact> {
        let computing = self.impact(input)?;
        Some(match self.patches_ns {
            0 => computing,
            low_ns => Impact {
                low_ns,
                ..Impact::measured(low_ns).plus(computing)
            },
        })
    }

    /// What the computing kernels can save. Layout changes have a finding of their own, so their time is excluded here.
    fn impact(&self, input: &Input) -> Option<Impact> {
        let time_ns = self.row.time_ns;
        let computing_ns = self.computing_ns();
        let Some(percent) = self.row.efficiency_percent else {
            return input.gpu().map(|_| Impact::heuristic(computing_ns));
        };
        let roofline_ns = time_ns as f64 * percent / 100.0;
        let gap = match self.kind.map(band) {
            Some(band) => Impact::of_band(computing_ns, roofline_ns, band),
            // There is no usual efficiency for its kind.
            None => Impact::of_efficiency(computing_ns, percent),
        };
        let waterfall = self.waterfall.as_ref();
        let most_ns = waterfall.map_or(computing_ns, |all| all.ns(Cause::Unexplained));
        Some(gap.within(most_ns))
    }

    /// Its time without that of layout changes and of copying patches.
    fn computing_ns(&self) -> i64 {
        let others_ns = self.layout.1.saturating_add(self.patches_ns);
        self.row.steady_ns().saturating_sub(others_ns).max(0)
    }
}

/// The time of helper kernels of some kinds, other than layout changes and copies of patches.
fn others_ns(input: &Input, row: &Row, is: impl Fn(HelperKind) -> bool) -> i64 {
    use HelperKind::{LayoutChange, Patches};
    let measured = MeasuredOperations::of(input.profile);
    let helpers = measured.helpers(input.profile, row.operation);
    let others = helpers
        .iter()
        .filter(|helper| !matches!(helper.kind, LayoutChange | Patches) && is(helper.kind));
    sum(others.map(|helper| helper.ns))
}

pub(super) const DOCS: Docs = || [rule::docs(layout::RULES), rule::docs(rules::RULES)].concat();

/// The usual efficiency of a kind.
fn band(kind: ConvolutionKind) -> Band {
    match kind {
        ConvolutionKind::Depthwise => Band(30.0, 50.0),
        ConvolutionKind::Pointwise => Band(40.0, 60.0),
        ConvolutionKind::Standard => Band(50.0, 70.0),
        ConvolutionKind::Large => Band(60.0, 80.0),
    }
}

/// Depthwise convolutions are expected to be less efficient.
fn gate(input: &Input, kind: Option<ConvolutionKind>) -> Gate {
    let mut gate = Gate::of(input, input.options.thresholds.conv_gate_ms);
    if kind == Some(ConvolutionKind::Depthwise) {
        let Band(low, _) = band(ConvolutionKind::Depthwise);
        gate.efficiency_percent = gate.efficiency_percent.min(low);
    }
    gate
}

pub(super) fn run(input: &Input, rows: &[Row], outcome: &mut Outcome) {
    let observed: Vec<Observed> = rows.iter().map(|row| Observed::new(input, row)).collect();
    for (row, observed) in outcome.rows.iter_mut().zip(&observed) {
        row.class = observed.class();
        if let (Some(kind), Some(percent)) = (observed.kind, row.efficiency_percent) {
            let of_band = Assessment::of_band(percent, band(kind), &input.options.thresholds);
            row.assessment = row.assessment.map(|_| of_band);
        }
    }
    let layouts = Layouts::new(input, &observed);
    facts(input, outcome, &observed, &layouts);
    outcome.tables.push(directions(input, &observed));
    outcome.tables.push(kinds(&observed));
    let candidates = observed.iter().filter(|observed| {
        !observed.row.is_anomaly && missing_units(input, observed.row).is_none()
    });
    let found = rule::find_large(
        input,
        rules::RULES,
        candidates.collect(),
        &gate(input, None),
    );
    let is_taken = |row: &&Row| {
        found
            .iter()
            .any(|one| one.operations.contains(&row.operation))
    };
    let left = rows.iter().filter(|row| !is_taken(row));
    let unknown = unmodeled(input, left, &gate(input, None), "convolution");
    let of_layouts = rule::find(input, layout::RULES, vec![&layouts]);
    outcome.findings = [of_layouts, found, unknown].concat();
    outcome.add_notes(no_gpu_note(input, "convolutions"));
}

fn facts(input: &Input, outcome: &mut Outcome, observed: &[Observed], layouts: &Layouts) {
    let n_changes = observed.iter().map(|one| one.layout.0).sum();
    let share = percent_of(layouts.inside_ns, outcome.time_ns);
    let time_of = |pass: Pass| {
        let of_pass = observed.iter().filter(|one| one.pass == pass);
        Value::Ns(sum(of_pass.map(|one| one.row.time_ns)))
    };
    let is_last = |one: &&Observed| one.has(|shape| shape.is_channels_last == Some(true));
    let n_last = observed.iter().filter(is_last).count() as u64;
    #[rustfmt::skip]
    outcome.facts([
        ("transpose_count", "Layout-changing kernels", Value::Count(n_changes)),
        ("transpose_time", "Layout changes inside convolutions", Value::Ns(layouts.inside_ns)),
        ("transpose_overhead", "Share of layout changes", Value::percent(share)),
        ("adjacent_layout_copy_time", "Copies into another layout right before or after", Value::Ns(layouts.adjacent_ns)),
        ("forward_time", "Forward", time_of(Pass::Forward)),
        ("backward_time", "Backward", time_of(Pass::Backward)),
        ("channels_last_count", "Operations on channels-last inputs", Value::Count(n_last)),
        ("peak_maf", "Matrix rate, 16-bit", matrix_rate(input)),
        ("peak_hbm_bw", "Memory bandwidth", memory_bandwidth(input)),
    ]);
}

/// Some convolutions, and the total time of their layout changes.
type Chosen<'s> = (Vec<&'s Row>, i64);

fn chosen<'s>(observed: &'s [Observed], is: impl Fn(&Observed) -> bool) -> Option<Chosen<'s>> {
    let of_it = observed.iter().filter(|one| is(one));
    let (rows, layout_ns): (Vec<&Row>, Vec<i64>) = of_it.map(|one| (one.row, one.layout.1)).unzip();
    (!rows.is_empty()).then(|| (rows, sum(layout_ns)))
}

fn directions(input: &Input, observed: &[Observed]) -> Table {
    let of_pass = |pass: Pass| Some((pass, chosen(observed, |one| one.pass == pass)?));
    let share =
        |rows: &[&Row]| percent_of(time_ns(rows), input.timelines.compute_ns().unwrap_or(0));
    #[rustfmt::skip]
    let columns: &[CellColumn<(Pass, Chosen)>] = &[
        ("direction", "Pass", &|(pass, _)| Value::Text(pass.label().to_owned())),
        ("calls", "Calls", &|(_, (rows, _))| Value::Count(n_calls(rows))),
        ("time", "Time", &|(_, (rows, _))| Value::Ns(time_ns(rows))),
        ("percent_of_compute", "% of compute", &|(_, (rows, _))| Value::percent(share(rows))),
        ("efficiency", "% roofline", &|(_, (rows, _))| Value::percent(efficiency(rows))),
        ("layout", "Layout changes", &|(_, (_, layout_ns))| Value::Ns(*layout_ns)),
    ];
    let passes = Pass::ALL.into_iter().filter_map(of_pass);
    Table::of("directions", "Forward and backward", passes, columns)
}

fn kinds(observed: &[Observed]) -> Table {
    let of_kind = |kind| Some((kind, chosen(observed, |one| one.kind == Some(kind))?.0));
    let verdict = |kind: ConvolutionKind, percent: f64| match band(kind) {
        Band(low, _) if percent < low => "below",
        Band(_, high) if percent <= high => "as usual",
        _ => "above",
    };
    let verdict = |(kind, rows): &(ConvolutionKind, Vec<&Row>)| {
        let verdict = efficiency(rows).map(|percent| verdict(*kind, percent));
        verdict.map_or(Value::Empty, |verdict| Value::Text(verdict.to_owned()))
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<(ConvolutionKind, Vec<&Row>)>] = &[
        ("kind", "Kind", &|(kind, _)| Value::Text(kind.label().to_owned())),
        ("calls", "Calls", &|(_, rows)| Value::Count(n_calls(rows))),
        ("time", "Time", &|(_, rows)| Value::Ns(time_ns(rows))),
        ("efficiency", "% roofline", &|(_, rows)| Value::percent(efficiency(rows))),
        ("expected", "Usual", &|(kind, _)| Value::Text(band(*kind).text())),
        ("verdict", "Verdict", &verdict),
    ];
    let kinds = ConvolutionKind::ALL.into_iter().filter_map(of_kind);
    let title = "Efficiency, and what is usual for the kind";
    Table::of("classes", title, kinds, columns)
}
