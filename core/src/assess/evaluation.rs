//! Evaluates operations on a GPU: their roofline, and how close the calls get to it.

use super::rates::{mean_rate, roofline_percent};
use super::{ReportOptions, Timelines};
use crate::assess::off_critical_path::off_critical_path_ns;
use crate::base::interval::sum;
use crate::hardware::roofline::{Achieved, Roofline, roofline};
use crate::hardware::{Basis, Precision};
use crate::perf::{ComputeSpec, Unit, Work, is_tf32_kernel, matrix_of};
use crate::profile::Profile;
use crate::profile::gpu::copies;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::shares::Shares;
use crate::profile::operations::Operation;
use crate::trace::Category;

/// The evaluation of an [`Operation`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evaluation {
    /// FLOPs and bytes of one call; `None` without a model.
    pub work: Option<Work>,
    /// Its roofline; `None` if no GPU is chosen, or bytes are unknown.
    pub roofline: Option<Roofline>,
    /// How close all calls together get to the roofline: weighted by time.
    pub achieved: Option<Achieved>,
    /// Faster than the GPU can be: shown as such and never ranked.
    pub is_anomaly: bool,
    /// It would move the keys and values of the full context faster than the memory can, so it reads only a part of
    /// them and has no roofline.
    pub reads_less: bool,
    /// It consists only of copies that leave the GPU's memory, so the memory bandwidth does not limit them.
    pub is_over_link: bool,
    /// Bytes moved per second, in 10¹², averaged over the calls.
    pub tb_per_s: Option<f64>,
    /// Operations per second, in 10¹², averaged over the calls.
    pub tflops_per_s: Option<f64>,
    /// The part of its kernel time that is run time: concurrent kernels get equal parts; kernels that overlap with
    /// communication or copies of the same GPU get none.
    pub run_ns: i64,
    /// The most of its kernel time that can be saved of the run. This includes time that overlaps with communication or
    /// copies, if these can overlap with other kernels instead. All operations together save no more than what runs
    /// alone.
    pub most_ns: i64,
    /// The part of its kernel time that is time of computation: kernels that compute concurrently get equal parts. With
    /// several GPUs its kernel time.
    pub computing_ns: i64,
    /// The part of its kernel time that the run does not wait for, because the next launch is late.
    pub off_critical_path_ns: i64,
}

impl Evaluation {
    /// How close it gets to the roofline, unless it is an anomaly.
    pub(crate) fn plausible(&self) -> Option<Achieved> {
        self.achieved.filter(|_| !self.is_anomaly)
    }

    fn new(profile: &Profile, operation: &Operation, options: &ReportOptions) -> Evaluation {
        let built_in = || operation.known().map(|known| known.work);
        let own = options.perf_models.as_ref().and_then(|models| {
            models.work_of(&profile.trace, &operation.name(profile), operation.key.args)
        });
        let own = own.filter(|_| !operation.sees_window);
        let work = own.unwrap_or_else(built_in);
        let work = work.map(|work| on_its_units(profile, operation, options, work));
        let mean = |amount| mean_rate(&operation.times_us, amount);
        let roofline = work
            .zip(options.gpu.as_deref())
            .and_then(|(work, gpu)| roofline(&work, gpu, options.basis));
        let share = |us| roofline_percent(&operation.times_us, us);
        let achieved = roofline.and_then(|roofline| {
            Some(Achieved {
                percent_of_roofline: share(roofline.time_us)?,
                compute_percent: roofline.compute_us.and_then(share),
                bandwidth_percent: share(roofline.memory_us)?,
            })
        });
        let is_cached = || {
            let binding = operation.first().and_then(|call| call.binding);
            binding.is_some_and(|binding| binding.reads_annotation())
        };
        let reads_less = is_cached()
            && achieved.is_some_and(|achieved: Achieved| achieved.bandwidth_percent > 100.0);
        let (roofline, achieved) = match reads_less {
            true => (None, None),
            false => (roofline, achieved),
        };
        Evaluation {
            work,
            roofline,
            achieved,
            reads_less,
            is_anomaly: achieved.is_some_and(|achieved| {
                achieved.percent_of_roofline > options.thresholds.anomaly_percent
            }),
            is_over_link: is_over_link(profile, operation),
            tb_per_s: mean(work.and_then(|work| work.bytes)).filter(|_| !reads_less),
            tflops_per_s: mean(work.map(|work| work.flops)),
            run_ns: operation.kernel_ns,
            most_ns: operation.kernel_ns,
            computing_ns: operation.kernel_ns,
            off_critical_path_ns: 0,
        }
    }
}

/// Adjusts the compute type of the work to what actually runs: TF32 for FP32 matrix work if the kernels' names say so,
/// and the type of the activations if the GPU cannot multiply in the narrower type of the weights.
fn on_its_units(
    profile: &Profile,
    operation: &Operation,
    options: &ReportOptions,
    work: Work,
) -> Work {
    let (Some(gpu), Some(spec)) = (options.gpu.as_deref(), work.compute) else {
        return work;
    };
    let has = |precision| {
        let mut bases = [Basis::Peak, Basis::Achievable].into_iter();
        bases.any(|basis| gpu.matrix(precision, basis).is_some())
    };
    let is_of_kernels = || {
        let mut kernels = operation.kernel_names(profile).into_iter();
        kernels.any(is_tf32_kernel)
    };
    let of_activations = || {
        let arguments = operation.arguments(profile)?;
        let dtype = arguments.tensors().next()?.dtype;
        let spec = matrix_of(dtype).filter(|spec| has(spec.precision))?;
        matches!(spec.precision, Precision::Fp16 | Precision::Bf16).then_some(spec)
    };
    let compute = match (spec.unit, spec.precision) {
        (Unit::Matrix, Precision::Fp32) => {
            let may_be = has(Precision::Fp32) && has(Precision::Tf32);
            (may_be && is_of_kernels()).then_some(ComputeSpec {
                precision: Precision::Tf32,
                ..spec
            })
        }
        (Unit::Matrix, Precision::Fp4 | Precision::Fp6 | Precision::Fp8) if !has(spec.precision) => {
            of_activations()
        }
        _ => None,
    };
    Work {
        compute: compute.or(work.compute),
        ..work
    }
}

fn is_over_link(profile: &Profile, operation: &Operation) -> bool {
    let mut work = operation.activity(profile);
    let is_copy = |work: &GpuWork| {
        work.category == Category::GpuMemcpy && copies::is_over_link(&profile.trace, work)
    };
    work.next().is_some_and(is_copy) && work.all(is_copy)
}

/// The result of [`off_critical_path_ns`], which does not depend on the GPU.
struct OffCriticalPathNs(Vec<i64>);

/// [`Shares::of_computation`] for each operation, which does not depend on the GPU either.
struct ComputingNs(Vec<i64>);

/// Evaluates all operations of a profile, in their order.
pub(crate) fn evaluate(
    profile: &Profile,
    options: &ReportOptions,
    timelines: &Timelines,
) -> Vec<Evaluation> {
    let operations = || profile.operations().iter();
    let mut evaluations: Vec<Evaluation> = operations()
        .map(|operation| Evaluation::new(profile, operation, options))
        .collect();
    let off_critical_path =
        profile.once(|| OffCriticalPathNs(off_critical_path_ns(profile, &timelines.gaps)));
    for (evaluation, off_critical_path_ns) in evaluations.iter_mut().zip(&off_critical_path.0) {
        evaluation.off_critical_path_ns = *off_critical_path_ns;
    }
    if timelines.overlaps {
        let shares = Shares::of_run(profile);
        let shares = shares.operations_ns.iter();
        for ((operation, evaluation), share_ns) in operations().zip(&mut evaluations).zip(shares) {
            evaluation.run_ns = operation.kernel_ns.min(*share_ns);
            evaluation.most_ns = evaluation.run_ns;
        }
        // If there are several GPUs, one waits for another: a shift on one GPU moves both.
        if timelines.gpus.len() < 2 {
            let are_hidden = transfers_are_hidden(timelines);
            count_overlapped_computation(profile, are_hidden, &mut evaluations);
        }
    }
    evaluations
}

/// Communication and copies count as hidden if at most this part of them is exposed.
const MOST_EXPOSED: f64 = 0.1;

/// Whether communication and copies are nearly always hidden by kernels. If not, there were no other kernels to hide
/// them, or they wait for other ranks; then shorter kernels leave more of them exposed.
fn transfers_are_hidden(timelines: &Timelines) -> bool {
    timelines.whole.as_ref().is_some_and(|whole| {
        let exposed_ns = sum([whole.exposed_comm_ns, whole.exposed_memcpy_ns]);
        let all_ns = sum([whole.comm_ns, whole.memcpy_ns]);
        exposed_ns as f64 <= all_ns as f64 * MOST_EXPOSED
    })
}

/// Computation that overlaps with computation. If transfers are hidden, also counts computation that overlaps with
/// communication and copies, because these may overlap with other kernels instead.
fn count_overlapped_computation(
    profile: &Profile,
    are_hidden: bool,
    evaluations: &mut [Evaluation],
) {
    let computing = profile.once(|| ComputingNs(Shares::of_computation(profile).operations_ns));
    let operations = profile.operations().iter().zip(evaluations.iter_mut());
    for ((operation, evaluation), share_ns) in operations.zip(&computing.0) {
        if operation.family.computes() {
            evaluation.computing_ns = operation.kernel_ns.min(*share_ns);
            if are_hidden {
                evaluation.most_ns = evaluation.run_ns.max(evaluation.computing_ns);
            }
        }
    }
}
