//! A profile with what the user chose and what the GPU makes of it: what findings are looked for in.

use super::{Judged, ReportOptions, Timelines};
use crate::base::interval::sum;
use crate::hardware::{GpuSpec, detect};
use crate::names::Family;
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// The GPU that the trace names: looked up once, and asked for by every operation.
struct RecordedOn(Option<&'static GpuSpec>);

/// What every analysis reads.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The trace and what it means.
    pub profile: &'a Profile,
    /// The GPU, the basis, the thresholds.
    pub options: &'a ReportOptions,
    /// How GPU time splits.
    pub timelines: &'a Timelines,
    /// What the GPU makes of each operation of the profile, in their order.
    pub judged: &'a [Judged],
}

impl<'a> Input<'a> {
    /// All operations with their positions.
    pub fn operations(&self) -> impl Iterator<Item = (usize, &'a Operation, &'a Judged)> + use<'a> {
        let all = self.profile.operations().iter().zip(self.judged);
        all.enumerate()
            .map(|(at, (operation, judged))| (at, operation, judged))
    }

    /// The operation at a position that one of [`Input::operations`] came with.
    pub fn operation(&self, at: usize) -> &'a Operation {
        let operation = self.profile.operations().get(at);
        operation.expect("positions come from the profile's own operations")
    }

    /// What the GPU makes of it.
    pub fn judged(&self, at: usize) -> &'a Judged {
        let judged = self.judged.get(at);
        judged.expect("all operations of a profile are judged")
    }

    /// From the first start to the last end of GPU activity; `None` without any.
    pub fn total_ns(&self) -> Option<i64> {
        let whole = self.timelines.whole.as_ref()?;
        Some(whole.total_ns()).filter(|ns| *ns > 0)
    }

    /// How long operations compute while nothing communicates or copies, on one GPU.
    pub(crate) fn computing_alone_ns(&self) -> i64 {
        let computing = self.operations();
        let computing = computing.filter(|(_, operation, _)| operation.family.computes());
        sum(computing.map(|(.., judged)| judged.run_ns))
    }

    /// Whether there is work of a kind that counts.
    pub(crate) fn has(&self, family: Family) -> bool {
        let mut operations = self.operations();
        operations.any(|(_, operation, _)| operation.family == family)
    }

    /// A time as a share of the kernel time of all that computes, in percent.
    pub fn percent_of_compute(&self, time_ns: i64) -> Option<f64> {
        let all = self.timelines.compute_ns()?;
        Some(time_ns as f64 / all as f64 * 100.0)
    }

    /// The chosen GPU.
    pub fn gpu(&self) -> Option<&'a GpuSpec> {
        self.options.gpu.as_deref()
    }

    /// Compute units of the GPU: recorded ones where the trace is of that GPU, else known ones.
    pub fn n_units(&self) -> Option<u32> {
        let gpu = self.gpu()?;
        let devices = &self.profile.trace.devices;
        let recorded_on = self.profile.once(|| RecordedOn(detect(devices)));
        let is_own = recorded_on.0.is_some_and(|own| own.id == gpu.id);
        let own = devices.first().filter(|_| is_own);
        let recorded = own.and_then(|device| device.n_sms);
        recorded.or(gpu.n_sms)
    }
}
