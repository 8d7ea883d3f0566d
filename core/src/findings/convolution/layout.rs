//! Kernels and copies around convolutions that only change the layout.

use std::collections::{BTreeMap, BTreeSet};

use super::{Observed, is_layout_change};
use crate::base::interval::percent_or_zero;
use crate::base::sort::Gather;
use crate::findings::prelude::*;
use crate::hardware::Vendor;
use crate::names::Family;
use crate::profile::operations::Operation;
use crate::profile::operations::call_order::{Order, OrderedCall, time_ns};
use crate::profile::operations::kinds::convolution::channels_last;
use crate::profile::operations::tensors::{is_copy, keeps_type};

pub(super) struct Layouts<'a> {
    convolutions: &'a [Observed<'a>],
    /// The time of layout-changing kernels inside convolutions.
    pub(super) inside_ns: i64,
    /// Copies of inputs and results directly before and after convolutions, and their time.
    adjacent: Vec<OrderedCall>,
    pub(super) adjacent_ns: i64,
    /// The time of the convolutions that have any of these: how much others take does not make them less of a burden.
    time_ns: i64,
    /// Whether these are all convolutions.
    are_all: bool,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(input: &Input, convolutions: &'a [Observed<'a>]) -> Layouts<'a> {
        let (around, adjacent): (BTreeSet<usize>, Vec<OrderedCall>) =
            adjacent_copies(input, convolutions).into_iter().unzip();
        let changed = convolutions
            .iter()
            .filter(|one| one.layout.1 > 0 || around.contains(&one.row.operation));
        let rows: Vec<&Row> = changed.map(|one| one.row).collect();
        Layouts {
            convolutions,
            inside_ns: sum(convolutions.iter().map(|one| one.layout.1)),
            adjacent_ns: self::time_ns(input.profile, &adjacent),
            adjacent,
            time_ns: crate::findings::engine::compute::time_ns(&rows),
            are_all: rows.len() == convolutions.len(),
        }
    }

    fn all_ns(&self) -> i64 {
        self.inside_ns.saturating_add(self.adjacent_ns)
    }

    /// Their share of the time of these convolutions and copies, in percent.
    fn percent(&self) -> Option<f64> {
        percent_of(self.all_ns(), self.time_ns.saturating_add(self.adjacent_ns))
    }

    fn changed(&self) -> Vec<&Observed<'a>> {
        let all = self.convolutions.iter();
        all.filter(|one| one.layout.1 > 0).collect()
    }
}

impl Subject for Layouts<'static> {
    type Of<'a> = Layouts<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, layouts) = (group.input, group.first());
        let changed = layouts.changed();
        let apart: Vec<usize> = changed.iter().map(|one| one.row.operation).collect();
        let inside = changed.iter().map(|one| (one.row.operation, one.layout.1));
        let adjacent = layouts.adjacent.iter();
        let adjacent = adjacent.map(|copy| (copy.operation, copy.kernel_ns(input.profile)));
        let all = layouts.convolutions.iter().map(|one| one.row.operation);
        // If there are only copies next to them, all convolutions are listed.
        let operations = match apart.is_empty() {
            true => all.collect(),
            false => apart.clone(),
        };
        Some(Evidence {
            impact: Some(Impact::measured(layouts.all_ns())),
            savings: times_by_operation(inside.chain(adjacent)),
            // The savings of the convolutions themselves exclude their layout changes.
            apart,
            ..Evidence::of_time(input, operations, layouts.all_ns())
        })
    }
}

pub(super) const RULES: &[Rule<Layouts<'static>>] = &[Rule {
    key: "layout_changes",
    when: "kernels and copies that only change the layout take at least 10 % of the time of the convolutions that they belong to",
    applies: |input, observed| {
        let least = input.options.thresholds.conv_layout_percent;
        let is_known = observed.time_ns > 0;
        is_known && observed.percent().is_some_and(|percent| percent >= least)
    },
    title: "Layout changes around convolutions",
    issue: "{all?Convolutions|Some convolutions} spend {time} in kernels that only change the layout of their tensors, {share} of their time.",
    model: "{advice}.",
    kernel: "a kernel for the layout that the tensors have makes the changes unnecessary.",
    notes: &[
        "Kernels that change the layout inside the convolutions take {inside}, {inside_share} of their time.",
        "{copies}",
        "More than {least} is a {level} overhead; 30 to 45 % are typical of a wrong layout.",
        "The saving is the measured time of these kernels; one change of the layout at the entry of the model remains.",
    ],
    words: |group| {
        let observed = group.first();
        let thresholds = &group.input.options.thresholds;
        let share = observed.percent().unwrap_or(0.0);
        let (level, least) = match thresholds.conv_layout_high_percent {
            high if share >= high => ("high", high),
            _ => ("moderate", thresholds.conv_layout_percent),
        };
        let inside = percent_or_zero(observed.inside_ns, observed.time_ns);
        let calls = format::counted(observed.adjacent.len() as u64, "call");
        let adjacent = format::time_ns(observed.adjacent_ns);
        let copies = match observed.adjacent.is_empty() {
            true => String::new(),
            false => format!(
                "Copies of inputs and results right before or after convolutions ({calls}) take another {adjacent}."
            ),
        };
        vec![
            ("time", time_and_share(observed.all_ns(), group.input)),
            ("share", format::percent(share)),
            ("advice", advice(group.input, observed)),
            ("level", level.to_owned()),
            ("least", format::percent(least)),
            ("inside", format::time_ns(observed.inside_ns)),
            ("inside_share", format::percent(inside)),
            ("copies", copies),
            holds("all", observed.are_all),
        ]
    },
    tables: |group| vec![kernels(group.input, group.first())],
    saves: Saves::Measured(|_, observed| observed.all_ns()),
    ..Rule::BASE
}];

fn advice(input: &Input, layouts: &Layouts) -> String {
    let changed = layouts.changed();
    let mut shaped = changed.iter().copied().chain(layouts.convolutions);
    let n_dims = shaped.find_map(|one| Some(one.shape.as_ref()?.n_dims()));
    let shapes = changed.iter().filter_map(|one| one.shape.as_ref());
    let known: BTreeSet<bool> = shapes.filter_map(|shape| shape.is_channels_last).gather();
    match channels_last(n_dims.unwrap_or(4)) {
        None => {
            "convolutions in one dimension have no channels-last format: run them as `Conv2d` with a height of one in `torch.channels_last`, or try kernels that take the layout as it is".to_owned()
        }
        Some(_) if known.into_iter().eq([true]) => {
            "inputs are channels-last already: check that weights and the operations between convolutions keep that layout, and whether these kernels want the other one".to_owned()
        }
        Some(format) => format!(
            "use `model.to(memory_format={format})`, and the same for inputs{}, so that tensors have the layout that the kernels want",
            channels_last_switch(input)
        ),
    }
}

/// What the channels-last format needs besides, in parentheses: AMD's library of versions before 7 gets it only if
/// asked.
pub(super) fn channels_last_switch(input: &Input) -> &'static str {
    match input.vendor() {
        Some(Vendor::Amd) => {
            " (before ROCm 7 with `PYTORCH_MIOPEN_SUGGEST_NHWC=1` in the environment)"
        }
        _ => "",
    }
}

fn kernels(input: &Input, layouts: &Layouts) -> Table {
    const MAX_ROWS: usize = 8;
    let strings = &input.profile.trace.strings;
    let changed = layouts.changed().into_iter();
    let kernels = changed.flat_map(|one| one.operation.kernels(input.profile));
    let kernels = kernels.map(|(name, n, ns)| (strings.get(name), (n, ns)));
    let changing = kernels.filter(|(name, _)| is_layout_change(name));
    let mut kernels = grouped(changing, |(all, sum): &mut (u64, i64), (n, ns)| {
        *all = all.saturating_add(n);
        *sum = sum.saturating_add(ns);
    });
    kernels.arrange_by_key(|&(name, (_, ns))| (std::cmp::Reverse(ns), name));
    #[rustfmt::skip]
    let columns: &[CellColumn<(&str, (u64, i64))>] = &[
        ("kernel", "Kernel", &|(name, _)| Value::Quoted(format::middle_ellipsis(name, 100))),
        ("count", "Runs", &|(_, (n, _))| Value::Count(*n)),
        ("time", "Time", &|(_, (_, ns))| Value::Ns(*ns)),
    ];
    let longest = kernels.into_iter().take(MAX_ROWS);
    let title = "Kernels that change layouts";
    Table::of("layout_kernels", title, longest, columns)
}

/// Copies that keep the type and have as many elements as the input or the result of the convolution directly after or
/// before them, with the convolution.
fn adjacent_copies(input: &Input, observed: &[Observed]) -> Vec<(usize, OrderedCall)> {
    // The number of elements of a copy that changes the order of the dimensions in memory.
    let copied = |operation: &Operation| {
        if operation.family != Family::Elementwise || !is_copy(input.profile, operation) {
            return None;
        }
        let tensors = operation.tensors(input.profile);
        let largest = tensors.iter().max_by_key(|tensor| tensor.elements())?;
        let is_image = (3..=5).contains(&largest.shape.len());
        let mut pairs = tensors.windows(2);
        let changes_layout =
            tensors.len() == 1 || pairs.any(|pair| pair[0].strides != pair[1].strides);
        (is_image && changes_layout && keeps_type(&tensors)).then(|| largest.elements())
    };
    let copied: Vec<Option<u64>> = input.profile.operations().iter().map(copied).collect();
    if copied.iter().all(Option::is_none) {
        return Vec::new();
    }
    let shaped = observed
        .iter()
        .filter_map(|one| Some((one.row.operation, one.shape.as_ref()?)));
    let wanted: BTreeMap<usize, [u64; 2]> = shaped
        .map(|(operation, shape)| (operation, shape.elements()))
        .gather();
    let copies = Order::of(input.profile).copies_around(
        1,
        |operation| Some((operation, *wanted.get(&operation)?)),
        |(_, elements), copy, _| {
            let copied = copied.get(copy.operation).copied().flatten();
            copied.is_some_and(|copied| copied > 0 && elements.contains(&copied))
        },
    );
    let copies = copies.into_iter();
    copies.map(|found| (found.of.0, found.copy)).collect()
}
