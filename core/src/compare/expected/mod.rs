//! What the hardware predicts for an operation, and whether the measurement agrees.
//!
//! An operation whose work is known has a roofline time on each GPU: the minimum time it can take there. The target
//! should take longer than the reference by the ratio of these times. The measured ratio over the expected one is the
//! *excess*: 1 is what the hardware explains, 2 is twice that.
//!
//! ```text
//! expected = roofline time on the target's GPU ÷ roofline time on the reference's GPU
//! actual   = time of a call on the target ÷ time of a call on the reference
//! excess   = actual ÷ expected
//! ```
//!
//! On the same GPU, the expected ratio for the same work is always 1.

mod case;
#[cfg(test)]
mod tests;
mod verdict;
mod work;

use std::sync::Arc;

use super::op_side::OpSide;
use super::pair::{Pair, Which};
use super::side::Side;
use crate::assess::Thresholds;
use crate::hardware::roofline::{Bound, Roofline, roofline};
use crate::hardware::{Basis, GpuSpec, Precision, Vendor, detect};
use crate::names::Family;
use crate::perf::{Work, is_tf32_kernel};
use case::Case;
use work::{ComparedWork, in_tf32, n_calls, sizes_ratio, works, works_differ};

pub use verdict::{NotJudged, Verdict};

/// The roofline for one call on one of the GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RooflineTime {
    /// The minimum time of a call.
    pub us_per_call: f64,
    /// What bounds it.
    pub bound: Bound,
    /// The basis of the figure that bounds it.
    pub basis: Basis,
}

impl RooflineTime {
    /// The percentage of roofline for a call of this duration in nanoseconds; 0 if the duration is zero.
    pub fn percent(self, ns_per_call: f64) -> f64 {
        match ns_per_call > 0.0 {
            true => self.us_per_call * 1e5 / ns_per_call,
            false => 0.0,
        }
    }
}

/// What figures of one basis predict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The ratio that the hardware predicts.
    pub expected: Option<f64>,
    /// The measured ratio over it.
    pub excess: Option<f64>,
    /// What follows from that.
    pub verdict: Verdict,
}

/// The prediction for an operation, and the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgment {
    /// Time of a call on the target over that on the reference; `None` if one is unknown.
    pub actual: Option<f64>,
    /// The ratio that the hardware predicts, on a single basis: that of the target's report, or peaks if an achievable
    /// figure is known for only one of the GPUs.
    pub expected: Option<f64>,
    /// `actual` over `expected`.
    pub excess: Option<f64>,
    /// By peaks alone.
    pub by_peaks: Prediction,
    /// By achievable figures wherever they are known, even for only one of the GPUs.
    pub by_achievable: Prediction,
    /// The rooflines behind `expected`.
    pub rooflines: Pair<Option<RooflineTime>>,
    /// The roofline that the target's own report compares it with. It differs from that in `rooflines` if only the
    /// target's GPU has an achievable figure.
    pub floor: Option<RooflineTime>,
    /// The work of a call if the models count the same for both traces; `None` if it is unknown, or if `work_differs`.
    pub work: Option<Work>,
    /// The models count a different amount of work in each trace.
    pub work_differs: bool,
    /// The part of `expected` due to the work alone: the roofline time of the target's work over that of the
    /// reference's, both on the reference's GPU. 1 for the same work.
    pub work_ratio: f64,
    /// The FLOPs of a call on the target over those on the reference, or the bytes if there are no FLOPs; `None` if
    /// unknown.
    pub sizes_ratio: Option<f64>,
    /// Both ran on the same hardware.
    pub is_same_gpu: bool,
    /// Based on `expected`.
    pub verdict: Verdict,
    /// Takes more than twice as long on the target, regardless of the prediction.
    pub is_more_than_twice: bool,
    /// Takes less than its own roofline allows.
    pub is_implausible: Pair<bool>,
}

impl Judgment {
    /// The same without a prediction, for calls whose sizes were not recorded and differ.
    pub(crate) fn without_sizes(self) -> Judgment {
        let none = Prediction {
            expected: None,
            excess: None,
            verdict: Verdict::NotJudged(NotJudged::OtherSizes),
        };
        Judgment {
            expected: None,
            excess: None,
            verdict: none.verdict,
            by_peaks: none,
            by_achievable: none,
            sizes_ratio: None,
            ..self
        }
    }

    /// Whether peaks and achievable figures lead to different verdicts.
    pub fn depends_on_basis(&self) -> bool {
        self.by_peaks.verdict != self.by_achievable.verdict
    }

    /// Whether the prediction is that of peaks.
    pub fn is_by_peaks(&self) -> bool {
        self.expected == self.by_peaks.expected
    }

    /// The prediction on the basis that was not used.
    pub fn on_other_basis(&self) -> Prediction {
        match self.is_by_peaks() {
            true => self.by_achievable,
            false => self.by_peaks,
        }
    }
}

/// How the sizes of the calls in both traces relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// They are the same, as far as is known.
    Same,
    /// Sizes or types differ.
    Other,
    /// They compute the same with different operations, so the smaller amount of work counts for both.
    Least,
    /// One of the traces did not record them.
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct Judge {
    gpus: Pair<Option<Arc<GpuSpec>>>,
    /// Both traces ran on the same hardware.
    pub(crate) is_same_gpu: bool,
    pub(crate) basis: Basis,
    thresholds: Thresholds,
}

impl Judge {
    pub(crate) fn new(sides: Pair<Side>) -> Judge {
        let gpus = sides.map(|side| side.report.options.gpu.clone());
        let recorded = sides.map(|side| side.report.overview.hardware.recorded_on.as_deref());
        let detected = sides.map(|side| detect(&side.profile.trace.devices));
        let are_devices_same = match detected.both() {
            Some(detected) => Some(detected.reference == detected.target),
            None => recorded
                .both()
                .map(|recorded| recorded.map(device_names))
                .map(|names| names.reference == names.target),
        };
        let is_same_gpu = match gpus.as_ref().map(Option::as_ref).both() {
            Some(gpus) => gpus.reference == gpus.target && are_devices_same != Some(false),
            None => are_devices_same == Some(true),
        };
        Judge {
            gpus,
            is_same_gpu,
            basis: sides.target.report.options.basis,
            thresholds: sides.target.report.options.thresholds,
        }
    }

    pub(crate) fn judge(&self, sides: Pair<Side>, ops: Pair<&OpSide>, sizes: Sizes) -> Judgment {
        let per_call = ops.map(OpSide::ns_per_call);
        let actual = (per_call.reference > 0.0 && per_call.target > 0.0)
            .then(|| per_call.target / per_call.reference);
        let mut works = sides.zip(ops).map(|(side, op)| works(&side, op));
        if self.could_run_in_tf32(sides, ops) {
            works.target.iter_mut().for_each(|(work, _)| in_tf32(work));
        }
        let small_ns = self.thresholds.compare_small_us * 1e3;
        let case = Case {
            judge: self,
            work: self.compared_work(works, ops, sizes),
            sizes,
            actual,
            is_over_link: ops.reference.is_over_link() || ops.target.is_over_link(),
            is_small: per_call.reference < small_ns && per_call.target < small_ns,
            of_target: ops.target.first(&sides.target),
        };
        let [chosen, peak, achievable] =
            [self.basis, Basis::Peak, Basis::Achievable].map(|basis| case.rooflines(basis));
        let own = match is_mixed(&chosen) {
            true => peak,
            false => chosen,
        };
        let [on_own, by_peaks, by_achievable] =
            [own, peak, achievable].map(|rooflines| case.prediction(rooflines));
        let work = &case.work;
        let own_roofline = own.map(|roofline| roofline.filter(|_| !work.is_ratio_only));
        Judgment {
            actual,
            expected: on_own.expected,
            excess: on_own.excess,
            by_peaks,
            by_achievable,
            rooflines: own_roofline,
            floor: chosen.target.or(own.target).filter(|_| !work.is_ratio_only),
            work: work.of_both(),
            work_differs: work.differs,
            work_ratio: self.work_ratio(work, own.reference, on_own.expected),
            sizes_ratio: work.sizes_ratio,
            is_same_gpu: self.is_same_gpu,
            verdict: on_own.verdict,
            is_implausible: own_roofline.zip(per_call).map(|(roofline, ns)| {
                let percent = roofline.map_or(0.0, |roofline| roofline.percent(ns));
                percent > self.thresholds.compare_implausible_percent
            }),
            is_more_than_twice: !case.is_small
                && actual.is_some_and(|ratio| ratio > self.thresholds.compare_twice_ratio),
        }
    }

    /// Whether the reference computes in TF32, a mode of FP32 that software chooses, and the target's library has it.
    fn could_run_in_tf32(&self, sides: Pair<Side>, ops: Pair<&OpSide>) -> bool {
        let Some(gpu) = self.gpus.target.as_deref() else {
            return false;
        };
        let operation = ops.target.first(&sides.target);
        let is_convolution = operation.is_some_and(|one| one.family == Family::Convolution);
        let mut kernels = ops.reference.kernels.iter();
        gpu.matrix_rate(Precision::Tf32, self.basis).is_some()
            // AMD's convolutions do not have it.
            && !(is_convolution && gpu.vendor == Some(Vendor::Amd))
            && kernels.any(|kernel| is_tf32_kernel(&kernel.name))
    }

    /// What both sides compute, as far as the sizes of their calls can be compared.
    fn compared_work(
        &self,
        works: Pair<Vec<(Work, u64)>>,
        ops: Pair<&OpSide>,
        sizes: Sizes,
    ) -> ComparedWork {
        match sizes {
            Sizes::Least => ComparedWork {
                sizes_ratio: Some(1.0),
                ..self.least(works, ops)
            },
            _ => ComparedWork {
                n_calls: works.as_ref().map(|works| n_calls(works)),
                differs: works_differ(&works),
                is_ratio_only: false,
                sizes_ratio: match sizes {
                    Sizes::Other => sizes_ratio(&works),
                    Sizes::Same | Sizes::Least => Some(1.0),
                    Sizes::Unknown => None,
                },
                works,
            },
        }
    }

    /// How many times as long the target should take.
    fn expected_ratio(
        &self,
        rooflines: Pair<Option<RooflineTime>>,
        is_same_work: bool,
    ) -> Option<f64> {
        match rooflines.both() {
            Some(rooflines) if rooflines.reference.us_per_call > 0.0 => {
                Some(rooflines.target.us_per_call / rooflines.reference.us_per_call)
            }
            // On the same GPU, the same call takes the same time.
            _ if self.is_same_gpu && is_same_work => Some(1.0),
            _ => None,
        }
    }

    /// How many times as long the work of the target should take on the GPU of the reference.
    fn work_ratio(
        &self,
        work: &ComparedWork,
        reference: Option<RooflineTime>,
        expected: Option<f64>,
    ) -> f64 {
        // The basis of the rooflines used.
        let basis = reference.map_or(self.basis, |roofline| roofline.basis);
        match expected {
            Some(expected) if self.is_same_gpu => expected,
            Some(_) if work.differs => self
                .roofline_time(
                    Which::Reference,
                    &work.works.target,
                    work.n_calls.target,
                    basis,
                )
                .zip(reference)
                .filter(|(_, reference)| reference.us_per_call > 0.0)
                .map_or(1.0, |(roofline, reference)| {
                    roofline.us_per_call / reference.us_per_call
                }),
            _ => 1.0,
        }
    }

    /// For both sides, the work of the side with the lower roofline time, and how often it does it; or that of the only
    /// side whose work is known.
    fn least(&self, works: Pair<Vec<(Work, u64)>>, ops: Pair<&OpSide>) -> ComparedWork {
        let rooflines = Pair::of(|which| {
            let units = ops.get(which).calls;
            let any = Which::ALL.into_iter();
            any.rev()
                .find_map(|gpu| self.roofline_time(gpu, works.get(which), units, self.basis))
        });
        let n_operations = ops.map(|op| op.operations.len());
        let from = match (rooflines.reference, rooflines.target) {
            (Some(reference), Some(target)) if target.us_per_call < reference.us_per_call => {
                Which::Target
            }
            (Some(_), _) => Which::Reference,
            (None, Some(_)) => Which::Target,
            (None, None) => return ComparedWork::default(),
        };
        let is_one = rooflines.both().is_none();
        let is_of_more = n_operations.get(from) > n_operations.get(from.other());
        let (works, n_calls) = (works.get(from).clone(), ops.get(from).calls);
        ComparedWork {
            works: Pair::of(|_| works.clone()),
            n_calls: Pair::of(|_| n_calls),
            is_ratio_only: is_one && is_of_more,
            ..ComparedWork::default()
        }
    }

    /// The roofline for an average call, with the bound and the basis of the operation with the most time.
    fn roofline_time(
        &self,
        which: Which,
        works: &[(Work, u64)],
        n_calls: u64,
        basis: Basis,
    ) -> Option<RooflineTime> {
        let gpu = self.gpus.get(which).as_deref()?;
        let mut all_us = 0.0;
        let mut longest: Option<(f64, Roofline)> = None;
        for (work, calls) in works {
            let roofline = roofline(work, gpu, basis)?;
            let us = roofline.time_us * *calls as f64;
            all_us += us;
            if longest.is_none_or(|(most, _)| us > most) {
                longest = Some((us, roofline));
            }
        }
        let (_, roofline) = longest?;
        Some(RooflineTime {
            us_per_call: all_us / n_calls.max(1) as f64,
            bound: roofline.bound,
            basis: roofline.basis,
        })
    }
}

/// Whether one roofline uses a peak and the other an achievable figure.
fn is_mixed(rooflines: &Pair<Option<RooflineTime>>) -> bool {
    let bases = rooflines
        .map(|roofline| roofline.map(|roofline| roofline.basis))
        .both();
    bases.is_some_and(|bases| bases.reference != bases.target)
}

/// The names of the devices that a trace was recorded on, without their counts: "NVIDIA H100" from "2 × NVIDIA H100".
fn device_names(recorded_on: &str) -> Vec<&str> {
    let names = recorded_on.split(", ");
    names
        .map(|name| name.split_once(" × ").map_or(name, |(_, name)| name))
        .collect()
}
