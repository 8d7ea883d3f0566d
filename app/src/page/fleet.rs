//! Many traces, from the page's point of view.

use std::sync::Arc;

use crate::protocol::{Failure, FleetOpened};

/// The slug of the view of a fleet.
pub const VIEW: &str = "fleet";

/// What the page is doing with a summary of many traces.
#[derive(Debug, Clone, Default)]
pub enum FleetStage {
    /// There is no summary.
    #[default]
    Empty,
    Reading,
    /// It cannot be read.
    Failed(Failure),
    Open {
        /// The name of its file.
        name: String,
        opened: Arc<FleetOpened>,
        /// Milliseconds from choosing the file until it was open.
        ms: f64,
    },
}

impl FleetStage {
    pub fn is_open(&self) -> bool {
        matches!(self, FleetStage::Open { .. })
    }
}
