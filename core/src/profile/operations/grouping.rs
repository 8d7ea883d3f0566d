//! Finds the operations of a trace: calls grouped by their arguments, with their work and kernel time.

use super::{CallKey, Operation, windowed, work_of_calls};
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::{Family, OTHER, family_of_kernel, family_of_op};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::kinds::moe::MoeRoles;
use crate::profile::operations::perf_rows::{Pass, PerfRow, perf_rows};
use crate::profile::operations::tuning_calls;

/// Finds the operations of a trace: linked ones by kernel time, sliding-window ones, those that tune, then unlinked ones
/// by kernel time.
pub(crate) fn operations(profile: &Profile) -> Vec<Operation> {
    let mut linked = group(profile, perf_rows(profile));
    let mut unlinked = group(profile, unlinked_rows(profile));
    for operations in [&mut linked, &mut unlinked] {
        operations
            .arrange_by_key(|operation| (std::cmp::Reverse(operation.kernel_ns), operation.uid()));
    }
    let mut windowed = windowed::split(profile, &mut linked);
    linked.append(&mut windowed);
    let mut tuning = tuning_calls::split(profile, &mut linked);
    linked.append(&mut tuning);
    for operation in &mut linked {
        operation.modeled = work_of_calls(profile, &operation.calls);
    }
    for operation in &mut unlinked {
        operation.is_linked = false;
        if profile.has_launches() {
            operation.family = Family::Unattributed;
        }
    }
    linked.append(&mut unlinked);
    linked
}

/// Groups rows by key, in order of first appearance.
fn group(profile: &Profile, rows: Vec<PerfRow>) -> Vec<Operation> {
    let mut operations: Map<CallKey, Operation> = Map::default();
    for row in rows {
        let mut key = CallKey::new(profile, row.event, row.category, row.is_recompute);
        key.kernel = row.kernel;
        let operation = operations.entry(key).or_insert_with(|| Operation {
            key,
            family: Family::Other,
            calls: Vec::new(),
            times_us: Vec::new(),
            kernel_ns: 0,
            modeled: None,
            is_linked: true,
            estimate: None,
            sees_window: false,
            is_part: false,
            trials: Vec::new(),
        });
        operation.calls.push(row);
    }
    let mut operations: Vec<Operation> = operations.into_values().collect();
    for operation in &mut operations {
        // Operations live as long as the trace.
        operation.calls.shrink_to_fit();
        operation.measure(profile);
    }
    operations
}

/// One row for each kernel, copy and fill without a known call. Collectives are not operations.
fn unlinked_rows(profile: &Profile) -> Vec<PerfRow> {
    let unlinked = profile
        .gpu
        .iter()
        .filter(|(_, work)| work.launched_by.is_none() && !work.is_collective);
    unlinked
        .map(|(id, work)| PerfRow {
            event: work.event,
            kernel: None,
            category: OTHER,
            uid: u64::from(profile.trace.events.uid(work.event)),
            work: vec![id],
            kernel_ns: work.span.length(),
            is_recompute: false,
            binding: None,
        })
        .collect()
}

impl Operation {
    /// Updates the totals from its calls.
    pub(in crate::profile) fn measure(&mut self, profile: &Profile) {
        self.kernel_ns = sum(self.calls.iter().map(|call| call.kernel_ns));
        let times_us = self.calls.iter().map(|call| time_us(profile, call));
        self.times_us = times_us.collect();
        self.family = main_family(profile, self);
    }
}

/// The kernel time used for rates; that of a backward pass covers more than its row.
fn time_us(profile: &Profile, call: &PerfRow) -> f64 {
    match call.binding.map(|binding| binding.pass) {
        Some(Pass::Backward) => call.kernel_ns as f64 / 1e3,
        _ => busy_us(profile, &call.work),
    }
}

/// The time during which at least one of the given pieces of work runs, in the reference's arithmetic.
///
/// The reference computes with microseconds since the epoch in floating point, which are coarser than the nanoseconds
/// of the trace. Sums and means do not show the difference, but the deviation of rates of nearly equal calls and the
/// difference of two short times do, and users compare both. All other times are exact.
pub(crate) fn busy_us(profile: &Profile, work: &[GpuId]) -> f64 {
    let mut spans: Vec<(f64, f64)> = work
        .iter()
        .filter_map(|id| profile.gpu.get(*id))
        .map(|work| {
            let start_us = work.span.start_ns as f64 / 1e3;
            (start_us, start_us + work.span.length() as f64 / 1e3)
        })
        .collect();
    spans.arrange_by(|a, b| a.0.total_cmp(&b.0));
    let mut busy_us = 0.0;
    let mut open: Option<(f64, f64)> = None;
    for (start, end) in spans {
        open = Some(match open {
            Some((first, last)) if start <= last => (first, last.max(end)),
            Some((first, last)) => {
                busy_us += last - first;
                (start, end)
            }
            None => (start, end),
        });
    }
    busy_us + open.map_or(0.0, |(first, last)| last - first)
}

/// The family with the most time in an operation; the first in [`Family::ALL`] of equal ones.
fn main_family(profile: &Profile, operation: &Operation) -> Family {
    let strings = &profile.trace.strings;
    let name = strings.get(operation.key.name);
    let mut times = [0_i64; Family::ALL.len()];
    for (kernel, n, ns) in operation.kernels(profile) {
        let kernel = strings.get(kernel);
        let is_event_itself = operation
            .first()
            .is_some_and(|call| call.binding.is_none() && kernel == name);
        let family = match is_event_itself {
            true => family_of_kernel(kernel),
            false => family_of_op(operation.key.label, name, Some(kernel)),
        };
        // A kernel of zero length still counts.
        let weight = ns.max(n as i64);
        times[family as usize] = times[family as usize].saturating_add(weight);
    }
    let most = times.iter().copied().max().unwrap_or(0);
    let family = Family::ALL
        .into_iter()
        .zip(times)
        .find(|(_, time)| most > 0 && *time == most)
        .map_or(Family::Other, |(family, _)| family);
    MoeRoles::of(profile).family(family, operation.work())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::operations::Owner;
    use crate::testing::Timetable;

    #[test]
    fn calls_with_equal_arguments_are_one_operation() {
        let mm = r#""Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]"#;
        let other = r#""Input Dims": [[9, 4], [4, 2]], "Input type": ["float", "float"]"#;
        let profile = Timetable::new()
            .call("aten::mm", mm, "gemm", 100..130)
            .call("aten::mm", mm, "gemm", 140..150)
            .call("aten::mm", other, "gemm", 160..165)
            .profile();
        let seen: Vec<(String, u64, i64, Option<f64>)> = profile
            .operations()
            .iter()
            .map(|operation| {
                let work = operation.modeled.as_ref().map(|modeled| modeled.work);
                (
                    operation.name(&profile),
                    operation.n_calls(),
                    operation.kernel_ns,
                    work.map(|work| work.flops),
                )
            })
            .collect();
        // 2·8·2·4 and 2·9·2·4 FLOPs.
        assert_eq!(
            seen,
            [
                ("aten::mm".to_owned(), 2, 40_000, Some(128.0)),
                ("aten::mm".to_owned(), 1, 5_000, Some(144.0)),
            ]
        );
    }

    /// A trace has no types for tensor lists; the kernels show them, call by call.
    #[test]
    fn lists_of_different_types_are_counted_call_by_call() {
        let cat = r#""Input Dims": [[[8], [8]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "0"]"#;
        let (four, two) = (
            "CatArrayBatchedCopy<OpaqueType<4u>, 3>",
            "CatArrayBatchedCopy<OpaqueType<2u>, 3>",
        );
        let profile = Timetable::new()
            .call("aten::cat", cat, four, 100..130)
            .call("aten::cat", cat, two, 140..150)
            .profile();
        let [cats] = profile.operations() else {
            panic!("one operation: {:?}", profile.operations());
        };
        // 16 elements read and written: 128 and 64 bytes.
        let bytes = cats.modeled.as_ref().and_then(|modeled| modeled.work.bytes);
        assert_eq!((cats.n_calls(), bytes), (2, Some(96.0)));
    }

    #[test]
    fn kernels_without_a_call_come_last() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..101)
            .kernel(8, "void flash_fwd_kernel<128>()", 200..900)
            .kernel(9, "ncclDevKernel_AllReduce", 900..990)
            .profile();
        let seen: Vec<(&str, Family, bool)> = profile
            .operations()
            .iter()
            .map(|operation| {
                (
                    operation.short_name(&profile),
                    operation.family,
                    operation.is_linked,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("aten::mm", Family::Gemm, true),
                ("void flash_fwd_kernel<128>()", Family::Unattributed, false),
            ]
        );
    }

    #[test]
    fn every_piece_of_work_but_a_collective_has_a_call() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..110)
            .work("aten::mm", "gemm", 120..130)
            .work("aten::relu", "relu", 140..141)
            .kernel(9, "ncclDevKernel_AllReduce", 200..900)
            .profile();
        let owners: Vec<_> = (0..4).map(|id| profile.owner_of(GpuId(id))).collect();
        let owner = |operation, call| Some(Owner { operation, call });
        assert_eq!(owners, [owner(0, 0), owner(0, 1), owner(1, 0), None]);
    }

    #[test]
    fn overlapping_kernels_of_a_call_count_once() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launched("a", 1..2, 20..30)
            .launched("b", 3..4, 25..40)
            .launched("c", 5..6, 50..55)
            .profile();
        let [operation] = profile.operations() else {
            panic!("one operation")
        };
        assert_eq!(operation.kernel_ns, 25_000);
        assert!((operation.times_us[0] - 25.0).abs() < 1e-9);
    }
}
