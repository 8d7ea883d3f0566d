//! The options for analyzing a trace, from the command line or from the trace itself.

use std::sync::Arc;

use dormer_core::assess::Thresholds;
use dormer_core::hardware::{self, GpuSpec};
use dormer_core::profile::Profile;
use dormer_core::report::{ReportOptions, SheetEvents};

use crate::args::AnalysisArgs;

/// The options for one trace. By default, the GPU is the one that the trace names.
pub(crate) fn options(
    args: &AnalysisArgs,
    gpu: Option<&Arc<GpuSpec>>,
    profile: &Profile,
) -> ReportOptions {
    let requested = requested(args, gpu);
    ReportOptions {
        gpu: requested
            .gpu
            .or_else(|| hardware::detect(&profile.trace.devices).map(Arc::from)),
        ..requested
    }
}

/// The options for any trace: by default, the GPU is the one that each trace names.
pub(crate) fn requested(args: &AnalysisArgs, gpu: Option<&Arc<GpuSpec>>) -> ReportOptions {
    let mut thresholds = Thresholds::default();
    if let Some(us) = args.micro_idle {
        thresholds.micro_idle_us = us;
    }
    ReportOptions {
        gpu: gpu.cloned(),
        basis: args.basis,
        sheet_events: match args.all_gpu_events {
            true => SheetEvents::All,
            false => SheetEvents::Attributed,
        },
        thresholds,
        perf_models: args.perf_models.clone(),
    }
}
