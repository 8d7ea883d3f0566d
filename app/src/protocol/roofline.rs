//! The Roofline view.

use dormer_core::names::Family;
use dormer_core::report::charts::{Ceiling, MemoryRoof, Spot};
use dormer_core::report::overview::FamilyTime;
use serde::{Deserialize, Serialize};

use super::Note;

/// Asks what the Roofline view draws.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RooflineQuery;

/// The operations on the roofline of the chosen GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RooflineChart {
    /// Why there is nothing to draw; the rest is empty then.
    pub missing: Option<Missing>,
    /// What is drawn, in a sentence.
    pub lead: String,
    /// The sloping part of the roofline.
    pub memory: Option<MemoryRoof>,
    /// Its level parts, one for each kind of arithmetic in use, the highest first.
    pub ceilings: Vec<Ceiling>,
    /// The operations, the longest first.
    pub marks: Vec<Mark>,
    /// The categories of the marks, the longest first.
    pub families: Vec<FamilyTime>,
    /// How much of the time has a bandwidth and no arithmetic.
    pub without_flops: Option<String>,
    /// How much of the time is not drawn.
    pub left_out: Option<String>,
    /// What has no roofline and is not drawn either: communication, copies over a link.
    pub without_roof: Option<String>,
}

/// Why there is no roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// No GPU is chosen, and the trace names none that is known.
    Gpu,
    /// There is no GPU activity.
    Activity,
    /// No operators were recorded, so nothing says how much work a kernel does.
    Operators,
    /// Operators were recorded, and of none is it known how much work it does.
    Work,
}

/// An operation in the chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Its row in the sheet of operations.
    pub row: u32,
    /// Its name, shortened in the middle.
    pub name: String,
    /// Shapes and types of its tensors.
    pub shapes: String,
    /// Its category.
    pub family: Family,
    /// Where it stands.
    pub spot: Spot,
    /// Its share of the GPU time: its area.
    pub percent: f64,
    /// Label and value of what is said about it.
    pub figures: Vec<(String, String)>,
    /// What has to be said about how close it comes to the roofline.
    pub note: Option<Note>,
}
