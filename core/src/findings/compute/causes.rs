//! Why operations take longer than their roofline time, in words and as a table.

use crate::assess::waterfall::{Cause, Fact, StepLine, Waterfall, step_lines};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::value::{CellColumn, Table, Value};
use crate::findings::Input;
use crate::findings::finding::Impact;

/// A step that takes a smaller share of the gap is not what an operation is called by.
const LEAST_SHARE: f64 = 0.2;

/// More steps and facts are in the table and in the sheet.
const NAMED: usize = 5;

/// The cause that explains most of the gap, where it is a good part of it.
pub fn main_cause(waterfall: &Waterfall) -> Option<Cause> {
    let largest = waterfall.largest()?;
    let gap_ns = waterfall.measured_ns - waterfall.roofline_ns;
    (largest.ns as f64 >= gap_ns as f64 * LEAST_SHARE && largest.ns > 0).then_some(largest.cause)
}

/// What removing some causes saves: of what is measured all, of what follows from sizes half to all.
pub fn impact_of_steps(waterfall: &Waterfall, causes: &[Cause]) -> Option<Impact> {
    let each = causes.iter().map(|cause| (cause, waterfall.ns(*cause)));
    let each = each.filter(|(_, ns)| *ns > 0);
    let each = each.map(|(cause, ns)| match cause.is_measured() {
        true => Impact::measured(ns),
        false => Impact::at_most(ns),
    });
    each.reduce(Impact::plus)
}

/// The facts and steps of an operation as the rest of a sentence; `None` where nothing is known.
pub fn causes_of(input: &Input, at: usize) -> Option<String> {
    let waterfall = Waterfall::of(input, at)?;
    let mut steps: Vec<_> = step_lines(&waterfall);
    steps.retain(|step| step.key != Cause::Unexplained.key());
    steps.sort_by_key(|step| std::cmp::Reverse(step.ns));
    let steps = steps.into_iter().map(|step| {
        let says = match step.says.is_empty() {
            true => String::new(),
            false => format!(" ({})", step.says),
        };
        let label = step.label.to_lowercase();
        format!("{label} ×{}{says}", format::number(step.factor))
    });
    // The step of the last wave says how many workgroups there are.
    let has_waves = waterfall.step(Cause::WaveQuantization).is_some();
    let is_told = |fact: &&Fact| has_waves && matches!(fact, Fact::FewWorkgroups { .. });
    let facts = waterfall
        .facts
        .iter()
        .filter(|fact| !is_told(fact))
        .map(Fact::text);
    let causes: Vec<String> = facts.chain(steps).take(NAMED).collect();
    if causes.is_empty() {
        return None;
    }
    let gap_ns = waterfall.measured_ns - waterfall.roofline_ns;
    let rest = percent_of(waterfall.ns(Cause::Unexplained), gap_ns).filter(|rest| *rest >= 0.5);
    let rest = rest.map_or(String::new(), |rest| {
        format!(
            "; {} of the gap to its roofline is unexplained",
            format::percent(rest)
        )
    });
    Some(format!("{}{rest}", causes.join("; ")))
}

/// From the roofline time of an operation to its measured time, cause by cause.
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
        says: String::new(),
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
        ("why", "Why", &|line| match line.says.is_empty() {
            true => Value::Empty,
            false => Value::Text(line.says.clone()),
        }),
    ];
    Some(Table::of(
        "gap_waterfall",
        "From roofline to measured time",
        lines,
        columns,
    ))
}
