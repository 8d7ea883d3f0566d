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

mod align;
mod amount;
mod categories;
mod caveats;
mod collectives;
mod comparison;
mod counterparts;
pub mod documents;
mod expected;
mod explained;
pub mod export;
mod findings;
mod hardware;
mod host;
mod json;
mod kernels;
mod losses;
mod modules;
mod named;
mod names;
mod ops;
mod pair;
mod parts;
pub mod sheets;
mod side;
#[cfg(test)]
mod testing;
pub mod tree;
mod words;

pub use amount::{Amount, AmountBy};
pub use categories::CategoryDelta;
pub use collectives::{CollectiveDelta, CollectiveKey};
pub use comparison::{About, Comparison};
pub use expected::{Judgement, NotJudged, Roof, Verdict};
pub use explained::{Explained, VerdictCount};
pub use findings::{Gap, Gaps, Saving, Subject};
pub use hardware::{Figure, HardwareRatio};
pub use host::HostDelta;
pub use json::comparison_json;
pub use kernels::KernelDelta;
pub use modules::{ModuleDelta, ModuleTally};
pub use named::{Named, Tally, Timed};
pub(crate) use names::base_name;
pub use names::names;
pub use ops::{KernelUse, LoneOp, MatchLevel, MatchedOp, OpSide, Operations, TimedCalls};
pub use pair::{Pair, Which};
pub use parts::{Part, PartKind, Parts, Step};
pub use side::Side;
