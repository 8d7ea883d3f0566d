//! Two traces: what changed, by how much, and which of it the hardware explains.
//!
//! One trace is the *target*, the one to improve; the other the *reference* it is held against.
//! Every difference is target minus reference: a positive one means that the target is slower.
//!
//! ```text
//! reference: Profile, Report ─┐
//!                             ├─compare→ Comparison ─export→ Artifact
//! target:    Profile, Report ─┘                └──────→ views
//! ```

pub(crate) mod align;
pub(crate) mod amount;
pub(crate) mod categories;
pub(crate) mod caveats;
pub(crate) mod collectives;
pub(crate) mod comparison;
pub(crate) mod counterparts;
pub(crate) mod expected;
pub(crate) mod explained;
pub(crate) mod findings;
pub(crate) mod hardware;
pub(crate) mod host;
pub(crate) mod kernels;
pub(crate) mod losses;
pub(crate) mod modules;
pub(crate) mod named;
pub(crate) mod names;
pub(crate) mod ops;
pub(crate) mod pair;
pub(crate) mod parts;
pub mod sheets;
pub(crate) mod side;
#[cfg(test)]
pub(crate) mod testing;
pub mod tree;
pub(crate) mod words;

pub use amount::{Amount, AmountBy};
pub use categories::CategoryDelta;
pub use collectives::{CollectiveDelta, CollectiveKey};
pub use comparison::{About, Comparison};
pub use expected::{Judgement, NotJudged, Roof, Verdict};
pub use explained::{Explained, VerdictCount};
pub use findings::{Gap, Gaps, Saving, Subject};
pub use hardware::{Figure, HardwareRatio};
pub use host::HostDelta;
pub use kernels::KernelDelta;
pub use modules::{ModuleDelta, ModuleTally};
pub use named::{Named, Tally, Timed};
pub(crate) use names::base_name;
pub use names::names;
pub use ops::{KernelUse, LoneOp, MatchLevel, MatchedOp, OpSide, Operations, TimedCalls};
pub use pair::{Pair, Which};
pub use parts::{Part, PartKind, Parts, Step};
pub use side::Side;
