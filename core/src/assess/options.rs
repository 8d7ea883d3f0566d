//! The options of the user.

use std::sync::Arc;

use super::Thresholds;
use crate::hardware::{Basis, GpuSpec, completed};
use crate::perf::UserModels;
use crate::profile::gpu::kernels::SheetEvents;
use crate::trace::Trace;

/// The options of a report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    /// The GPU to compare with; `None` if unknown.
    pub gpu: Option<Arc<GpuSpec>>,
    /// Which of its figures to use, where there are several.
    pub basis: Basis,
    /// Which GPU activity is counted in the sheets with the reference's names.
    pub sheet_events: SheetEvents,
    /// The thresholds of all judgments.
    pub thresholds: Thresholds,
    /// The user's own performance models, which take precedence over the built-in ones.
    pub perf_models: Option<Arc<UserModels>>,
}

impl ReportOptions {
    /// For a trace: a user's own GPU profile gets what it leaves open from the trace's devices.
    pub fn of_trace(&self, trace: &Trace) -> ReportOptions {
        let gpu = self.gpu.as_ref();
        let completed = gpu.and_then(|gpu| completed(gpu, &trace.devices));
        ReportOptions {
            gpu: completed.map(Arc::new).or_else(|| self.gpu.clone()),
            ..self.clone()
        }
    }
}
