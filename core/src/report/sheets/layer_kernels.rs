//! Sheet `kernels_by_layer`: the kernels of GPU graphs by their position in the layers.

use super::{Parts, SheetInput};
use crate::base::format;
use crate::base::map::Map;
use crate::base::stats::Stats;
use crate::names::attention::{AttentionKernel, is_main};
use crate::names::moe::MoeRole;
use crate::names::{Family, family_of_kernel};
use crate::profile::operations::kinds::moe::MoeRoles;
use crate::profile::serving::slots::{Part, Slot, slots};
use crate::report::columns::{Col, cells, columns, described, float, int, known, text};
use crate::report::labels;
use crate::report::sheet::{Cell, Column};

pub(crate) const NAME: &str = "kernels_by_layer";

/// A run that takes at least this many times the median of its slot is an outlier.
const OUTLIER: f64 = 1.5;

/// A row with what its cells need.
struct Row<'a> {
    slot: &'a Slot,
    name: String,
    kernel: &'a str,
    durations: Stats,
    n_outliers: usize,
    slowest: Option<String>,
}

impl Row<'_> {
    /// How many layers have it; `None` outside layers.
    fn n_layers(&self) -> Option<usize> {
        matches!(self.slot.part, Part::Layers(_)).then_some(self.slot.layers.len())
    }
}

fn own_columns<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row<'_>:
        "name", Text, |of| text(&of.name), "The layers, and what the kernel does in them; kernels that do the same are numbered in their order.";
        "graph", Count, |of| int(of.slot.graph + 1), "The GPU graph, by its time: 1 takes the most.";
        "layers", Count, |of| known(of.n_layers()), "How many layers of the graph have it; empty outside layers.";
        "Kernel name", Text, |of| text(of.kernel), "The kernel.";
        "Kernel duration (µs)_sum", Us, |of| float(Some(of.durations.sum)), "Sum of its durations in this place, over all layers and replays.";
        "Kernel duration (µs)_count", Count, |of| int(of.durations.n), "How often it ran there.";
        "Kernel duration (µs)_median", Us, |of| float(Some(of.durations.median)), "Median duration.";
        "Kernel duration (µs)_min", Us, |of| float(Some(of.durations.min)), "Shortest duration.";
        "Kernel duration (µs)_max", Us, |of| float(Some(of.durations.max)), "Longest duration.";
        "outliers", Count, |of| int(of.n_outliers), "Runs that took at least 1.5 times the median.";
        "slowest layer", Text, |of| text(of.slowest.as_deref().unwrap_or_default()), "The layer with the longest median, where that is an outlier.";
    ]
}

pub(super) fn columns(_: &Parts) -> Vec<Column> {
    [described(own_columns()), labels::OF_KERNEL.to_vec()].concat()
}

pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let slots = slots(input.profile);
    let roles: Vec<String> = slots.iter().map(|slot| role(input, slot)).collect();
    let numbers = numbers(&slots, &roles);
    let has_many = slots.iter().any(|slot| slot.graph > 0);
    let named = slots.iter().zip(roles).zip(numbers);
    named
        .filter_map(|((slot, role), number)| {
            let graph = has_many.then(|| format!("graph {} \u{b7} ", slot.graph + 1));
            let place = place(slot, &slots).map(|place| format!("{place} \u{b7} "));
            let number = number.map(|number| format!(" {number}"));
            let name = [graph, place, Some(role), number];
            row(input, slot, name.into_iter().flatten().collect())
        })
        .collect()
}

fn row(input: &SheetInput, slot: &Slot, name: String) -> Option<Vec<Cell>> {
    let profile = input.profile;
    let (first, _) = slot.work.first()?;
    let timed = slot.work.iter().filter_map(|(id, layer)| {
        let event = profile.gpu.get(*id)?.event;
        Some((*layer, profile.trace.events.dur_ns(event)?))
    });
    let timed: Vec<(usize, i64)> = timed.collect();
    let durations: Vec<i64> = timed.iter().map(|(_, ns)| *ns).collect();
    let durations_us = Stats::of_ns(&durations)?;
    let is_outlier =
        |us: f64| durations_us.n > 1 && us >= OUTLIER * durations_us.median && us > 0.0;
    let outliers = durations.iter().filter(|ns| is_outlier(**ns as f64 / 1e3));
    let slowest = slowest(&timed).filter(|(_, us)| slot.layers.len() > 1 && is_outlier(*us));
    let row = Row {
        slot,
        name,
        kernel: profile.trace.strings.get(slot.name),
        durations: durations_us,
        n_outliers: outliers.count(),
        slowest: slowest.map(|(layer, us)| format!("{layer}: {us:.1} µs")),
    };
    let mut row = cells(&own_columns(), &row);
    row.extend(input.labels.kernel_cells(*first, profile.gpu.get(*first)?));
    Some(row)
}

/// The layer with the longest median, and that median.
fn slowest(timed: &[(usize, i64)]) -> Option<(usize, f64)> {
    let mut of_layer: Map<usize, Vec<i64>> = Map::default();
    for (layer, ns) in timed {
        of_layer.entry(*layer).or_default().push(*ns);
    }
    let medians = of_layer.into_iter();
    let medians = medians.filter_map(|(layer, all)| Some((layer, Stats::of_ns(&all)?.median)));
    medians.max_by(|one, next| one.1.total_cmp(&next.1).then(next.0.cmp(&one.0)))
}

/// Where a kernel runs; `None` in a graph without recognized layers.
fn place(slot: &Slot, all: &[Slot]) -> Option<String> {
    let is_layer = |of: &Slot| of.graph == slot.graph && matches!(of.part, Part::Layers(_));
    match slot.part {
        Part::Before if !all.iter().any(is_layer) => None,
        Part::Before => Some("before the layers".to_owned()),
        Part::Layers(_) => Some(format!("layer {}", ranges(&slot.layers))),
        Part::After => Some("after the layers".to_owned()),
        Part::OtherStream => Some("other stream".to_owned()),
    }
}

/// "0\u{2013}23", "0, 2, \u{2026} 22", "3, 7".
fn ranges(layers: &[usize]) -> String {
    let (Some(first), Some(last)) = (layers.first(), layers.last()) else {
        return String::new();
    };
    let mut steps = layers.iter().zip(layers.iter().skip(1));
    let step = layers.get(1).map_or(1, |second| second - first);
    let is_even = steps.all(|(one, next)| next - one == step);
    match layers {
        [one] => one.to_string(),
        _ if is_even && step == 1 => format!("{first}\u{2013}{last}"),
        [_, second, _, _, ..] if is_even => format!("{first}, {second}, \u{2026} {last}"),
        _ => {
            let runs = layers.chunk_by(|one, next| one + 1 == *next);
            let runs = runs.map(|run| match run {
                [one] => one.to_string(),
                [one, .., last] => format!("{one}\u{2013}{last}"),
                [] => String::new(),
            });
            format::joined(runs, ", ")
        }
    }
}

/// What a kernel does.
fn role(input: &SheetInput, slot: &Slot) -> String {
    let profile = input.profile;
    let name = profile.trace.strings.get(slot.name);
    let first = slot.work.first();
    let family = first.and_then(|(id, _)| Some(input.labels.of(*id, profile.gpu.get(*id)?).family));
    let family = family.unwrap_or_else(|| family_of_kernel(name));
    match family {
        Family::Attention if is_main(name) => "Attention",
        Family::Attention if AttentionKernel::of_name(name) == Some(AttentionKernel::Cache) => {
            "KV cache"
        }
        Family::Attention => "Attention, other",
        Family::Moe => {
            let role = first.and_then(|(id, _)| MoeRoles::of(profile).get(*id));
            let role = role.unwrap_or_else(|| MoeRole::of(name, ""));
            return format!("MoE {}", role.label());
        }
        family => family.label(),
    }
    .to_owned()
}

/// Numbers kernels that share a role in a layer; a kernel that is alone in its role has no number.
fn numbers(slots: &[Slot], roles: &[String]) -> Vec<Option<usize>> {
    type Layer = (usize, Part, usize);
    let key =
        |slot: &Slot| -> Option<Layer> { Some((slot.graph, slot.part, *slot.layers.first()?)) };
    let mut of_layer: Map<(Layer, &str), usize> = Map::default();
    let mut last: Map<(usize, Part, &str), usize> = Map::default();
    // The maximum number of kernels of a role in any one layer.
    for (slot, role) in slots.iter().zip(roles) {
        for layer in &slot.layers {
            let n = of_layer
                .entry(((slot.graph, slot.part, *layer), role.as_str()))
                .or_default();
            *n += 1;
            let most = last
                .entry((slot.graph, slot.part, role.as_str()))
                .or_default();
            *most = (*most).max(*n);
        }
    }
    let mut seen: Map<(Layer, &str), usize> = Map::default();
    let numbers = slots.iter().zip(roles).map(|(slot, role)| {
        let own = key(slot).and_then(|layer| seen.get(&(layer, role.as_str())).copied());
        let number = own.unwrap_or(0) + 1;
        for layer in &slot.layers {
            let entry = seen.entry(((slot.graph, slot.part, *layer), role.as_str()));
            *entry.or_default() += 1;
        }
        (last.get(&(slot.graph, slot.part, role.as_str())).copied() > Some(1)).then_some(number)
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, ReportOptions};
    use crate::testing::Timetable;

    #[test]
    fn layers_are_ranges() {
        for (layers, expected) in [
            (vec![0, 1, 2, 3], "0\u{2013}3"),
            (vec![0, 2, 4, 6], "0, 2, \u{2026} 6"),
            (vec![5], "5"),
            (vec![1, 2, 5], "1\u{2013}2, 5"),
            (vec![], ""),
        ] {
            assert_eq!(ranges(&layers), expected);
        }
    }

    /// Layers of two GEMMs with the same kernel around attention, replayed twice; the second GEMM of the last layer is
    /// slow.
    #[test]
    fn kernels_of_one_name_are_distinguished_by_their_place() {
        const GEMM: &str = "Cijk_Alik_Bljk_BBS_BH_MT16x16x256";
        let mut trace = Timetable::new().without_flows();
        for replay in 0..2 {
            let start = replay * 1000;
            trace = trace.runtime("hipGraphLaunch", replay, start..start + 5);
            let mut at = start + 10;
            let mut kernels = vec![("embed", 5)];
            for layer in 0..4 {
                let slow = if layer == 3 { 30 } else { 10 };
                kernels.extend([(GEMM, 20), ("kernel_unified_attention_2d", 8), (GEMM, slow)]);
            }
            kernels.push(("head", 5));
            for (name, us) in kernels {
                trace = trace.kernel(replay, name, at..at + us);
                at += us;
            }
        }
        let profile = trace.profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let sheet = report.sheet(&profile, NAME).unwrap();
        let cell = |row: &Vec<Cell>, label| row[sheet.column(label).unwrap()].clone();
        let shown: Vec<String> = sheet
            .rows
            .iter()
            .map(|row| {
                let labels = [
                    "name",
                    "Kernel duration (µs)_count",
                    "Kernel duration (µs)_median",
                    "outliers",
                    "slowest layer",
                ];
                let cells = labels.map(|label| match cell(row, label) {
                    Cell::Text(text) => text,
                    Cell::Int(n) => n.to_string(),
                    Cell::Float(us) => format!("{us}"),
                    _ => String::new(),
                });
                cells.join(" | ")
            })
            .collect();
        assert_eq!(
            shown,
            [
                "before the layers \u{b7} Other | 2 | 5 | 0 | ",
                "layer 0\u{2013}3 \u{b7} GEMM 1 | 8 | 20 | 0 | ",
                "layer 0\u{2013}3 \u{b7} Attention | 8 | 8 | 0 | ",
                "layer 0\u{2013}3 \u{b7} GEMM 2 | 8 | 10 | 2 | 3: 30.0 µs",
                "after the layers \u{b7} Other | 2 | 5 | 0 | ",
            ]
        );
    }
}
