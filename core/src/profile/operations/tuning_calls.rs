//! Separates calls that only or mainly choose the fastest of several kernels from the other calls of an operation.

use super::Operation;
use crate::base::map::Set;
use crate::base::stats::median_ns;
use crate::names::{Family, HelperKind};
use crate::profile::Profile;
use crate::profile::launch::GpuId;
use crate::profile::operations::autotuning::Tuning;
use crate::profile::operations::perf_rows::PerfRow;
use crate::trace::StringId;

/// A call tunes if it runs this many kernels that other calls with the same arguments do not run, if
/// it also takes longer.
const LEAST_OTHERS: usize = 3;

/// A call that tunes takes at least this many times as long as others with the same arguments.
const LEAST_RATIO: i64 = 3;

/// With fewer calls with the same arguments, none of them is typical.
const LEAST_CALLS: usize = 3;

/// Splits the calls that tune off from their operations. An operation of which all calls do stays as it is, and is
/// marked.
pub(super) fn split(profile: &Profile, operations: &mut [Operation]) -> Vec<Operation> {
    let tuning = Tuning::of(profile);
    let mut parts = Vec::new();
    for operation in operations {
        let trials = |call: &PerfRow| -> Vec<GpuId> {
            let mut trials = call.work.clone();
            trials.retain(|id| tuning.tuner(profile, *id).is_some());
            trials
        };
        let mut of_calls: Vec<Vec<GpuId>> = match tuning.is_empty() {
            true => Vec::new(),
            false => operation.calls.iter().map(trials).collect(),
        };
        if of_calls.iter().all(Vec::is_empty) {
            of_calls = untimed(profile, operation);
        }
        if of_calls.iter().all(Vec::is_empty) {
            continue;
        }
        if of_calls.iter().all(|trials| !trials.is_empty()) {
            operation.trials = of_calls.concat();
            continue;
        }
        let is_tuning = of_calls.iter().map(|trials| !trials.is_empty());
        parts.push(Operation {
            trials: of_calls.concat(),
            ..operation.split_off(profile, is_tuning.collect())
        });
    }
    parts
}

/// The trials of each call where no events of them were recorded: a call that runs several kernels besides those of the
/// typical call, which come last. Empty if no call does.
fn untimed(profile: &Profile, operation: &Operation) -> Vec<Vec<GpuId>> {
    let may_tune = matches!(operation.family, Family::Convolution | Family::Gemm);
    if !may_tune || operation.key.kernel.is_some() || operation.calls.len() < LEAST_CALLS {
        return Vec::new();
    }
    let mut by_count: Vec<&PerfRow> = operation.calls.iter().collect();
    by_count.sort_by_key(|call| call.work.len());
    let Some(typical) = by_count.get(by_count.len() / 2) else {
        return Vec::new();
    };
    if by_count.last().map_or(0, |call| call.work.len()) < typical.work.len() + LEAST_OTHERS {
        return Vec::new();
    }
    let usual = main_kernels(profile, typical);
    let times = operation.calls.iter().map(|call| call.kernel_ns);
    let usual_ns = median_ns(times.collect()).unwrap_or(0);
    let of_calls = operation.calls.iter().map(|call| {
        let kernels = main_kernels(profile, call);
        let others = kernels.iter().filter(|kernel| !usual.contains(*kernel));
        let tunes = others.count() >= LEAST_OTHERS
            && call.kernel_ns >= usual_ns.saturating_mul(LEAST_RATIO);
        let n_trials = call.work.len().saturating_sub(typical.work.len());
        let trials = call.work.get(..n_trials).filter(|_| tunes);
        trials.unwrap_or_default().to_vec()
    });
    of_calls.collect()
}

fn main_kernels(profile: &Profile, call: &PerfRow) -> Set<StringId> {
    let work = profile.gpu.each(&call.work);
    let is_helper = |name: StringId, category| {
        HelperKind::of(category, profile.trace.strings.get(name)).is_some()
    };
    let main = work.filter(|work| !is_helper(work.name, work.category));
    main.map(|work| work.name).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::Timetable;

    const CONV: &str = "64x256x56x56, 256x256x3x3";

    /// Convolutions with equal arguments, each with these kernels of 10 µs.
    fn operations(calls: &[&[&str]]) -> Vec<(usize, usize, bool)> {
        let mut at = 0;
        let mut table = Timetable::new();
        for kernels in calls {
            let op = "aten::cudnn_convolution";
            table = table.op(op, at..at + 20 * kernels.len() as u32).args(CONV);
            for kernel in *kernels {
                table = table.launched(kernel, at + 1..at + 2, at + 5..at + 15);
                at += 20;
            }
        }
        let profile = table.profile();
        let operations = profile.operations().iter();
        let seen = operations.map(|one| (one.calls.len(), one.trials.len(), one.is_part));
        seen.collect()
    }

    #[test]
    fn calls_with_many_other_kernels_are_a_part_of_their_own() {
        let tuned: &[&str] = &["gemm", "winograd", "implicit", "fft", "cutlass", "gemm"];
        let usual: &[&str] = &["gemm"];
        let found = operations(&[tuned, usual, usual, usual]);
        assert_eq!(found, [(3, 0, false), (1, 5, true)]);
    }

    #[test]
    fn calls_that_run_the_same_kernels_do_not_tune() {
        let fft: &[&str] = &["fft_r2c", "fft_r2c_b", "cgemm", "fft_c2r"];
        let split: &[&str] = &["gemm", "splitKreduce_kernel"];
        let warm_up: &[&str] = &["transpose_nchw", "transpose_nchw", "transpose_nchw", "gemm"];
        let cases: [&[&[&str]]; 3] = [
            &[fft, fft, fft],
            &[split, split, split],
            // Helper kernels in the first call.
            &[warm_up, &["gemm"], &["gemm"], &["gemm"]],
        ];
        for calls in cases {
            let found = operations(calls);
            assert_eq!(found, [(calls.len(), 0, false)], "{calls:?}");
        }
    }
}
