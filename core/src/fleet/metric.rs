//! What is compared between builds.

use serde::{Deserialize, Serialize};

use crate::base::labels::labeled;

labeled! {
    /// A time of a run, in nanoseconds.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Metric {
        /// From the first to the last GPU activity.
        Total => "Total time" as "total",
        /// The GPU computes.
        Compute => "Compute" as "compute",
        /// The GPU communicates without computing at the same time.
        ExposedComm => "Exposed communication" as "exposed_comm",
        /// The GPU is idle.
        Idle => "Idle time" as "idle",
        /// Kernels of the operations of a category.
        Category => "Category" as "category",
        /// Kernels of an operation with its arguments.
        Op => "Operation" as "op",
        /// Kernels with a name.
        Kernel => "Kernel" as "kernel",
    }
}
