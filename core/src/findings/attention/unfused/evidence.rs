//! The time of attention in separate operations, and that of a single kernel.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Fused, Unfused};
use crate::findings::engine::compute::priority_by;
use crate::findings::engine::narrower::are_flash_kernels_experimental;
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::perf::FusedAttention;
use crate::profile::operations::kinds::unfused_attention::{UnfusedPart, is_in_flex, is_in_sdpa};
use crate::profile::operations::origin::Origin;

impl Subject for Unfused {
    type Of<'a> = Unfused;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        let (input, first) = (group.input, group.first());
        let time_ns = group.sum(|one| one.time_ns);
        let impact = group.observed.iter().map(|one| one.impact);
        let modeled = group
            .observed
            .iter()
            .filter_map(|one| Some((one.fused?, *one)));
        let modeled_ns = sum(modeled.clone().map(|(_, one)| one.time_ns));
        let roofline_ns: f64 = modeled.map(|(fused, _)| fused.roofline_ns).sum();
        // How close the operations are to the roofline of a single kernel.
        let efficiency = (modeled_ns > 0).then(|| roofline_ns / modeled_ns as f64 * 100.0);
        let share = input.percent_of_compute(time_ns);
        let operations = by_operation(input, group.observed.iter().copied());
        let calls = first.calls.iter();
        Some(Evidence {
            // Sizes prove what the order of calls only suggests.
            confidence: Some(match first.sizes {
                Some(_) => Confidence::High,
                None => Confidence::Medium,
            }),
            operations: operations.iter().map(|(operation, _)| *operation).collect(),
            events: calls
                .filter_map(|(placed, _)| Some(placed.row(input.profile)?.event))
                .collect(),
            efficiency_percent: efficiency,
            impact: impact.reduce(Impact::plus),
            savings: operations
                .iter()
                .map(|(operation, all)| (*operation, all.saved_ns.round() as i64))
                .collect(),
            ..Evidence::new(priority_by(input, share, efficiency, true), time_ns)
        })
    }

    fn words(group: &Group<Self>) -> Words {
        let (input, first) = (group.input, group.first());
        let softmax = first.softmax.row(input.profile);
        let is_called = softmax.is_some_and(|row| is_in_sdpa(input.profile, row.event));
        let is_flexible = softmax.is_some_and(|row| is_in_flex(input.profile, row.event));
        let advice = match (first.is_backward, is_called) {
            _ if is_flexible => {
                "`flex_attention` runs uncompiled, operation by operation: call `torch.compile(flex_attention)`, which makes one kernel of it that skips the blocks its mask leaves out"
            }
            (true, _) => {
                "fuse the forward pass (`torch.nn.functional.scaled_dot_product_attention`): its backward pass is then one fused kernel, too"
            }
            (false, true) if are_flash_kernels_experimental(input) => {
                "`scaled_dot_product_attention` is called, but takes its unfused path: its fused kernels for this GPU need `TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1` in the environment; check also type, mask, dropout and head dimension against what they accept"
            }
            (false, true) => {
                "`scaled_dot_product_attention` is called, but takes its unfused path: check type, mask, dropout and head dimension against what the fused kernels accept"
            }
            (false, false) => {
                "compute it with `torch.nn.functional.scaled_dot_product_attention`, or another fused attention: the scores then never go to memory"
            }
        };
        let time = time_and_share(group.sum(|one| one.time_ns), input);
        vec![
            either("backward", first.is_backward, " (backward)", ""),
            either(
                "what",
                first.is_backward,
                "The backward pass of attention",
                "Attention",
            ),
            ("advice", advice.to_owned()),
            ("operators", operators(group)),
            (
                "times",
                format::counted(group.observed.len() as u64, "time"),
            ),
            ("time", time),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let (input, first) = (group.input, group.first());
        let sizes = by_sizes(group);
        let path = Origin::of(input.profile, input.operation(first.softmax.operation))
            .path()
            .map(|path| format!("The first is in `{path}`."));
        let shapes = match sizes.first().and_then(|one| one.sizes) {
            Some(sizes) => {
                let FusedAttention { n_q, n_kv, .. } = sizes;
                let [scores, heads] = [sizes.scores().unwrap_or(0), sizes.batch].map(format::count);
                format!("The softmax works on what the GEMM before it writes and the GEMM after it reads: {scores} scores of {n_q}×{n_kv} for each of {heads} heads.")
            }
            None => "Shapes were not recorded: that it is attention follows from the order of the calls alone.".to_owned(),
        };
        let fused: Option<Vec<(i64, i64)>> = sizes.iter().map(OfSizes::fused_ns).collect();
        let saving = match fused {
            Some(fused) => Some(format!(
                "One kernel for the same sizes would take {} to {} at the efficiency that is usual for these lengths; all scores are counted, though a causal mask would halve them.",
                format::time_ns(sum(fused.iter().map(|(fast, _)| *fast))),
                format::time_ns(sum(fused.iter().map(|(_, slow)| *slow)))
            )),
            None if input.gpu().is_none() => Some("Without a GPU profile the saving counts everything except the GEMMs; how long these take inside one kernel is not known.".to_owned()),
            None => None,
        };
        // If sizes are known, they are more specific than experience.
        let is_unknown = sizes.iter().any(|one| one.fused.is_none());
        let usual = "A fused kernel usually makes attention 3 to 10 times faster.";
        let usual = is_unknown.then(|| usual.to_owned());
        [path, Some(shapes), saving, usual]
            .into_iter()
            .flatten()
            .collect()
    }

    fn tables(group: &Group<Self>) -> Vec<Table> {
        vec![parts_table(group), sizes_table(&by_sizes(group))]
    }
}

/// The calls of an operation that are part of attention.
#[derive(Default)]
struct InAttention {
    ns: i64,
    n_calls: u64,
    saved_ns: f64,
    part: Option<UnfusedPart>,
}

/// The operations of some attention, longest first.
fn by_operation<'u>(
    input: &Input,
    unfused: impl Iterator<Item = &'u Unfused>,
) -> Vec<(usize, InAttention)> {
    let calls = unfused.flat_map(|one| {
        let calls = one.calls.iter();
        calls.map(move |(placed, part)| (placed.operation, (one, placed, *part)))
    });
    let mut operations = grouped(calls, |all: &mut InAttention, (one, placed, part)| {
        let ns = placed.kernel_ns(input.profile);
        all.ns = all.ns.saturating_add(ns);
        all.n_calls += 1;
        all.saved_ns += one.impact.mid_ns as f64 * ns as f64 / one.time_ns.max(1) as f64;
        all.part.get_or_insert(part);
    });
    operations.arrange_by_key(|(operation, all)| (Reverse(all.ns), *operation));
    operations
}

/// "`aten::bmm`, `aten::_softmax` and `aten::mul`": the names of the longest operations.
fn operators(group: &Group<Unfused>) -> String {
    /// Further names add little.
    const MAX_NAMES: usize = 5;
    let mut names: Vec<String> = Vec::new();
    for (operation, _) in by_operation(group.input, group.observed.iter().copied()) {
        let operation = group.input.operation(operation);
        let name = format::kernel_name(operation.short_name(group.input.profile));
        let name = format!("`{}`", format::middle_ellipsis(&name, 50));
        if !names.contains(&name) && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    format::listed(&names)
}

/// All attention of equal sizes.
struct OfSizes {
    sizes: Option<FusedAttention>,
    n: u64,
    time_ns: i64,
    /// The total at roofline; `None` if it is unknown for one of them.
    fused: Option<Fused>,
}

impl OfSizes {
    /// The time of fused calls: at the upper and at the lower end of the band.
    fn fused_ns(&self) -> Option<(i64, i64)> {
        let Fused { roofline_ns, band } = self.fused?;
        let at = |percent: f64| {
            (roofline_ns / percent * 100.0)
                .min(self.time_ns as f64)
                .round() as i64
        };
        Some((at(band.1), at(band.0)))
    }
}

/// Grouped by sizes, largest time first.
fn by_sizes(group: &Group<Unfused>) -> Vec<OfSizes> {
    let both = |all: Option<Fused>, one: Option<Fused>| {
        let (all, one) = all.zip(one)?;
        let roofline_ns = all.roofline_ns + one.roofline_ns;
        Some(Fused { roofline_ns, ..all })
    };
    let sized = group.observed.iter().map(|one| (one.sizes, *one));
    let of_sizes = |(sizes, all): (_, Vec<&Unfused>)| OfSizes {
        sizes,
        n: all.len() as u64,
        time_ns: sum(all.iter().map(|one| one.time_ns)),
        fused: all.iter().map(|one| one.fused).reduce(both).flatten(),
    };
    let sized = grouped(sized, Vec::push).into_iter();
    sized.map(of_sizes).arranged_by_largest(|one| one.time_ns)
}

fn parts_table(group: &Group<Unfused>) -> Table {
    let mut parts: BTreeMap<UnfusedPart, (u64, i64)> = BTreeMap::new();
    for (placed, part) in group.observed.iter().flat_map(|one| &one.calls) {
        let (n, ns) = parts.entry(*part).or_default();
        *n += 1;
        *ns = ns.saturating_add(placed.kernel_ns(group.input.profile));
    }
    #[rustfmt::skip]
    let columns: &[CellColumn<(UnfusedPart, (u64, i64))>] = &[
        ("part", "Part", &|(part, _)| Value::Text(part.label().to_owned())),
        ("calls", "Calls", &|(_, (n, _))| Value::Count(*n)),
        ("time", "Time", &|(_, (_, ns))| Value::Ns(*ns)),
    ];
    Table::of("parts", "Parts", parts, columns)
}

/// A table of sizes, and the time of fused calls.
fn sizes_table(all: &[OfSizes]) -> Table {
    let size = |one: &OfSizes, of: fn(FusedAttention) -> u64| {
        one.sizes
            .map_or(Value::Empty, |sizes| Value::Count(of(sizes)))
    };
    let usual =
        |fused: Option<Fused>| fused.map_or(Value::Empty, |fused| Value::Text(fused.band.text()));
    #[rustfmt::skip]
    let columns: &[CellColumn<&OfSizes>] = &[
        ("heads", "Batch×heads", &|one| size(one, |sizes| sizes.batch)),
        ("n_q", "Queries", &|one| size(one, |sizes| sizes.n_q)),
        ("n_kv", "Keys", &|one| size(one, |sizes| sizes.n_kv)),
        ("d", "head dimension", &|one| size(one, |sizes| sizes.d_qk)),
        ("instances", "Times", &|one| Value::Count(one.n)),
        ("time", "Time", &|one| Value::Ns(one.time_ns)),
        ("usual", "Usual efficiency", &|one| usual(one.fused)),
        ("fused", "Fused, at best", &|one| Value::ns(one.fused_ns().map(|(fast, _)| fast))),
        ("fused_low", "Fused, at worst", &|one| Value::ns(one.fused_ns().map(|(_, slow)| slow))),
    ];
    Table::of("sizes", "What one kernel would take", all, columns)
}

/// Adds the operations that attention consists of, with the time of their calls in it: they count in the analyses of
/// their own category, and not in the `time_ns` of the outcome.
pub(in crate::findings::attention) fn add_rows(
    input: &Input,
    outcome: &mut Outcome,
    unfused: &[Unfused],
) {
    let operations = by_operation(input, unfused.iter());
    // If there is fused attention, shares are relative to its time, otherwise to that of these operations.
    let all_ns = match outcome.time_ns {
        0 => sum(operations.iter().map(|(_, all)| all.ns)),
        fused_ns => fused_ns,
    };
    let share = |ns: i64, of: Option<i64>| percent_of(ns, of?);
    outcome
        .rows
        .extend(operations.into_iter().map(|(operation, all)| {
            let run_ns = run_time::of_operation(input, operation, all.ns);
            let part = all.part.map_or("", UnfusedPart::label);
            Row {
                operation,
                time_ns: all.ns,
                n_calls: all.n_calls,
                percent_of_category: all.ns as f64 / all_ns.max(1) as f64 * 100.0,
                percent_of_compute: share(all.ns, input.timelines.compute_ns()),
                percent_of_total: share(run_ns, input.total_ns()),
                class: format!("unfused: {part}"),
                ..Row::default()
            }
        }));
}
