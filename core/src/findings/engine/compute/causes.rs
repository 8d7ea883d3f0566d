//! Why operations take longer than their roofline time, as text and as a table.

use crate::assess::waterfall::{Cause, Fact, Step, StepLine, Waterfall, step_lines};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arrange;
use crate::base::value::{CellColumn, Table, Value};
use crate::findings::Input;
use crate::findings::engine::finding::Impact;
use crate::findings::engine::outcome::Row;
use crate::names::HelperKind;
use crate::profile::operations::measured::MeasuredOperations;

/// A step with a smaller share of the gap is not named as the main cause.
const LEAST_SHARE: f64 = 0.2;

/// For an operation that is not slow, a measured time is its cause if it is at least this share of its time.
const MUCH: f64 = 0.1;

/// For an operation that is not slow, a time inferred from sizes is its cause if it is at least this share of its time.
const MUCH_INFERRED: f64 = 0.2;

/// Causes that follow from sizes and tiles.
const INFERRED: [Cause; 4] = [
    Cause::SlowerUnit,
    Cause::TilePadding,
    Cause::WaveQuantization,
    Cause::PaddedDimension,
];

/// Steps with a smaller part of the gap, in percent, are only in the table.
const LEAST_PERCENT: f64 = 0.5;

/// Steps with a larger part of the gap, in percent, are listed before causes without a factor.
const LARGE_PERCENT: f64 = 5.0;

/// Further steps and facts are only in the table and in the sheet.
const NAMED: usize = 5;

/// The cause that explains most of the gap, if it is a significant part of it.
pub fn main_cause(waterfall: &Waterfall) -> Option<Cause> {
    main_cause_without(waterfall, None)
}

/// The same, regardless of the part of the gap that has a cause outside of the operation.
fn main_cause_without(waterfall: &Waterfall, outside: Option<Cause>) -> Option<Cause> {
    let largest = waterfall.largest(outside)?;
    let outside_ns = outside.map_or(0, |cause| waterfall.ns(cause));
    let gap_ns = waterfall.measured_ns - waterfall.roofline_ns - outside_ns;
    (largest.ns as f64 >= gap_ns as f64 * LEAST_SHARE && largest.ns > 0).then_some(largest.cause)
}

/// The [main cause](main_cause) of a row with low efficiency; for other rows, a large measured cause: calls that
/// differ, or helper kernels next to the main one. Else, below a good efficiency, what its sizes and tiles explain, if
/// that is a large part of its time.
pub fn cause_of(input: &Input, row: &Row, waterfall: Option<&Waterfall>) -> Option<Cause> {
    // Where all kernels are slower in a part of the run, that is a finding about the run.
    let is_of_run = row.slowed_ns > 0;
    if let Some(waterfall) = waterfall {
        return main_cause_without(waterfall, is_of_run.then_some(Cause::Spread));
    }
    let is_large = |percent: f64| percent >= input.options.thresholds.gate_percent_of_total;
    // Calls of a kernel without a model may have different sizes.
    let is_known = row.efficiency_percent.is_some() && !row.is_anomaly;
    if !is_known || !row.percent_of_total.is_some_and(is_large) {
        return None;
    }
    let all = MeasuredOperations::of(input.profile);
    let measured = all.get(input.profile, row.operation)?;
    // What quantizing is worth depends on the GEMM that it is for, and a norm is needed.
    let helpers = measured.helpers.iter();
    let helpers = helpers
        .filter(|helper| !matches!(helper.kind, HelperKind::Quantization | HelperKind::Norm));
    let helpers_ns = sum(helpers.map(|helper| helper.ns));
    let spread_ns = match is_of_run {
        true => 0,
        false => measured.spread.above_median_ns,
    };
    let causes = [
        (spread_ns, Cause::Spread),
        (measured.spread.warm_up_ns, Cause::WarmUp),
        (helpers_ns, Cause::Helpers),
    ];
    let (ns, cause) = causes.into_iter().max_by_key(|(ns, _)| *ns)?;
    match ns as f64 >= row.time_ns as f64 * MUCH {
        true => Some(cause),
        false => inferred_cause(input, row),
    }
}

/// What the sizes and tiles of a row without a low efficiency explain of its time, if that is much.
fn inferred_cause(input: &Input, row: &Row) -> Option<Cause> {
    let good = input.options.thresholds.efficiency_good_percent;
    row.efficiency_percent.filter(|percent| *percent < good)?;
    let waterfall = Waterfall::of(input, row.operation)?;
    let steps = waterfall.steps.iter();
    let inferred = steps.filter(|step| INFERRED.contains(&step.cause));
    let largest = inferred.max_by_key(|step| (step.ns, std::cmp::Reverse(step.cause)))?;
    (largest.ns as f64 >= row.time_ns as f64 * MUCH_INFERRED).then_some(largest.cause)
}

/// What removing some causes saves: all of a measured time, or half to all of a time inferred from sizes.
pub fn impact_of_steps(waterfall: &Waterfall, causes: &[Cause]) -> Option<Impact> {
    let each = causes.iter().map(|cause| (cause, waterfall.ns(*cause)));
    let each = each.filter(|(_, ns)| *ns > 0);
    let each = each.map(|(cause, ns)| match cause.is_measured() {
        true => Impact::measured(ns),
        false => Impact::at_most(ns),
    });
    each.reduce(Impact::plus)
}

/// The steps and facts of an operation as the end of a sentence; `None` where nothing is known.
pub fn causes_of(input: &Input, at: usize) -> Option<String> {
    let waterfall = Waterfall::of(input, at)?;
    let gap_ns = waterfall.measured_ns - waterfall.roofline_ns;
    let percent = |ns| percent_of(ns, gap_ns);
    let mut steps: Vec<&Step> = waterfall.steps.iter().collect();
    // Steps that add no time explain none of the gap.
    steps.retain(|step| {
        let is_any = percent(step.ns).is_some_and(|percent| percent >= LEAST_PERCENT);
        is_any && step.cause != Cause::Unexplained
    });
    steps.arrange_by_largest(|step| step.ns);
    let is_large = |step: &&&Step| percent(step.ns).is_some_and(|percent| percent >= LARGE_PERCENT);
    let (large, small) = steps.split_at(steps.iter().take_while(is_large).count());
    // The step of the last wave already gives the number of workgroups.
    let has_waves = steps
        .iter()
        .any(|step| step.cause == Cause::WaveQuantization);
    let is_redundant = |fact: &&Fact| has_waves && matches!(fact, Fact::FewWorkgroups { .. });
    let facts = waterfall
        .facts
        .iter()
        .filter(|fact| !is_redundant(fact))
        .map(Fact::text);
    let facts: Vec<String> = facts.collect();
    let phrases = |steps: &[&Step]| {
        steps
            .iter()
            .map(|step| phrase(step))
            .collect::<Vec<String>>()
    };
    let large = phrases(large);
    let n_facts = facts.len().min(NAMED.saturating_sub(large.len()));
    let causes = large.into_iter().chain(facts).chain(phrases(small));
    let causes: Vec<String> = causes.take(NAMED).collect();
    if causes.is_empty() {
        return None;
    }
    let rest = percent(waterfall.ns(Cause::Unexplained));
    let rest = rest.filter(|rest| {
        let is_explained = !has_waves && has_too_few_workgroups(&waterfall);
        *rest >= 0.5 && !is_explained
    });
    let by_these = match n_facts {
        0 => "",
        _ => " by these",
    };
    let rest = rest.map_or(String::new(), |rest| {
        format!(
            "; {} of the gap to its roofline is unexplained{by_these}",
            format::percent(rest)
        )
    });
    Some(format!("{}{rest}", causes.join("; ")))
}

/// Whether so few compute units have something to do that no kernel with this launch could be much faster.
fn has_too_few_workgroups(waterfall: &Waterfall) -> bool {
    /// A busy unit gets more of the memory bandwidth than its share of it.
    const MORE_THAN_SHARE: f64 = 0.5;
    waterfall
        .few_workgroups()
        .is_some_and(|(workgroups, units)| {
            let share = workgroups as f64 / f64::from(units.max(1));
            let efficiency = waterfall.roofline_ns as f64 / waterfall.measured_ns.max(1) as f64;
            efficiency >= share * MORE_THAN_SHARE
        })
}

/// Whether compute units without a workgroup explain at least half of the gap of a row.
pub fn are_idle_units_half(few_workgroups: Option<(u64, u32)>, row: &Row) -> bool {
    let few = few_workgroups.zip(row.efficiency_percent);
    few.is_some_and(|((workgroups, units), percent)| {
        let idle = 1.0 - workgroups as f64 / f64::from(units);
        idle * 2.0 >= 1.0 - percent / 100.0
    })
}

/// The workgroups of the kernel that takes most of an operation without a model, and the compute units.
fn launched_workgroups(input: &Input, row: &Row) -> Option<(u64, u32)> {
    /// Of the operation's time, helper kernels such as fills included.
    const MOST: f64 = 0.8;
    let all = MeasuredOperations::of(input.profile);
    let measured = all.get(input.profile, row.operation)?;
    let of_main_ns = row.time_ns.saturating_sub(measured.helper_ns()) as f64 * measured.main_share;
    let kernel = (measured.main).filter(|_| of_main_ns >= row.time_ns as f64 * MOST)?;
    kernel.workgroups().zip(input.n_units())
}

/// "1 workgroup on 132 compute units", if three of four units have none; else empty.
pub fn few_workgroups(input: &Input, row: &Row) -> String {
    let few = match Waterfall::of(input, row.operation) {
        Some(all) => all.few_workgroups(),
        None => launched_workgroups(input, row),
    };
    let few = few.filter(|(workgroups, units)| workgroups * 4 <= u64::from(*units));
    few.map_or(String::new(), |(workgroups, units)| {
        let workgroups = format::counted(workgroups, "workgroup");
        format!("{workgroups} on {units} compute units")
    })
}

/// "tile padding ×4.00 (16×16 in tiles of 32×32)"; for a time without a factor "helper kernels 18.0 µs (3 split-K
/// reductions)".
fn phrase(step: &Step) -> String {
    let text = match step.text() {
        text if text.is_empty() => text,
        text => format!(" ({text})"),
    };
    let label = format::in_sentence(step.cause.label());
    match step.has_factor() {
        true => format!("{label} ×{}{text}", format::number(step.factor)),
        false => format!("{label} {}{text}", format::time_ns(step.ns)),
    }
}

/// The steps from the roofline time of an operation to its measured time, by cause.
pub fn waterfall_table(input: &Input, at: usize) -> Option<Table> {
    let waterfall = Waterfall::of(input, at)?;
    let mut lines = step_lines(&waterfall);
    if lines.is_empty() {
        return None;
    }
    let end = |label, key, ns| StepLine {
        label,
        key,
        ns,
        factor: 1.0,
        text: String::new(),
    };
    lines.insert(0, end("Roofline", "roofline", waterfall.roofline_ns));
    lines.push(end("Measured", "measured", waterfall.measured_ns));
    let percent = |ns| Value::percent(percent_of(ns, waterfall.measured_ns));
    #[rustfmt::skip]
    let columns: &[CellColumn<StepLine>] = &[
        ("step", "Step", &|line| Value::Text(line.label.to_owned())),
        ("time", "Time", &|line| Value::Ns(line.ns)),
        ("share", "% of measured", &|line| percent(line.ns)),
        ("factor", "Factor", &|line| match line.factor > 1.0 {
            true => Value::Number(line.factor),
            false => Value::Empty,
        }),
        ("why", "Why", &|line| match line.text.is_empty() {
            true => Value::Empty,
            false => Value::Text(line.text.clone()),
        }),
    ];
    Some(Table::of(
        "gap_waterfall",
        "From roofline to measured time",
        lines,
        columns,
    ))
}
