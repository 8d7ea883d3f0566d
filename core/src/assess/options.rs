//! The options of the user.

use std::sync::Arc;

use super::Thresholds;
use crate::hardware::{Basis, GpuSpec};
use crate::perf::UserModels;
use crate::profile::kernels::SheetEvents;

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
