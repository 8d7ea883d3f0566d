//! Kernels and copies around convolutions that only change the layout.

use super::{Seen, is_layout_change};
use crate::assess::Input;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arrange;
use crate::base::value::{Table, Value};
use crate::findings::compute::time_and_share;
use crate::findings::finding::Impact;
use crate::findings::order::{Order, Placed, is_copy, keeps_type, tensors, time_ns};
use crate::findings::outcome::Row;
use crate::findings::rule::{Evidence, Group, Rule, Saves, Subject};
use crate::names::Family;
use crate::profile::convolution::channels_last;

/// The layout changes of all convolutions of a trace.
pub(super) struct Layouts<'a> {
    convolutions: &'a [Seen<'a>],
    /// The time of kernels that change layouts inside of convolutions.
    pub(super) inside_ns: i64,
    /// Copies of inputs and results right before and after convolutions, and their time.
    adjacent: Vec<Placed>,
    pub(super) adjacent_ns: i64,
    /// The time of the convolutions.
    time_ns: i64,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(input: &Input, convolutions: &'a [Seen<'a>], time_ns: i64) -> Layouts<'a> {
        let adjacent = adjacent_copies(input, convolutions);
        Layouts {
            convolutions,
            inside_ns: sum(convolutions.iter().map(|one| one.layout.1)),
            adjacent_ns: self::time_ns(input, &adjacent),
            adjacent,
            time_ns,
        }
    }

    fn all_ns(&self) -> i64 {
        self.inside_ns.saturating_add(self.adjacent_ns)
    }

    /// What they are of the time of convolutions and copies, in percent.
    fn percent(&self) -> Option<f64> {
        percent_of(self.all_ns(), self.time_ns.saturating_add(self.adjacent_ns))
    }

    /// Convolutions with such kernels inside.
    fn changed(&self) -> Vec<&Seen<'a>> {
        let all = self.convolutions.iter();
        all.filter(|one| one.layout.1 > 0).collect()
    }
}

impl Subject for Layouts<'static> {
    type Of<'a> = Layouts<'a>;

    fn row<'s>(_: &'s Layouts<'_>) -> Option<&'s Row> {
        None
    }

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, layouts) = (group.input, group.first());
        let changed = layouts.changed();
        let mut savings: Vec<(usize, i64)> = changed
            .iter()
            .map(|one| (one.row.operation, one.layout.1))
            .collect();
        for placed in &layouts.adjacent {
            let ns = placed.kernel_ns(input);
            match savings.iter_mut().find(|(at, _)| *at == placed.operation) {
                Some((_, sum)) => *sum = sum.saturating_add(ns),
                None => savings.push((placed.operation, ns)),
            }
        }
        // Where there are only copies beside them, all convolutions show it.
        let rows: Vec<&Row> = match changed.is_empty() {
            true => layouts.convolutions.iter().map(|one| one.row).collect(),
            false => changed.iter().map(|one| one.row).collect(),
        };
        let operations = rows.iter().map(|row| row.operation).collect();
        Some(Evidence {
            impact: Some(Impact::measured(layouts.all_ns())),
            savings,
            // What convolutions themselves could save is without their layout changes.
            apart: changed.iter().map(|one| one.row.operation).collect(),
            ..Evidence::of_time(input, operations, layouts.all_ns())
        })
    }
}

/// Every rule.
pub(super) const RULES: &[Rule<Layouts<'static>>] = &[Rule {
    key: "layout_changes",
    when: "kernels and copies that only change the layout take at least 10 % of the time of convolutions",
    applies: |input, seen| {
        let least = input.options.thresholds.conv_layout_percent;
        let is_known = seen.time_ns > 0;
        is_known && seen.percent().is_some_and(|percent| percent >= least)
    },
    title: "Layout changes around convolutions",
    issue: "Convolutions spend {time} in kernels that only change the layout of their tensors, {share} of their time.",
    model: "{advice}.",
    kernel: "a kernel for the layout that the tensors have makes the changes unnecessary.",
    notes: &[
        "Kernels that change the layout inside the convolutions take {inside}, {inside_share} of their time.",
        "{copies}",
        "More than {least} is a {level} overhead; 30 to 45 % are typical of a wrong layout.",
        "The saving is the measured time of these kernels; one change of the layout at the entry of the model remains.",
    ],
    words: |group| {
        let seen = group.first();
        let thresholds = &group.input.options.thresholds;
        let share = seen.percent().unwrap_or(0.0);
        let (level, least) = match thresholds.conv_layout_high_percent {
            high if share >= high => ("high", high),
            _ => ("moderate", thresholds.conv_layout_percent),
        };
        let inside = percent_of(seen.inside_ns, seen.time_ns).unwrap_or(0.0);
        let copies = match seen.adjacent.len() as u64 {
            0 => String::new(),
            n => format!(
                "Copies of inputs and results right before or after convolutions ({}) take another {}.",
                format::counted(n, "call"),
                format::time_ns(seen.adjacent_ns)
            ),
        };
        vec![
            ("time", time_and_share(seen.all_ns(), group.input)),
            ("share", format::percent(share)),
            ("advice", advice(seen)),
            ("level", level.to_owned()),
            ("least", format::percent(least)),
            ("inside", format::time_ns(seen.inside_ns)),
            ("inside_share", format::percent(inside)),
            ("copies", copies),
        ]
    },
    tables: |group| vec![kernels(group.input, group.first())],
    saves: Saves::Measured(|_, seen| seen.all_ns()),
    ..Rule::BASE
}];

fn advice(layouts: &Layouts) -> String {
    let changed = layouts.changed();
    let mut shaped = changed.iter().copied().chain(layouts.convolutions);
    let n_dims = shaped.find_map(|one| Some(one.shape.as_ref()?.n_dims()));
    let known = changed
        .iter()
        .filter_map(|one| one.shape.as_ref()?.is_channels_last);
    let known: Vec<bool> = known.collect();
    match channels_last(n_dims.unwrap_or(4)) {
        None => {
            "convolutions in one dimension have no channels-last format: run them as `Conv2d` with a height of one in `torch.channels_last`, or try kernels that take the layout as it is".to_owned()
        }
        Some(_) if !known.is_empty() && known.iter().all(|is_last| *is_last) => {
            "inputs are channels-last already: check that weights and the operations between convolutions keep that layout, and whether these kernels want the other one".to_owned()
        }
        Some(format) => format!(
            "use `model.to(memory_format={format})`, and the same for inputs, so that tensors have the layout that the kernels want"
        ),
    }
}

/// The kernels that change layouts.
fn kernels(input: &Input, layouts: &Layouts) -> Table {
    /// More are in the sheets.
    const MAX_ROWS: usize = 8;
    let strings = &input.profile.trace.strings;
    let mut kernels: Vec<(&str, u64, i64)> = Vec::new();
    for one in layouts.changed() {
        for (name, count, ns) in one.operation.kernels(input.profile) {
            let name = strings.get(name);
            match kernels.iter_mut().find(|(known, ..)| *known == name) {
                _ if !is_layout_change(name) => {}
                Some((_, all, sum)) => {
                    *all = all.saturating_add(count);
                    *sum = sum.saturating_add(ns);
                }
                None => kernels.push((name, count, ns)),
            }
        }
    }
    kernels.arrange_by_key(|&(name, _, ns)| (std::cmp::Reverse(ns), name));
    let rows = kernels.into_iter().take(MAX_ROWS).map(|(name, count, ns)| {
        let name = Value::Quoted(format::middle_ellipsis(name, 100));
        vec![name, Value::Count(count), Value::Ns(ns)]
    });
    let table = Table::new(
        "layout_kernels",
        "Kernels that change layouts",
        &[("kernel", "Kernel"), ("count", "Runs"), ("time", "Time")],
    );
    table.with_rows(rows)
}

/// Copies that keep the type and have as many elements as the input or the result of the
/// convolution right after or before them.
fn adjacent_copies(input: &Input, seen: &[Seen]) -> Vec<Placed> {
    let operations = input.profile.operations();
    let mut wanted: Vec<Option<[u64; 2]>> = vec![None; operations.len()];
    for one in seen {
        if let (Some(shape), Some(slot)) = (&one.shape, wanted.get_mut(one.row.operation)) {
            *slot = Some(shape.elements());
        }
    }
    // A copy that changes the order of the dimensions in memory, and how many elements it has.
    let copied: Vec<Option<u64>> = operations
        .iter()
        .map(|operation| {
            if operation.family != Family::Elementwise || !is_copy(input, operation) {
                return None;
            }
            let tensors = tensors(input, operation);
            let largest = tensors.iter().max_by_key(|tensor| tensor.elements())?;
            let is_image = (3..=5).contains(&largest.shape.len());
            let changes_layout = tensors
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if a.strides != b.strides))
                || tensors.len() == 1;
            (is_image && changes_layout && keeps_type(&tensors)).then(|| largest.elements())
        })
        .collect();
    if copied.iter().all(Option::is_none) {
        return Vec::new();
    }
    let mut calls: Vec<Placed> = Vec::new();
    for lane in Order::of(input).lanes() {
        let mut taken_to = 0;
        for (at, placed) in lane.iter().enumerate() {
            let Some(&Some(elements)) = wanted.get(placed.operation) else {
                continue;
            };
            let is_copy_of = |beside: &&Placed| {
                let copied = copied.get(beside.operation).copied().flatten();
                copied.is_some_and(|copied| copied > 0 && elements.contains(&copied))
            };
            let before = at.checked_sub(1).filter(|before| *before >= taken_to);
            let before = before.and_then(|before| lane.get(before));
            calls.extend(before.filter(is_copy_of));
            let after = lane.get(at + 1).filter(is_copy_of);
            taken_to = at + 1 + usize::from(after.is_some());
            calls.extend(after);
        }
    }
    calls
}
