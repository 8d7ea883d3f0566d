//! Two traces: what changed, by how much, and how much of it the hardware explains.
//!
//! One trace is the *target*, the one to improve; the other is the *reference* that it is compared with. Every
//! difference is target minus reference: a positive one means that the target is slower.
//!
//! ```text
//! reference: Profile, Report ─┐
//!                             ├─compare→ Comparison ─export→ Artifact
//! target:    Profile, Report ─┘                └──────→ views
//! ```

pub(crate) mod align;
pub(crate) mod amount;
pub(crate) mod causes;
pub(crate) mod caveats;
pub(crate) mod collectives;
pub(crate) mod comparison;
pub(crate) mod expected;
pub(crate) mod explained;
pub(crate) mod findings;
pub(crate) mod gap;
pub(crate) mod hardware;
pub(crate) mod headline;
pub(crate) mod lost_data;
pub(crate) mod matched_rows;
pub mod memory;
pub(crate) mod op_side;
pub(crate) mod ops;
pub(crate) mod pair;
pub(crate) mod properties;
pub(crate) mod shared_waste;
pub mod sheets;
pub(crate) mod side;
pub(crate) mod steps;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod time_parts;
pub mod tree;
pub(crate) mod words;
pub(crate) mod work_ratio;

pub use amount::{Amount, AmountBy};
pub use collectives::{CollectiveDelta, CollectiveKey};
pub use comparison::Comparison;
pub use expected::{Judgment, NotJudged, RooflineTime, Verdict};
pub use explained::{Explained, VerdictCount};
pub use gap::{Gap, GapSubject, Gaps, Saving, Waste};
pub use hardware::{Figure, HardwareRatio};
pub use matched_rows::{Named, Timed};
pub use memory::{MemoryPair, MemorySize};
pub use ops::{Helper, KernelUse, MatchLevel, MatchedOp, OpSide, Operations, UnmatchedOp};
pub use pair::{Pair, Which};
pub use properties::TraceProperties;
pub(crate) use side::base_name;
pub use side::{Side, names};
pub use steps::{StepPair, StepsBy};
pub use time_parts::{Part, PartKind, Parts, Step};
pub use work_ratio::WorkRatio;

use crate::profile::gpu::shares::Shares;
use expected::Judge;

impl Comparison {
    /// Compares two traces. Thresholds and the basis of the figures are taken from the target's report.
    pub fn new(reference: Side, target: Side) -> Comparison {
        let sides = Pair { reference, target };
        let shares = sides.map(|side| Shares::of_computation(side.profile));
        let judge = Judge::new(sides);
        let mut operations = Operations::new(sides, &shares, &judge);
        let about = sides.as_ref().map(TraceProperties::new);
        let misses_calls = about.reference.misses_calls || about.target.misses_calls;
        let amount = Amount::new(sides, &operations, misses_calls);
        let work = WorkRatio::new(&operations, &amount, misses_calls);
        if work.is_some() {
            operations.forget_sizes();
        }
        let mut comparison = Comparison {
            work,
            parts: Parts::new(sides, &shares, &operations, &amount),
            amount,
            steps: steps::steps(sides),
            memory: memory::memory(sides),
            compute_ns: sides.map(|side| side.report.timelines.compute_ns().unwrap_or(0)),
            explained: Explained::of(&operations),
            hardware: hardware::ratios(&about, &operations, &judge),
            gaps: Gaps::default(),
            waste: Vec::new(),
            operations,
            categories: matched_rows::categories(sides),
            modules: where_comparable(sides, matched_rows::modules),
            kernels: where_comparable(sides, matched_rows::kernels),
            collectives: where_comparable(sides, collectives::collectives),
            cpu_ops: matched_rows::cpu_ops(sides),
            is_same_gpu: judge.is_same_gpu,
            basis: judge.basis,
            thresholds: target.report.options.thresholds,
            sides: about,
        };
        comparison.gaps = Gaps::of(&comparison);
        causes::add(sides, &mut comparison);
        comparison.waste = shared_waste::of_both(sides, &comparison);
        comparison
    }
}

/// Rows about the GPU; none if only one of the traces has GPU activity, as the other ran the same work on the CPU.
fn where_comparable<T>(sides: Pair<Side>, rows: fn(Pair<Side>) -> Vec<T>) -> Vec<T> {
    let has_gpu = sides.map(|side| side.report.timelines.whole.is_some());
    match has_gpu.reference == has_gpu.target {
        true => rows(sides),
        false => Vec::new(),
    }
}
