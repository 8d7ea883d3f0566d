//! The longest computation: operators, and kernels by name if the operator is unknown.
//!
//! A call that launches is not an operation, and a GPU graph does everything at once: the kernels they run are more
//! informative. Copies and communication are not computation, no matter what launches them.

use super::Report;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::{GpuId, is_graph_launch};
use crate::profile::operations::op_table::OpId;
use crate::trace::{ByName, Category, StringId};

/// An operator or a kernel, with all the computation it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bottleneck {
    pub(crate) name: StringId,
    /// Whether it is a kernel without an operator.
    pub(crate) is_kernel: bool,
    /// Whether it runs while activations are recomputed.
    pub(crate) is_recompute: bool,
    /// Number of calls, or of runs for a kernel.
    pub(crate) n: u64,
    /// Its time in kernels.
    pub(crate) ns: i64,
}

impl Bottleneck {
    fn add(&mut self, ns: i64) {
        self.n += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// All of them, longest first. For a call, the time counts in which any of its kernels runs: concurrent kernels on
/// several streams are counted once, as everywhere.
pub(crate) fn longest(profile: &Profile) -> Vec<Bottleneck> {
    let trace = &profile.trace;
    let mut graphs = ByName::new(is_graph_launch);
    let mut rows: Map<(StringId, bool, bool), Bottleneck> = Map::default();
    // The row and the kernels of each call.
    let mut calls: Map<OpId, (_, Vec<GpuId>)> = Map::default();
    for (id, work) in profile.gpu.iter() {
        if work.class != GpuClass::Computation {
            continue;
        }
        let is_of_graph = work.launched_by.is_some_and(|call| graphs.of(trace, call));
        let op = profile.ops.op_of(id).filter(|_| !is_of_graph);
        let op = op.and_then(|id| Some((id, profile.ops.get(id)?)));
        let op = op.filter(|(_, op)| trace.events.category(op.event) == Category::CpuOp);
        let (name, is_recompute) =
            op.map_or((work.name, false), |(_, op)| (op.name, op.is_recompute));
        let key = (name, op.is_none(), is_recompute);
        let row = rows.entry(key).or_insert(Bottleneck {
            name,
            is_kernel: op.is_none(),
            is_recompute,
            n: 0,
            ns: 0,
        });
        match op {
            Some((op, _)) => {
                let (_, work) = calls.entry(op).or_insert((key, Vec::new()));
                work.push(id);
            }
            None => row.add(work.span.length()),
        }
    }
    for (key, work) in calls.into_values() {
        if let Some(row) = rows.get_mut(&key) {
            row.add(profile.gpu.busy_ns(&work));
        }
    }
    let mut rows: Vec<Bottleneck> = rows.into_values().collect();
    // Stable sort: ties keep order of appearance.
    rows.arrange_by_largest(|row| row.ns);
    rows
}

/// Number of operations in the summary table.
pub(crate) const N_TOP: usize = 5;

/// An operation or a kernel of [`top_operations`].
#[derive(Debug, Clone, PartialEq)]
pub struct TopOperation {
    /// Its name; a kernel's without uninformative parts. Long names are shortened in the middle.
    pub name: String,
    /// Whether it is a kernel without an operator.
    pub is_kernel: bool,
    /// Whether it runs while activations are recomputed.
    pub is_recompute: bool,
    /// Number of calls, or of runs for a kernel.
    pub n: u64,
    /// Its time in kernels, in nanoseconds.
    pub ns: i64,
    /// Share of the kernel time of all computation; `None` if there is none.
    pub percent_of_compute: Option<f64>,
}

/// The operators and kernels with the longest computation; empty without GPU time.
pub fn top_operations(profile: &Profile, report: &Report) -> Vec<TopOperation> {
    let compute_ns = report.timelines.compute_ns();
    let longest = longest(profile).into_iter();
    let named = |one: &Bottleneck| match (profile.trace.strings.get(one.name), one.is_kernel) {
        (name, true) => format::kernel_name(name),
        (name, false) => name.to_owned(),
    };
    let top = longest.take(N_TOP).map(|one| TopOperation {
        name: format::middle_ellipsis(&named(&one), 60),
        is_kernel: one.is_kernel,
        is_recompute: one.is_recompute,
        n: one.n,
        ns: one.ns,
        percent_of_compute: compute_ns.and_then(|all_ns| percent_of(one.ns, all_ns)),
    });
    top.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    fn rows(timetable: Timetable) -> Vec<(String, bool, i64)> {
        let profile = timetable.profile();
        let rows = longest(&profile).into_iter();
        rows.map(|row| {
            let name = profile.trace.strings.get(row.name).to_owned();
            (name, row.is_kernel, row.ns / 1000)
        })
        .collect()
    }

    fn row(name: &str, is_kernel: bool, us: i64) -> (String, bool, i64) {
        (name.to_owned(), is_kernel, us)
    }

    /// A compiled function that replays a graph; the graph also communicates.
    #[test]
    fn a_graph_is_what_it_runs() {
        let replayed = Timetable::new()
            .op("CompiledFunction", 0..20)
            .runtime("cudaGraphLaunch", 1, 5..15)
            .kernel(1, "gemm", 100..140)
            .kernel(1, "softmax", 140..150)
            .kernel(1, "gemm", 150..190)
            .kernel(1, "ncclDevKernel_AllReduce", 190..390);
        assert_eq!(
            rows(replayed),
            [row("gemm", true, 80), row("softmax", true, 10)]
        );
    }

    /// The call outside of any operator launches two kinds of kernels.
    #[test]
    fn a_launching_call_is_what_it_launches() {
        let launched = Timetable::new()
            .work("aten::mm", "gemm", 100..130)
            .work("aten::copy_", "Memcpy DtoH", 130..230)
            .launched("norm", 20..30, 230..280)
            .launched("rotary", 30..40, 280..290);
        assert_eq!(
            rows(launched),
            [
                row("norm", true, 50),
                row("aten::mm", false, 30),
                row("rotary", true, 10),
            ]
        );
    }

    /// A list kernel on four streams: 50 µs each, 125 µs together.
    #[test]
    fn what_runs_at_once_counts_once() {
        let at_once = Timetable::new()
            .op("aten::_foreach_add_", 0..10)
            .launched("list", 1..2, 100..150)
            .launch(2, 3..4)
            .launch(3, 5..6)
            .launch(4, 7..8)
            .op("aten::mm", 10..20)
            .launch(5, 11..12)
            .stream(8)
            .kernel(2, "list", 125..175)
            .stream(9)
            .kernel(3, "list", 150..200)
            .stream(10)
            .kernel(4, "list", 175..225)
            .kernel(5, "gemm", 225..325);
        assert_eq!(
            rows(at_once),
            [
                row("aten::_foreach_add_", false, 125),
                row("aten::mm", false, 100)
            ]
        );
    }
}
