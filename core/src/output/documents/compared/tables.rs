//! The overall tables: the difference in parts, kinds of work, matched and unmatched operations, and rows matched by
//! name.

use super::summary::part_name;
use crate::base::format;
use crate::compare::collectives::CollectiveKey;
use crate::compare::comparison::Comparison;
use crate::compare::gap::Waste;
use crate::compare::matched_rows::{Named, Timed};
use crate::compare::ops::{MatchedOp, UnmatchedOp};
use crate::compare::pair::{Pair, Which};
use crate::compare::steps::StepPair;
use crate::compare::words;
use crate::names::Family;
use crate::output::documents::parts::more;
use crate::output::documents::{Part, part};
use crate::output::markup::{DocTable, Line, code, dash, line, text};

/// Number of parts of the difference that are shown individually.
pub(super) const N_STEPS: usize = 12;

pub(super) const MAX_ROWS: usize = 12;

/// Maximum length of an operator's name.
const NAME_CHARS: usize = 60;

pub(super) const PLACE: &str = "in the files of the comparison";

pub(super) fn times(ratio: Option<f64>) -> Line {
    text(words::maybe_times(ratio))
}

/// From the time of the reference to that of the target.
pub(super) fn waterfall(comparison: &Comparison) -> Option<Part> {
    let parts = &comparison.parts;
    if comparison.is_same() {
        return Some(part("Difference", |document| {
            document.text("No difference in any part of the time, any operation or any kernel.");
        }));
    }
    if parts.total == Pair::default() || !comparison.has_gpu_times() {
        return None;
    }
    let steps = parts.waterfall(N_STEPS).into_iter();
    let steps = steps.map(|step| (part_name(comparison, &step), step.times));
    let all = steps.chain([("All parts".to_owned(), parts.total)]);
    Some(part("Where the difference comes from", |document| {
        document.table(
            DocTable::of(all)
                .line("Part", |(label, _)| line(label))
                .times(|(_, times)| *times),
        );
        let matched = parts.matched_percent().map_or(String::new(), |percent| {
            format!(
                " {} of the difference in computation is in operations of both traces.",
                format::percent(percent)
            )
        });
        let scaled = match parts.more_steps {
            Some(_) => {
                " Times of the reference are for as many steps as the target has, after the first row."
            }
            None => "",
        };
        document.text(&format!(
            "Parts do not overlap and sum up to the time from the first GPU activity to the last. \
             Kernels that overlap share the time evenly; parts that do not differ are left out, but \
             for the sum.{scaled}{matched}"
        ));
    }))
}

/// Steps of serving engines by phase and batch size.
pub(super) fn steps(comparison: &Comparison) -> Option<Part> {
    let rows = &comparison.steps;
    let counts = |n: Pair<usize>| format!("{} / {}", n.reference, n.target);
    let kv = |row: &StepPair| {
        let texts = row.kv_tokens.both().map(|both| both.map(format::count));
        dash(texts, |both| {
            format!("{} / {}", both.reference, both.target)
        })
    };
    (!rows.is_empty()).then(|| {
        part("Steps by phase and batch size", |document| {
            document.table(
                DocTable::of(rows)
                    .text("Steps", |row| row.label())
                    .text(">Steps (reference / target)", |row| counts(row.n_steps))
                    .line(">KV tokens (reference / target)", |row| kv(row))
                    .text(">Reference", |row| row.time(Which::Reference))
                    .text(">Target", |row| row.time(Which::Target))
                    .line(">Ratio", |row| times(row.ratio())),
            );
            document.text(
                "Steps of one batch size are compared by their median time, from the start of one to \
                 the start of the next; steps of sizes that the other trace has not by their time for \
                 each token that they compute.",
            );
        })
    })
}

/// Peaks of memory, and what operators hold at the peak.
pub(super) fn memory(comparison: &Comparison) -> Option<Part> {
    let memory = comparison.memory.as_ref()?;
    let bytes = |bytes: Option<u64>| dash(bytes, format::bytes);
    let rows: Vec<_> = memory.sizes.iter().map(|size| (size, false)).collect();
    let held = memory
        .at_peak
        .iter()
        .take(MAX_ROWS)
        .map(|size| (size, true));
    let rows: Vec<_> = rows.into_iter().chain(held).collect();
    let n_held = memory.at_peak.len();
    Some(part("Memory", |document| {
        document.table(
            DocTable::of(rows)
                .line("Memory", |(size, is_operator)| match is_operator {
                    true => code(&size.label, NAME_CHARS),
                    false => line(&size.label),
                })
                .line(">Reference", |(size, _)| bytes(size.bytes.reference))
                .line(">Target", |(size, _)| bytes(size.bytes.target))
                .line(">Ratio", |(size, _)| times(size.ratio())),
        );
        document.text(
            "Only the device with the highest peak of each trace counts. Operators are listed with what \
             they hold at the peak of their own trace.",
        );
        document.texts(more(n_held, MAX_ROWS, PLACE));
    }))
}

/// What both traces waste in the same way.
pub(super) fn waste(comparison: &Comparison) -> Option<Part> {
    let waste = &comparison.waste;
    (!waste.is_empty()).then(|| {
        part("Inefficiencies in both traces", |document| {
            document.text(
                "Both traces lose this time, so it does not show up as a difference. Savings apply to the target.",
            );
            document.table(
                DocTable::of(waste)
                    .line("Waste", |one| line(&one.title))
                    .time(">Reference", |one| one.times.reference)
                    .time(">Target", |one| one.times.target)
                    .text("Saves on the target", |one| comparison.savings_of(one)),
            );
            let said = |one: &Waste| {
                let Waste { title, sentence, advice, .. } = one;
                line(&format!("{title}: {} {advice}", format::in_sentence(sentence)))
            };
            document.bullets(waste.iter().map(said));
        })
    })
}

/// A section for rows matched by name, if there are any: "–" for a trace without such a row.
fn of_named<K, T: Timed>(
    title: &str,
    head: &str,
    rows: &[Named<K, T>],
    label: impl Fn(&K) -> Line,
) -> Option<Part> {
    let shown = |side: &Option<T>| dash(side.as_ref(), |side| format::time_ns(side.ns()));
    let change = |row: &Named<K, T>| {
        words::signed_percent(row.times().change_percent().filter(|_| row.is_matched()))
    };
    let difference = |row: &Named<K, T>| format::signed_time_ns(row.times().difference());
    let table: DocTable = DocTable::of(rows.iter().take(MAX_ROWS))
        .line(head, |row| label(&row.key))
        .line(">Reference", |row| shown(&row.sides.reference))
        .line(">Target", |row| shown(&row.sides.target))
        .text(">Δ", |row| difference(row))
        .text(">Δ %", |row| change(row))
        .into();
    (!rows.is_empty()).then(|| {
        part(title, |document| {
            document.table(table);
            document.texts(more(rows.len(), MAX_ROWS, PLACE));
        })
    })
}

pub(super) fn categories(comparison: &Comparison) -> Option<Part> {
    let label = |family: &Family| text(family.label());
    let rows = &comparison.categories;
    let mut part = of_named("Categories", "Category", rows, label)?;
    part.1
        .text("Time in which such kernels run; categories that overlap both count.");
    Some(part)
}

pub(super) fn operations(comparison: &Comparison) -> Option<Part> {
    const MAX_OPERATIONS: usize = 30;
    let matched = &comparison.operations.matched;
    (!matched.is_empty()).then(|| {
        part("Operations of both traces", |document| {
            document.table(verdict_table(matched.iter().take(MAX_OPERATIONS)));
            document.texts(more(matched.len(), MAX_OPERATIONS, PLACE));
        })
    })
}

pub(super) fn verdict_table<'a>(ops: impl Iterator<Item = &'a MatchedOp>) -> DocTable {
    // The shapes of the target, and those of the reference if they differ.
    let shapes = |op: &MatchedOp| match &op.reference_shapes {
        Some(reference) => format!("{reference} → {}", op.shapes),
        None => op.shapes.clone(),
    };
    let verdict = |op: &MatchedOp| match op.judgment.is_more_than_twice {
        _ if op.is_same() => "no difference".to_owned(),
        true if !op.has_other_sizes() => format!("{} (more than twice)", op.verdict_label()),
        _ => op.verdict_label().to_owned(),
    };
    let change = |op: &MatchedOp| words::signed_percent(op.times().change_percent());
    DocTable::of(ops)
        .line("Operation", |op| code(&op.name, 60))
        .text("Shapes", |op| shapes(op))
        .time(">Reference", |op| op.times().reference)
        .time(">Target", |op| op.times().target)
        .text(">Δ", |op| change(op))
        .line(">Actual", |op| times(op.judgment.actual))
        .line(">Expected", |op| times(op.judgment.expected))
        .line(">Excess", |op| times(op.judgment.excess))
        .text("Verdict", |op| verdict(op))
        .into()
}

/// Operations that only one trace has, at most this many rows. If there are more and the caller names a place that
/// lists them, a sentence refers to it.
pub(super) fn unmatched(
    comparison: &Comparison,
    max_rows: usize,
    place: Option<&str>,
) -> impl Iterator<Item = Part> {
    Which::ALL.into_iter().filter_map(move |which| {
        let ops = comparison.operations.unmatched.get(which);
        let title = format!("Operations of the {} alone", which.label());
        let kernel = |op: &UnmatchedOp| {
            let name = op.side.kernels.first().map(|kernel| &kernel.name);
            name.map_or(Line::new(), |name| code(&format::kernel_name(name), 60))
        };
        let table: DocTable = DocTable::of(ops.iter().take(max_rows))
            .line("Operation", |op| code(&op.name, 60))
            .text("Shapes", |op| op.shapes.as_str())
            .count(">Calls", |op| op.side.calls)
            .time(">Time", |op| op.side.time_ns)
            .line("Longest kernel", |op| kernel(op))
            .into();
        let more = place.and_then(|place| more(ops.len(), max_rows, place));
        (!ops.is_empty()).then(|| {
            part(title, |document| {
                document.table(table);
                document.texts(more);
            })
        })
    })
}

pub(super) fn named(comparison: &Comparison) -> impl Iterator<Item = Part> {
    let cpu = match comparison.timelines().both() {
        Some(_) => &[],
        None => comparison.cpu_ops.as_slice(),
    };
    let name = |name: &String| code(name, 80);
    let kernel = |name: &String| code(&format::kernel_name(name), 80);
    let collective = |key: &CollectiveKey| text(key.label());
    let (collectives, modules) = (&comparison.collectives, &comparison.modules);
    let kernels = &comparison.kernels;
    let tables = [
        of_named("Collectives", "Collective", collectives, collective),
        of_named("Modules by GPU self time", "Module", modules, name),
        of_named("Kernels by name", "Kernel", kernels, kernel),
        of_named("Operators by CPU self time", "Operator", cpu, name),
    ];
    tables.into_iter().flatten()
}
