//! How GPU time splits into parts that do not overlap.

use serde::{Deserialize, Serialize};

use crate::base::format;
use crate::base::interval::percent_of;
use crate::profile::gpu::timeline::GpuTimeline;

/// One part of the GPU time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SplitPart {
    /// Which part.
    pub kind: SplitKind,
    /// Its length.
    pub ns: i64,
    /// Its share of the whole.
    pub percent: f64,
}

impl SplitPart {
    /// Its length, as text.
    pub fn time(&self) -> String {
        format::time_ns(self.ns)
    }

    /// Its share of the whole, as text.
    pub fn share(&self) -> String {
        format::percent(self.percent)
    }
}

/// The parts of GPU time. They do not overlap and add up to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SplitKind {
    /// Time in which anything is computed.
    Computation,
    /// Communication without concurrent computation.
    ExposedCommunication,
    /// Copies without concurrent computation or communication.
    ExposedCopies,
    /// Time in which nothing runs.
    Idle,
}

impl SplitKind {
    /// The label shown to users.
    pub fn label(self) -> &'static str {
        self.words().0
    }

    /// Its name in style sheets.
    pub fn token(self) -> &'static str {
        self.words().1
    }

    /// Whether it is shown even where it takes no time; most traces have no communication at all.
    pub fn is_always_shown(self) -> bool {
        matches!(self, SplitKind::Computation | SplitKind::Idle)
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            SplitKind::Computation => ("Computation", "computation"),
            SplitKind::ExposedCommunication => ("Exposed communication", "comm"),
            SplitKind::ExposedCopies => ("Exposed copies", "copy"),
            SplitKind::Idle => ("Idle", "idle"),
        }
    }
}

/// The parts of GPU time, in the order of the bar; empty if there is no time.
pub fn split(time: &GpuTimeline) -> Vec<SplitPart> {
    [
        (SplitKind::Computation, time.computation_ns),
        (SplitKind::ExposedCommunication, time.exposed_comm_ns),
        (SplitKind::ExposedCopies, time.exposed_memcpy_ns),
        (SplitKind::Idle, time.idle_ns),
    ]
    .into_iter()
    .filter_map(|(kind, ns)| {
        let percent = percent_of(ns, time.total_ns())?;
        Some(SplitPart { kind, ns, percent })
    })
    .collect()
}
