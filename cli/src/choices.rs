//! What a trace is judged by: from the command line, else from the trace itself.

use std::sync::Arc;

use dormer_core::assess::Thresholds;
use dormer_core::hardware::{self, GpuSpec};
use dormer_core::profile::Profile;
use dormer_core::report::{ReportOptions, SheetEvents};

use crate::args::JudgeArgs;

/// The choices for one trace. Without a GPU it is the one that the trace names.
pub(crate) fn options(
    args: &JudgeArgs,
    gpu: Option<&Arc<GpuSpec>>,
    profile: &Profile,
) -> ReportOptions {
    let asked = asked(args, gpu);
    ReportOptions {
        gpu: asked
            .gpu
            .or_else(|| hardware::detect(&profile.trace.devices).map(Arc::from)),
        ..asked
    }
}

/// The choices for any trace: without a GPU, that which each names is meant.
pub(crate) fn asked(args: &JudgeArgs, gpu: Option<&Arc<GpuSpec>>) -> ReportOptions {
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
