//! Shapes of kernels that a GPU graph replays, of which no operator was recorded.

use std::sync::Arc;

use crate::perf::model_config::ModelConfig;

/// What a user gives beside a trace to tell the shapes of replayed kernels.
#[derive(Debug, Clone, Default)]
pub struct ShapeSources {
    /// The configuration of the model.
    pub config: Option<Arc<ModelConfig>>,
}
