//! What the user chooses.

use std::sync::Arc;

use super::Thresholds;
use crate::hardware::{Basis, GpuSpec};
use crate::perf::UserModels;
use crate::profile::kernels::SheetEvents;

/// The choices a report is made with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReportOptions {
    /// The hardware to judge by; `None` when it is not known.
    pub gpu: Option<Arc<GpuSpec>>,
    /// Which of its figures to judge by, where they are known.
    pub basis: Basis,
    /// Which GPU activity the sheets count that have the reference's names.
    pub sheet_events: SheetEvents,
    /// Where the lines are drawn.
    pub thresholds: Thresholds,
    /// The user's own performance models, which go before the built-in ones.
    pub perf_models: Option<Arc<UserModels>>,
}
