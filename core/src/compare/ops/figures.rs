//! Figures of some operations of one trace together.

use super::{KernelUse, OpSide};
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::median_ns;
use crate::base::tally::Tally;
use crate::compare::Side;
use crate::compare::op_side::Helper;
use crate::hardware::{Vendor, detect};
use crate::names::Family;
use crate::names::tile::Generation;
use crate::profile::gpu::shares::Shares;
use crate::profile::launch::GpuId;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::convolution::ConvolutionShape;
use crate::profile::operations::measured::{self, MainKernel, MeasuredOperations};
use crate::trace::{Dims, StringId};

/// `units` is how often they compute something together, if that is not their number of calls.
pub(super) fn op_side(
    side: &Side,
    shares: &Shares,
    positions: Vec<usize>,
    units: Option<u64>,
) -> OpSide {
    let all = side.profile.operations();
    let with_tuning = || positions.iter().filter_map(|at| all.get(*at));
    let uid = with_tuning().map(Operation::uid).min().unwrap_or(0);
    let n_all: u64 = with_tuning().map(Operation::n_calls).sum();
    let is_work = |at: &&usize| all.get(**at).is_some_and(|one| !one.is_tuning());
    let work: Vec<usize> = positions.iter().filter(is_work).copied().collect();
    let operations = || work.iter().filter_map(|at| all.get(*at));
    let time_ns = sum(operations().map(|operation| operation.kernel_ns));
    let kernels = kernels_of(side, operations());
    let timed = match units {
        None => timed(side, operations()),
        Some(units) => timed_together(side, operations(), units),
    };
    let (stray, call_ns) = match units {
        None => stray(side, operations()),
        Some(_) => (Tally::default(), None),
    };
    let first = || operations().next();
    let is_one = units.is_none() && operations().all(|one| may_have_helpers(one.family));
    let of_kernels = match is_one {
        true => OfKernels::of(side, &work),
        false => OfKernels::default(),
    };
    let named = kernels.iter().take(OpSide::MAX_KERNELS);
    let named_kernel = |&(name, Tally { count, ns }): &(StringId, Tally)| KernelUse {
        name: side.profile.trace.strings.get(name).to_owned(),
        count,
        ns,
    };
    let compute_ns = side.report.timelines.compute_ns();
    let evaluations = work
        .iter()
        .filter_map(|at| side.report.evaluations.get(*at));
    let mut convolutions = operations().filter(|operation| operation.family == Family::Convolution);
    OpSide {
        uid,
        calls: units.unwrap_or(n_all),
        time_ns,
        timed,
        stray,
        call_ns,
        helpers: of_kernels.helpers,
        outdated: of_kernels.outdated,
        exclusive_ns: sum(work
            .iter()
            .filter_map(|at| shares.operations_ns.get(*at).copied())),
        run_ns: sum(evaluations.map(|evaluation| evaluation.run_ns)),
        percent_of_compute: compute_ns.map(|compute_ns| time_ns as f64 / compute_ns as f64 * 100.0),
        n_kernels: kernels.len(),
        n_runs: kernels.iter().map(|(_, tally)| tally.count).sum(),
        is_in_sdpa: first().is_some_and(|first| is_in_sdpa(side, first)),
        is_channels_last: convolutions
            .find_map(|one| ConvolutionShape::has_channels_last(side.profile, one)),
        strides: first().and_then(|first| first.recorded_strides(side.profile)),
        is_regular: first()
            .filter(|first| first.family == Family::Gemm)
            .and_then(|first| has_regular_sizes(side, first)),
        kernels: named.map(named_kernel).collect(),
        operations: positions,
    }
}

/// The kernels of some operations by name, longest first.
fn kernels_of<'a>(
    side: &Side,
    operations: impl Iterator<Item = &'a Operation>,
) -> Vec<(StringId, Tally)> {
    let runs = operations.flat_map(|operation| operation.kernels(side.profile));
    let runs = runs.map(|(name, count, ns)| (name, (count, ns)));
    let mut kernels = grouped(runs, |tally: &mut Tally, (count, ns)| {
        tally.add_many(count, ns)
    });
    kernels.arrange_by_largest(|(_, tally)| tally.ns);
    kernels
}

/// The timed calls of a group of operations that compute something `units` times: none unless all of their times are
/// known.
fn timed_together<'a>(
    side: &Side,
    operations: impl Iterator<Item = &'a Operation> + Clone,
    units: u64,
) -> Tally {
    let n_timed: u64 = operations.clone().map(Operation::n_calls).sum();
    let ns = sum(operations.clone().map(|operation| operation.kernel_ns));
    let is_known = timed(side, operations).count == n_timed;
    let timed = is_known.then_some(Tally { count: units, ns });
    timed.unwrap_or_default()
}

/// Whether the first call of an operation is made by scaled dot product attention.
fn is_in_sdpa(side: &Side, operation: &Operation) -> bool {
    let (trace, tree) = (&side.profile.trace, &side.profile.tree);
    let first = operation.first().into_iter();
    let mut around = first.flat_map(|call| tree.calls_around(call.event));
    around.any(|call| trace.name(call) == "aten::scaled_dot_product_attention")
}

/// Whether operations of a kind have one main kernel.
fn may_have_helpers(family: Family) -> bool {
    use Family::{Attention, Convolution, Gemm, Moe, Normalization};
    matches!(family, Attention | Convolution | Gemm | Moe | Normalization)
}

/// What the kernels of an operation show besides their time.
#[derive(Default)]
struct OfKernels {
    helpers: Vec<Helper>,
    outdated: Option<String>,
}

impl OfKernels {
    /// For equal operations together.
    fn of(side: &Side, positions: &[usize]) -> OfKernels {
        let profile = side.profile;
        let measured = MeasuredOperations::of(profile);
        let measured = |at: &usize| measured.get(profile, *at);
        let text = |name| profile.trace.strings.get(name);
        let helpers = positions
            .iter()
            .filter_map(measured)
            .flat_map(|one| &one.helpers);
        let by_kind = grouped(helpers.map(|one| (one.kind, one)), Vec::push).into_iter();
        let mut helpers: Vec<Helper> = by_kind
            .filter_map(|(kind, all): (_, Vec<&measured::Helper>)| {
                let longest = all.iter().max_by_key(|one| one.ns)?;
                Some(Helper {
                    kind,
                    name: text(longest.name).to_owned(),
                    count: all.iter().map(|one| one.n).sum(),
                    ns: sum(all.iter().map(|one| one.ns)),
                })
            })
            .collect();
        helpers.arrange_by_largest(|helper| helper.ns);
        let main = positions.first().and_then(|at| measured(at)?.main);
        OfKernels {
            helpers,
            outdated: main.and_then(|main| outdated(side, &main)),
        }
    }
}

/// What the name of a kernel shows to be wrong with it on the GPU of the trace. Kernels for a vendor's earlier
/// generations count as outdated on another vendor's GPU, too.
fn outdated(side: &Side, kernel: &MainKernel) -> Option<String> {
    let detected = detect(&side.profile.trace.devices);
    let gpu = detected.or(side.report.options.gpu.as_deref());
    let gpu = gpu.filter(|gpu| gpu.vendor == Some(Vendor::Nvidia));
    let generation = gpu.and_then(|gpu| Generation::of_gpu(gpu.compute?));
    let generation = generation.unwrap_or(Generation::Hopper);
    let built_for = kernel.generation.filter(|own| !own.suits(generation));
    match built_for {
        Some(built_for) => {
            let name = built_for.label().split(' ').next().unwrap_or_default();
            Some(format!("built for {name}, an older generation"))
        }
        None if kernel.is_on_vector_units => Some("one without matrix units".to_owned()),
        None => kernel.is_fallback.then(|| "a fallback".to_owned()),
    }
}

/// The calls whose GPU activity all has a duration.
fn timed<'a>(side: &Side, operations: impl Iterator<Item = &'a Operation>) -> Tally {
    let profile = side.profile;
    let is_known = |id: &GpuId| {
        let work = profile.gpu.get(*id);
        work.is_some_and(|work| profile.trace.events.dur_ns(work.event).is_some())
    };
    let calls = operations.flat_map(|operation| &operation.calls);
    let mut timed = Tally::default();
    for call in calls.filter(|call| call.work.iter().all(is_known)) {
        timed.add(call.kernel_ns);
    }
    timed
}

/// The calls that take far longer than the median of those on the same sizes, with what they take beyond it, and the
/// median and the longest time of those that take the most time.
fn stray<'a>(
    side: &Side,
    operations: impl Iterator<Item = &'a Operation>,
) -> (Tally, Option<(i64, i64)>) {
    let keyed = operations.map(|operation| (operation.dims(side.profile), operation));
    let mut of_sizes: Vec<(&[Dims], Vec<&Operation>)> = grouped(keyed, Vec::push);
    of_sizes.arrange_by_largest(|(_, alike)| sum(alike.iter().map(|one| one.kernel_ns)));
    let mut found = of_sizes
        .into_iter()
        .map(|(_, alike)| stray_of_sizes(&alike));
    let (mut stray, call_ns) = found.next().unwrap_or_default();
    for (own, _) in found {
        stray.add_many(own.count, own.ns);
    }
    (stray, call_ns)
}

/// The same for calls on the same sizes. The first call is left out: it may have to warm up.
fn stray_of_sizes(operations: &[&Operation]) -> (Tally, Option<(i64, i64)>) {
    /// With fewer calls, none is typical.
    const LEAST_CALLS: usize = 8;
    /// In percent of the median.
    const LONG_PERCENT: i64 = 150;
    let calls = operations
        .iter()
        .flat_map(|operation| &operation.calls)
        .map(|call| (call.uid, call.kernel_ns))
        .arranged();
    let times: Vec<i64> = calls.iter().skip(1).map(|(_, ns)| *ns).collect();
    let longest = times.iter().max().copied();
    let mut stray = Tally::default();
    if times.len() < LEAST_CALLS {
        return (stray, None);
    }
    let Some(median) = median_ns(times.clone()) else {
        return (stray, None);
    };
    let is_long = |ns: &&i64| **ns > median.saturating_mul(LONG_PERCENT) / 100;
    for ns in times.iter().filter(is_long) {
        stray.add(ns - median);
    }
    (stray, longest.map(|longest| (median, longest)))
}

/// Whether the matrices of a GEMM are large, and multiples of the tile sizes of kernels; `None` without shapes.
fn has_regular_sizes(side: &Side, product: &Operation) -> Option<bool> {
    /// Fewer rows or columns do not fill a tile.
    const LEAST: i64 = 128;
    const MULTIPLE: i64 = 16;
    let dims = product.dims(side.profile).iter();
    let shapes = dims.filter_map(|dims| match dims {
        Dims::One(shape) => Some(side.profile.trace.args.shape(*shape)),
        Dims::Many(_) => None,
    });
    let mut matrices = shapes.filter(|shape| shape.len() >= 2).peekable();
    matrices.peek()?;
    let mut sizes = matrices.flat_map(|shape| shape.iter().rev().take(2));
    Some(sizes.all(|size| *size >= LEAST && size % MULTIPLE == 0))
}
