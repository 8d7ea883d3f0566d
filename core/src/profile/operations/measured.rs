//! What is measured for an operation besides its kernel time: which kernel does the work and what else is launched, how
//! the calls differ, how the kernel divides the work. All of it is independent of the GPU.

use std::sync::{Arc, OnceLock};

use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::base::stats::{median_ns, quantile_ns};
use crate::names::tile::{Generation, Split, Tile, is_fallback, is_on_vector_units};
use crate::names::{Family, HelperKind, family_of_kernel};
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::launch::launch_size;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::profile::operations::kinds::convolution::ConvolutionShape;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::trace::StringId;

/// Kernels shorter than this take about as long as their launch.
const SHORT_NS: i64 = 10_000;

/// A kernel with a smaller part of the time is not counted among those that do the work.
const LEAST_PART: f64 = 0.05;

/// Calls differ if the longest one or the 95th percentile exceeds the median by this factor.
const MAX_OVER_MEDIAN: f64 = 1.3;
const P95_OVER_MEDIAN: f64 = 1.2;

/// Kernels of one kind other than the main kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Helper {
    /// Their purpose.
    pub kind: HelperKind,
    /// The longest of them.
    pub name: StringId,
    /// How many of them run.
    pub n: u64,
    /// Their total time.
    pub ns: i64,
}

/// How call times vary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Median call time.
    pub median_ns: i64,
    /// 95th percentile of the call times.
    pub p95_ns: i64,
    /// The longest call, excluding a warm-up.
    pub max_ns: i64,
    /// Time of the first call above the median, if it is by far the longest: a warm-up.
    pub warm_up_ns: i64,
    /// Total time of the other calls above the median; zero if they hardly differ.
    pub above_median_ns: i64,
}

/// The problem sizes of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sizes {
    Gemm(GemmSizes),
    Convolution(ConvolutionShape),
    Attention(AttentionSizes),
    Other,
}

/// Launch and build of the main kernel, as far as its name shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MainKernel {
    pub(crate) name: StringId,
    pub(crate) tile: Option<Tile>,
    pub(crate) split: Split,
    pub(crate) generation: Option<Generation>,
    /// It runs on vector units.
    pub(crate) is_on_vector_units: bool,
    /// A generic fallback, used where no tuned kernel fits.
    pub(crate) is_fallback: bool,
    /// Grid and block of its longest launch.
    pub(crate) launch: Option<([u64; 3], [u64; 3])>,
    /// The grid counts threads.
    pub(crate) counts_threads: bool,
}

/// What is measured for an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) main: Option<MainKernel>,
    /// Share of the non-helper time in kernels of the main kernel's name.
    pub(crate) main_share: f64,
    /// Number of distinct kernel names with a good part of the time, excluding helpers.
    pub(crate) n_main_kinds: usize,
    /// Longest first.
    pub(crate) helpers: Vec<Helper>,
    pub(crate) spread: Spread,
    /// Number of main kernels that take less than 10 µs.
    pub(crate) n_short: u64,
    pub(crate) sizes: Sizes,
}

/// The measurements of all operations, by position.
pub(crate) struct MeasuredOperations(Vec<OnceLock<Measured>>);

impl MeasuredOperations {
    pub(crate) fn of(profile: &Profile) -> Arc<MeasuredOperations> {
        profile.once(|| MeasuredOperations(vec![OnceLock::new(); profile.operations().len()]))
    }

    /// The operation at a position; `None` if there is none.
    pub(crate) fn get(&self, profile: &Profile, at: usize) -> Option<&Measured> {
        let operation = profile.operations().get(at)?;
        let known = self.0.get(at)?;
        Some(known.get_or_init(|| Measured::of(profile, operation)))
    }

    /// The helper kernels of the operation at a position.
    pub(crate) fn helpers(&self, profile: &Profile, at: usize) -> &[Helper] {
        self.get(profile, at)
            .map_or(&[], |measured| &measured.helpers)
    }
}

impl Measured {
    fn of(profile: &Profile, operation: &Operation) -> Measured {
        let kernels = Kernels::of(profile, operation);
        Measured {
            main: kernels.main(profile),
            main_share: kernels.main_share,
            n_main_kinds: kernels.n_main_kinds,
            n_short: kernels.n_short(),
            spread: Spread::of(operation),
            sizes: Sizes::of(profile, operation),
            helpers: kernels.helpers,
        }
    }

    /// Time of the helper kernels.
    pub(crate) fn helper_ns(&self) -> i64 {
        sum(self.helpers.iter().map(|helper| helper.ns))
    }
}

impl MainKernel {
    /// Workgroups of its longest launch; `None` where it was not recorded.
    pub(crate) fn workgroups(&self) -> Option<u64> {
        let (grid, block) = self.launch?;
        let all = |sizes: [u64; 3]| sizes.into_iter().try_fold(1_u64, u64::checked_mul);
        let workgroups = match self.counts_threads {
            true => all(grid)?.checked_div(all(block)?)?,
            false => all(grid)?,
        };
        (workgroups > 0).then_some(workgroups)
    }
}

/// The kernels of an operation: those with the name that takes the most time, and the others.
struct Kernels<'a> {
    main: Vec<&'a GpuWork>,
    main_share: f64,
    n_main_kinds: usize,
    helpers: Vec<Helper>,
}

/// Kernels of one name.
#[derive(Debug, Clone, Copy)]
struct Ran {
    name: StringId,
    kind: Option<HelperKind>,
    n: u64,
    ns: i64,
}

impl<'a> Kernels<'a> {
    fn of(profile: &'a Profile, operation: &'a Operation) -> Kernels<'a> {
        let work = || operation.activity(profile);
        let mut by_name: Map<StringId, Ran> = Map::default();
        for work in work() {
            let name = work.name;
            let ran = by_name.entry(name).or_insert_with(|| Ran {
                name,
                kind: helper_kind(profile, operation, work),
                n: 0,
                ns: 0,
            });
            ran.n += 1;
            ran.ns = ran.ns.saturating_add(work.span.length());
        }
        let mut all: Vec<Ran> = by_name.into_values().collect();
        // The longest kernel that is not a helper is the main one; if all are helpers, the longest.
        all.arrange_by_key(|ran| (ran.kind.is_some(), std::cmp::Reverse(ran.ns), ran.name));
        let main = all.first().copied();
        let rest = all.get(1..).unwrap_or_default();
        let own = || {
            main.iter()
                .chain(rest.iter().filter(|ran| ran.kind.is_none()))
        };
        // Counts kernels that run in every call; different kernels in different calls are a choice of the library.
        let n_calls = operation.calls.len() as u64;
        let own_ns = sum(own().map(|ran| ran.ns));
        let counts = |ran: &&Ran| ran.n >= n_calls && ran.ns as f64 >= own_ns as f64 * LEAST_PART;
        let n_main_kinds = own().filter(counts).count().max(1);
        Kernels {
            main_share: main.map_or(0, |ran| ran.ns) as f64 / own_ns.max(1) as f64,
            n_main_kinds,
            helpers: helpers(rest),
            main: work()
                .filter(|work| main.is_some_and(|ran| ran.name == work.name))
                .collect(),
        }
    }

    /// Whether a kernel besides the main one sums the parts of a split-K GEMM.
    fn has_split_sum(&self) -> bool {
        let mut helpers = self.helpers.iter();
        helpers.any(|helper| helper.kind == HelperKind::SplitSum)
    }

    fn n_short(&self) -> u64 {
        let short = self
            .main
            .iter()
            .filter(|work| work.span.length() < SHORT_NS);
        short.count() as u64
    }

    fn main(&self, profile: &Profile) -> Option<MainKernel> {
        let longest = self
            .main
            .iter()
            .max_by_key(|work| (work.span.length(), work.event))?;
        let trace = &profile.trace;
        let kernel = trace.strings.get(longest.name);
        let launched_by = longest.launched_by;
        Some(MainKernel {
            name: longest.name,
            tile: Tile::of(kernel),
            split: match Split::of(kernel) {
                Split::None if self.has_split_sum() => Split::Unknown,
                split => split,
            },
            generation: Generation::of(kernel),
            is_on_vector_units: is_on_vector_units(kernel),
            is_fallback: is_fallback(kernel),
            launch: launch_size(trace, longest.event),
            counts_threads: launched_by
                .is_some_and(|call| trace.name(call).contains("hipExtModuleLaunch")),
        })
    }
}

/// The purpose of a kernel that is not the main one of an operation.
fn helper_kind(profile: &Profile, operation: &Operation, work: &GpuWork) -> Option<HelperKind> {
    let name = profile.trace.strings.get(work.name);
    let is_norm =
        || operation.family == Family::Gemm && family_of_kernel(name) == Family::Normalization;
    HelperKind::of(work.category, name).or_else(|| is_norm().then_some(HelperKind::Norm))
}

/// Helpers by kind, the longest first.
fn helpers(rest: &[Ran]) -> Vec<Helper> {
    let mut helpers: Vec<Helper> = Vec::new();
    for Ran { name, kind, n, ns } in rest.iter().copied() {
        let Some(kind) = kind else { continue };
        match helpers.iter_mut().find(|helper| helper.kind == kind) {
            Some(known) => {
                known.n += n;
                known.ns = known.ns.saturating_add(ns);
            }
            None => helpers.push(Helper { kind, name, n, ns }),
        }
    }
    helpers.arrange_by_key(|helper| (std::cmp::Reverse(helper.ns), helper.kind));
    helpers
}

impl Spread {
    fn of(operation: &Operation) -> Spread {
        Spread::of_times(&operation.times_of_calls())
    }

    /// Takes call times in call order.
    fn of_times(times: &[i64]) -> Spread {
        let Some(all_median_ns) = median_ns(times.to_vec()) else {
            return Spread::default();
        };
        let first_ns = times.first().copied().unwrap_or_default();
        let others = times.get(1..).unwrap_or_default();
        // The first call is by far the longest: if others take about as long, they are slow for another reason.
        let longest_ns = others.iter().copied().max().unwrap_or(first_ns);
        let beyond = |ns: i64| first_ns as f64 > ns as f64 * MAX_OVER_MEDIAN;
        let is_warm_up = beyond(longest_ns) && beyond(all_median_ns);
        let others = times.get(usize::from(is_warm_up)..).unwrap_or_default();
        let mid_ns = median_ns(others.to_vec()).unwrap_or(all_median_ns);
        let p95_ns = quantile_ns(others.to_vec(), 0.95).unwrap_or(mid_ns);
        let max_ns = others.iter().copied().max().unwrap_or(mid_ns);
        let beyond = |ns: i64, factor: f64| ns as f64 > mid_ns as f64 * factor;
        let differ = beyond(max_ns, MAX_OVER_MEDIAN) || beyond(p95_ns, P95_OVER_MEDIAN);
        let above = others.iter().map(|ns| (ns - mid_ns).max(0));
        Spread {
            median_ns: mid_ns,
            p95_ns,
            max_ns,
            warm_up_ns: if is_warm_up { first_ns - mid_ns } else { 0 },
            above_median_ns: if differ { sum(above) } else { 0 },
        }
    }
}

impl Sizes {
    fn of(profile: &Profile, operation: &Operation) -> Sizes {
        let found = match operation.family {
            Family::Gemm => GemmSizes::of(profile, operation).map(Sizes::Gemm),
            Family::Convolution => ConvolutionShape::of(profile, operation).map(Sizes::Convolution),
            Family::Attention => AttentionSizes::of(profile, operation).map(Sizes::Attention),
            _ => None,
        };
        found.unwrap_or(Sizes::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn the_first_call_is_a_warm_up_where_it_is_by_far_the_longest() {
        // (times, median, warm-up, above the median)
        let cases: [(&[i64], i64, i64, i64); 8] = [
            (&[100, 100, 100], 100, 0, 0),
            (&[500, 100, 100], 100, 400, 0),
            // The longest is not the first.
            (&[100, 500, 100], 100, 0, 400),
            (&[500, 100, 200, 100], 100, 400, 100),
            // One of several slow calls, and hardly longer than another one.
            (&[500, 100, 100, 500, 100], 100, 0, 800),
            (&[500, 100, 100, 450, 100], 100, 0, 750),
            // Hardly any difference.
            (&[110, 100, 105], 105, 0, 0),
            (&[100], 100, 0, 0),
        ];
        for (times, median_ns, warm_up_ns, above_median_ns) in cases {
            let spread = Spread::of_times(times);
            let found = (spread.median_ns, spread.warm_up_ns, spread.above_median_ns);
            assert_eq!(found, (median_ns, warm_up_ns, above_median_ns), "{times:?}");
        }
        assert_eq!(Spread::of_times(&[]), Spread::default());
    }

    #[test]
    fn what_runs_beside_the_main_kernel_is_told_by_kind() {
        let profile = Timetable::new()
            .op("aten::mm", 0..100)
            .launched("batched_transpose_32x32_half", 1..2, 200..230)
            .launched("Cijk_Alik_Bljk_BBS_BH_MT64x96x128_GSU4", 3..4, 230..330)
            .launched("Cijk_SS_PostGSU4_VW4", 5..6, 330..335)
            .profile();
        let measured = MeasuredOperations::of(&profile);
        let found = measured.get(&profile, 0).unwrap();
        let main = found.main.unwrap();
        assert_eq!(main.tile.map(|tile| tile.output), Some((64, 96)));
        assert_eq!(main.split, Split::Parts(4));
        let helpers = found
            .helpers
            .iter()
            .map(|helper| (helper.kind, helper.n, helper.ns));
        let expected = [
            (HelperKind::LayoutChange, 1, 30_000),
            (HelperKind::SplitSum, 1, 5_000),
        ];
        assert_eq!(helpers.collect::<Vec<_>>(), expected);
        assert_eq!(found.helper_ns(), 35_000);
        assert!(measured.get(&profile, 1).is_none());
    }

    /// Both GEMMs of an MoE layer are kernels of one name that share the work of one call: the second is shorter in each
    /// layer, which is no difference between calls.
    #[test]
    fn kernels_that_share_a_call_count_together() {
        let args = "16x2048, 128x1536x2048, 128x2048x768, 16x8:float, 16x8:int";
        let layer = |table: Timetable, at: u32| {
            let op = "vllm::outplace_fused_experts";
            let table = table.op(op, at..at + 90).args(args);
            let table = table.op("_C::silu_and_mul", at + 30..at + 40);
            let table = table.launched(
                "act_and_mul_kernel",
                at + 31..at + 32,
                at + 1_200..at + 1_203,
            );
            let table = table.launched("fused_moe_kernel", at + 1..at + 2, at + 1_000..at + 1_200);
            table.launched("fused_moe_kernel", at + 50..at + 51, at + 1_203..at + 1_303)
        };
        let table = [0, 1_000, 2_000].into_iter().fold(Timetable::new(), layer);
        let profile = table.profile();
        let operations = profile.operations().iter();
        let mut experts = operations.filter(|one| one.short_name(&profile).contains("moe"));
        let experts = experts.next().unwrap();
        assert_eq!(experts.times_of_calls(), [300_000; 3]);
        assert_eq!(Spread::of(experts).above_median_ns, 0);
    }
}
