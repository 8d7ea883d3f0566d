//! The input of all analyses: a profile with the user's options and the evaluation of its operations on the GPU.

use super::{Evaluation, ReportOptions, Timelines};
use crate::base::interval::sum;
use crate::hardware::{GpuSpec, Vendor, detect, vendor_of};
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// The GPU named by the trace, looked up once because every operation asks for it.
struct RecordedOn(Option<&'static GpuSpec>);

/// Who makes the GPUs of the trace, looked up once.
struct RecordedVendor(Option<Vendor>);

/// The input of every analysis.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The trace and what is derived from it.
    pub profile: &'a Profile,
    /// The GPU, the basis, the thresholds.
    pub options: &'a ReportOptions,
    /// How GPU time splits.
    pub timelines: &'a Timelines,
    /// The evaluation of each operation of the profile on the GPU, in their order.
    pub evaluations: &'a [Evaluation],
}

impl<'a> Input<'a> {
    /// All operations with their indices.
    pub fn operations(
        &self,
    ) -> impl Iterator<Item = (usize, &'a Operation, &'a Evaluation)> + use<'a> {
        let all = self.profile.operations().iter().zip(self.evaluations);
        all.enumerate()
            .map(|(at, (operation, evaluation))| (at, operation, evaluation))
    }

    /// The operation with an index from [`Input::operations`].
    pub fn operation(&self, at: usize) -> &'a Operation {
        let operation = self.profile.operations().get(at);
        operation.expect("positions come from the profile's own operations")
    }

    /// Its evaluation on the GPU.
    pub fn evaluation(&self, at: usize) -> &'a Evaluation {
        let evaluation = self.evaluations.get(at);
        evaluation.expect("all operations of a profile are evaluated")
    }

    /// From the first start to the last end of GPU activity; `None` without any.
    pub fn total_ns(&self) -> Option<i64> {
        Some(self.timelines.whole.as_ref()?.total_ns()).filter(|ns| *ns > 0)
    }

    /// How long operations compute without concurrent communication or copies, on one GPU.
    pub(crate) fn computing_alone_ns(&self) -> i64 {
        let computing = self.operations();
        let computing = computing.filter(|(_, operation, _)| operation.family.computes());
        sum(computing.map(|(.., evaluation)| evaluation.run_ns))
    }

    /// Whether any operation belongs to the family.
    pub(crate) fn has(&self, family: Family) -> bool {
        let mut operations = self.operations();
        operations.any(|(_, operation, _)| operation.family == family)
    }

    /// A time as a percentage of the kernel time of all computation.
    pub fn percent_of_compute(&self, time_ns: i64) -> Option<f64> {
        let all = self.timelines.compute_ns()?;
        Some(time_ns as f64 / all as f64 * 100.0)
    }

    /// The chosen GPU.
    pub fn gpu(&self) -> Option<&'a GpuSpec> {
        self.options.gpu.as_deref()
    }

    /// Who makes the chosen GPU; without one, those that the trace was recorded on.
    pub fn vendor(&self) -> Option<Vendor> {
        let of_trace = || {
            let trace = &self.profile.trace;
            self.profile.once(|| RecordedVendor(vendor_of(trace))).0
        };
        self.gpu().and_then(|gpu| gpu.vendor).or_else(of_trace)
    }

    /// Number of compute units of the GPU: the recorded one if the trace is from that GPU, else the known one.
    pub fn n_units(&self) -> Option<u32> {
        let gpu = self.gpu()?;
        let devices = &self.profile.trace.devices;
        let recorded_on = self.profile.once(|| RecordedOn(detect(devices)));
        let is_own = recorded_on.0.is_some_and(|own| own.id == gpu.id);
        let own = devices.first().filter(|_| is_own);
        own.and_then(|device| device.n_sms).or(gpu.n_sms)
    }
}
