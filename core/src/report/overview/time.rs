//! Where the time went: by kind of work, by operation and by kernel.

use serde::{Deserialize, Serialize};

use crate::assess::Thresholds;
use crate::base::format;
use crate::base::interval::{Interval, busy, percent_of, sum};
use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};
use crate::names::{Certainty, Family, family_of_op, op_category};
use crate::profile::Profile;
use crate::profile::gpu::timeline::{GpuClass, GpuTimeline};
use crate::profile::launch::is_graph_launch;
use crate::profile::operations::autotuning::Tuning;
use crate::report::labels::Labels;
use crate::trace::{ByName, StringId};

/// Maximum rows of the tables in the overview.
const N_TOP: usize = 10;

/// Time of one kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FamilyTime {
    /// The kind of work.
    pub family: Family,
    /// Time in which such work runs. Two kinds that run concurrently both count.
    pub ns: i64,
    /// Its share of the time in which anything runs.
    pub percent: f64,
}

impl FamilyTime {
    /// Its time, as text.
    pub fn time(&self) -> String {
        format::time_ns(self.ns)
    }

    /// Its share, as text.
    pub fn share(&self) -> String {
        format::percent(self.percent)
    }
}

/// Time of all calls of one operation, or of all runs of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkTime {
    /// The operator, or the runtime call if a launch has no operator around it; for a kernel, its full name.
    pub name: String,
    /// The kind of work that takes most of its time.
    pub family: Family,
    /// How often it was called, or ran.
    pub count: u64,
    /// For an operation on the GPU: time in which kernels that it launched itself run, summed over its calls. On the
    /// CPU: self time of the operator. For a kernel: the sum of its durations.
    pub ns: i64,
    /// On the GPU: its share of the time in which anything runs. On the CPU: its share of the time of all operations.
    pub percent: f64,
    /// It runs while activations are recomputed.
    pub is_recompute: bool,
    /// Most of it runs in replays of GPU graphs, whose launch does not say what runs.
    pub is_replayed: bool,
}

/// The three tables.
pub(super) struct Times {
    pub(super) families: Vec<FamilyTime>,
    /// The same without trial kernels of tuning, which belong to no kind of the model's work.
    pub(super) without_trials: Vec<FamilyTime>,
    /// The share of trial kernels.
    pub(super) trials_percent: Option<f64>,
    pub(super) by_kernel_name_percent: Option<f64>,
    pub(super) operations: Vec<WorkTime>,
    pub(super) kernels: Vec<WorkTime>,
}

/// Time by family, as an array in the order of [`Family::ALL`].
type PerFamily = [i64; Family::ALL.len()];

/// Sums over all GPU activity that counts, independent of the choices.
struct Sums {
    families: Vec<(Family, i64)>,
    without_trials: Vec<(Family, i64)>,
    trials_ns: i64,
    by_kernel_name_ns: i64,
    by_operation: Map<(StringId, bool), WorkSum>,
    kernels: Map<StringId, WorkSum>,
}

/// The runs of one kernel, or the kernels of one operation.
#[derive(Default)]
struct WorkSum {
    count: u64,
    times: PerFamily,
    replayed_ns: i64,
}

impl WorkSum {
    fn add(&mut self, family: Family, ns: i64, is_replayed: bool) {
        self.count += 1;
        add(&mut self.times, family, ns);
        if is_replayed {
            self.replayed_ns = self.replayed_ns.saturating_add(ns);
        }
    }

    fn is_replayed(&self) -> bool {
        self.replayed_ns.saturating_mul(2) > sum(self.times)
    }
}

impl Sums {
    fn new(profile: &Profile) -> Sums {
        let labels = Labels::new(profile);
        let tuning = Tuning::of(profile);
        let mut spans: [Vec<Interval>; Family::ALL.len()] = Default::default();
        let mut spans_without_trials = spans.clone();
        let mut trials: Vec<Interval> = Vec::new();
        let mut by_operation: Map<(StringId, bool), WorkSum> = Map::default();
        let mut kernels: Map<StringId, WorkSum> = Map::default();
        let mut graphs = ByName::new(is_graph_launch);
        let mut by_kernel_name: Vec<Interval> = Vec::new();
        for (id, work) in profile.gpu.iter() {
            let label = labels.of(id, work);
            let family = match work.is_unattributed(profile) {
                true if work.class == GpuClass::Computation => Family::Unattributed,
                _ => label.family,
            };
            if label.certainty == Certainty::ByKernelName {
                by_kernel_name.push(work.span);
            }
            let dur_ns = work.span.length();
            let launch = work.launched_by;
            let is_replayed = launch.is_some_and(|call| graphs.of(&profile.trace, call));
            spans[family as usize].push(work.span);
            match tuning.tuner(profile, id) {
                Some(_) => trials.push(work.span),
                None if !tuning.is_empty() => {
                    spans_without_trials[family as usize].push(work.span);
                }
                None => {}
            }
            if let Some(op) = profile.ops.op_of(id).and_then(|op| profile.ops.get(op)) {
                let operation = by_operation.entry((op.name, op.is_recompute)).or_default();
                operation.add(family, dur_ns, is_replayed);
            }
            let kernel = kernels.entry(work.name).or_default();
            kernel.add(family, dur_ns, is_replayed);
        }
        let families = longest_first(spans);
        Sums {
            without_trials: match trials.is_empty() {
                true => families.clone(),
                false => longest_first(spans_without_trials),
            },
            families,
            trials_ns: busy(trials),
            by_kernel_name_ns: busy(by_kernel_name),
            by_operation,
            kernels,
        }
    }
}

/// The busy time of each family that occurs.
fn longest_first(spans: [Vec<Interval>; Family::ALL.len()]) -> Vec<(Family, i64)> {
    let families = Family::ALL.into_iter().zip(spans);
    families
        .filter(|(_, spans)| !spans.is_empty())
        .map(|(family, spans)| (family, busy(spans)))
        .arranged_by_largest(|(_, ns)| *ns)
}

pub(super) fn on_gpu(profile: &Profile, whole: &GpuTimeline, thresholds: &Thresholds) -> Times {
    let sums = profile.once(|| Sums::new(profile));
    Times {
        families: family_times(sums.families.iter().copied(), whole.busy_ns),
        without_trials: family_times(sums.without_trials.iter().copied(), whole.busy_ns),
        trials_percent: percent_of(sums.trials_ns, whole.busy_ns).filter(|_| sums.trials_ns > 0),
        by_kernel_name_percent: percent_of(sums.by_kernel_name_ns, whole.busy_ns),
        operations: operations_on_gpu(profile, &sums.by_operation, whole.busy_ns, thresholds),
        kernels: top_kernels(profile, &sums.kernels, whole.busy_ns, thresholds),
    }
}

fn operations_on_gpu(
    profile: &Profile,
    by_operation: &Map<(StringId, bool), WorkSum>,
    busy_ns: i64,
    thresholds: &Thresholds,
) -> Vec<WorkTime> {
    let groups = profile.ops.groups().iter().take(N_TOP);
    groups
        .filter_map(|group| {
            let all = by_operation.get(&(group.name, group.is_recompute));
            Some(WorkTime {
                name: profile.trace.strings.get(group.name).to_owned(),
                family: all.map_or(Family::Other, |all| main_family(&all.times, thresholds)),
                count: group.n_calls() as u64,
                ns: group.direct_ns,
                percent: percent_of(group.direct_ns, busy_ns)?,
                is_recompute: group.is_recompute,
                is_replayed: all.is_some_and(WorkSum::is_replayed),
            })
        })
        .collect()
}

fn top_kernels(
    profile: &Profile,
    kernels: &Map<StringId, WorkSum>,
    busy_ns: i64,
    thresholds: &Thresholds,
) -> Vec<WorkTime> {
    let mut kernels: Vec<(StringId, &WorkSum, i64)> = kernels
        .iter()
        .map(|(name, kernel)| (*name, kernel, sum(kernel.times)))
        .collect();
    // Stable sort: ties keep order of appearance.
    kernels.arrange_by_largest(|&(.., ns)| ns);
    kernels
        .into_iter()
        .take(N_TOP)
        .filter_map(|(name, kernel, ns)| {
            Some(WorkTime {
                name: profile.trace.strings.get(name).to_owned(),
                family: main_family(&kernel.times, thresholds),
                count: kernel.count,
                ns,
                percent: percent_of(ns, busy_ns)?,
                is_recompute: false,
                is_replayed: kernel.is_replayed(),
            })
        })
        .collect()
}

pub(super) fn on_host(profile: &Profile) -> Times {
    let all_ns = profile.cpu_self_ns();
    let mut times = PerFamily::default();
    let mut operations = Vec::new();
    for op in &profile.cpu_ops {
        let name = profile.trace.strings.get(op.name);
        let family = family_of_op(op_category(name, None), name, None);
        add(&mut times, family, op.self_ns);
        if operations.len() < N_TOP
            && let Some(percent) = percent_of(op.self_ns, all_ns)
        {
            operations.push(WorkTime {
                name: name.to_owned(),
                family,
                count: op.n_calls,
                ns: op.self_ns,
                percent,
                is_recompute: false,
                is_replayed: false,
            });
        }
    }
    let families = Family::ALL.into_iter().zip(times);
    let mut families = family_times(families.filter(|(_, ns)| *ns > 0), all_ns);
    families.arrange_by_largest(|family| family.ns);
    Times {
        without_trials: Vec::new(),
        trials_percent: None,
        families,
        by_kernel_name_percent: None,
        operations,
        kernels: Vec::new(),
    }
}

/// Times with their shares of a whole; empty if the whole is zero.
fn family_times(times: impl Iterator<Item = (Family, i64)>, whole_ns: i64) -> Vec<FamilyTime> {
    let time = |(family, ns)| {
        Some(FamilyTime {
            family,
            ns,
            percent: percent_of(ns, whole_ns)?,
        })
    };
    times.filter_map(time).collect()
}

fn add(times: &mut PerFamily, family: Family, ns: i64) {
    let time = &mut times[family as usize];
    *time = time.saturating_add(ns);
}

/// The family with most of the time. A graph launch, or a runtime call without operators around it, runs many kinds and
/// has none.
fn main_family(times: &PerFamily, thresholds: &Thresholds) -> Family {
    let all_ns = sum(*times);
    let is_main = |ns: i64| {
        let share = percent_of(ns, all_ns);
        share.is_some_and(|share| share >= thresholds.main_kind_percent)
    };
    Family::ALL
        .into_iter()
        .zip(times)
        .find(|(_, ns)| **ns > 0 && is_main(**ns))
        .map_or(Family::Other, |(family, _)| family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Overview;
    use crate::testing::Timetable;

    fn overview(timetable: Timetable) -> Overview {
        timetable.report().overview
    }

    #[test]
    fn work_without_an_operator_above_is_classified_by_its_name() {
        let overview = overview(
            Timetable::new()
                .work("aten::mm", "gemm", 100..110)
                .runtime("cudaGraphLaunch", 2, 20..30)
                .kernel(2, "void flash_fwd_kernel<128>()", 110..140),
        );
        assert_eq!(overview.by_kernel_name_percent, Some(75.0));
        let families: Vec<Family> = overview.families.iter().map(|time| time.family).collect();
        assert_eq!(families, [Family::Attention, Family::Gemm]);
    }

    fn two_streams() -> Timetable {
        Timetable::new()
            .op("aten::mm", 0..10)
            .launched("gemm", 1..2, 100..140)
            .launched("splitKreduce_kernel", 3..4, 140..150)
            .stream(9)
            .work("c10d::allreduce_", "ncclDevKernel_AllReduce", 120..180)
    }

    /// 80 µs in which anything runs. Families that overlap both count; collectives belong to no operation; kernels are
    /// summed by name.
    #[test]
    fn each_table_is_of_the_busy_time() {
        let overview = overview(two_streams());
        let families = overview.families.iter();
        let families: Vec<_> = families
            .map(|time| (time.family, time.ns, time.percent))
            .collect();
        assert_eq!(
            families,
            [
                (Family::Communication, 60_000, 75.0),
                (Family::Gemm, 50_000, 62.5),
            ]
        );
        let time = |name: &str, family, ns: i64| WorkTime {
            name: name.to_owned(),
            family,
            count: 1,
            ns,
            percent: ns as f64 / 800.0,
            is_recompute: false,
            is_replayed: false,
        };
        assert_eq!(
            overview.operations,
            [time("aten::mm", Family::Gemm, 50_000)]
        );
        assert_eq!(
            overview.kernels,
            [
                time("ncclDevKernel_AllReduce", Family::Communication, 60_000),
                time("gemm", Family::Gemm, 40_000),
                time("splitKreduce_kernel", Family::Gemm, 10_000),
            ]
        );
    }

    #[test]
    fn a_graph_launch_of_everything_is_of_no_family() {
        let mixed = Timetable::new()
            .runtime("cudaGraphLaunch", 1, 0..10)
            .kernel(1, "gemm", 100..140)
            .kernel(1, "softmax", 140..180)
            .kernel(1, "vectorized_elementwise_kernel", 180..230)
            .op("aten::mm", 300..301);
        let overview = overview(mixed);
        assert_eq!(overview.operations[0].name, "cudaGraphLaunch");
        assert_eq!(overview.operations[0].family, Family::Other);
        assert_eq!(overview.families.len(), 3);
    }
}
