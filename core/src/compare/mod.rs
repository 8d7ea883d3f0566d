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

pub mod export;
pub mod sheets;
mod side;

pub use side::Side;
