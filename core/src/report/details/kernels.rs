//! The GPU activity of a subject, by name.

use super::{Instance, in_tree, longest};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::sort::Arrange;
use crate::base::value::cell_columns;
use crate::names::{Library, library_of};
use crate::profile::Profile;
use crate::profile::launch::{GpuId, launch_size};
use crate::report::fact_table::CellKind::{Name, Number, Text};
use crate::report::fact_table::{FactRow, FactTable};
use crate::trace::{EventId, StringId};

type LaunchSize = ([u64; 3], [u64; 3]);

/// The runs of a kernel, copy or fill.
#[derive(Default)]
struct KernelUse {
    /// `None` if names do not show it.
    library: Option<Library>,
    count: u64,
    /// Sum of its durations.
    gpu_ns: i64,
    /// The streams it ran on, ascending.
    streams: Vec<i64>,
    /// Grids and blocks it was launched with, and how often, most frequent first; empty if they were not recorded.
    sizes: Vec<(LaunchSize, u64)>,
    /// The longest run and its duration.
    longest: Option<(EventId, i64)>,
}

pub(super) fn table(profile: &Profile, instances: &[Instance]) -> Option<FactTable> {
    let three = |size: [u64; 3]| size.map(|n| n.to_string()).join("×");
    let first = |kernel: &KernelUse| kernel.sizes.first().map(|(size, _)| *size);
    let others = |kernel: &KernelUse| match kernel.sizes.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    longest(
        "Kernels",
        of(profile, instances),
        cell_columns![
            "Kernel", Name, |(name, _)| format::kernel_name(profile.trace.strings.get(*name));
            "Count", Number, |(_, of)| format::count(of.count);
            "GPU time", Number, |(_, of)| format::time_ns(of.gpu_ns);
            "Mean", Number, |(_, of)| format::time_ns(of.gpu_ns / i64::try_from(of.count).unwrap_or(i64::MAX));
            "Library", Text, |(_, of)| of.library.map_or("", Library::label).to_owned();
            "Stream", Number, |(_, of)| format::joined(&of.streams, ", ");
            "Grid", Text, |(_, of)| first(of).map_or(String::new(), |(grid, _)| three(grid) + &others(of));
            "Block", Text, |(_, of)| first(of).map_or(String::new(), |(_, block)| three(block));
        ],
        |(_, of)| FactRow {
            event: of.longest.and_then(|(event, _)| in_tree(profile, event)),
            ..FactRow::default()
        },
    )
}

fn of(profile: &Profile, instances: &[Instance]) -> Vec<(StringId, KernelUse)> {
    let work = instances.iter().flat_map(|instance| &instance.work);
    let work = work.filter_map(|id| Some((*id, profile.gpu.get(*id)?)));
    let named = work.map(|(id, work)| (work.name, (id, work)));
    let mut kernels = grouped(named, |kernel: &mut KernelUse, (id, work)| {
        let ns = work.span.length();
        if kernel.count == 0 {
            kernel.library = library(profile, id);
        }
        kernel.count += 1;
        kernel.gpu_ns = kernel.gpu_ns.saturating_add(ns);
        if kernel.longest.is_none_or(|(_, most_ns)| ns > most_ns) {
            kernel.longest = Some((work.event, ns));
        }
        kernel.streams.extend(work.stream);
        if let Some(size) = launch_size(&profile.trace, work.event) {
            match kernel.sizes.iter_mut().find(|(known, _)| *known == size) {
                Some((_, count)) => *count += 1,
                None => kernel.sizes.push((size, 1)),
            }
        }
    });
    for (_, kernel) in &mut kernels {
        kernel.streams.arrange();
        kernel.streams.dedup();
        // Stable sort: ties keep launch order.
        kernel.sizes.arrange_by_largest(|(_, count)| *count);
    }
    kernels.arrange_by_largest(|(_, kernel)| kernel.gpu_ns);
    kernels
}

/// The library a kernel comes from, or that the operator above it chose.
fn library(profile: &Profile, id: GpuId) -> Option<Library> {
    let strings = &profile.trace.strings;
    let op = profile.ops.op_of(id).and_then(|op| profile.ops.get(op));
    let kernel = strings.get(profile.gpu.get(id)?.name);
    crate::names::library_of_kernel(kernel)
        .or_else(|| library_of(op.map(|op| strings.get(op.name)), Some(kernel)))
}
