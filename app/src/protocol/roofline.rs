//! The Roofline view.

use dormer_core::names::Family;
use dormer_core::report::charts::{Ceiling, MemoryRoofline, Spot};
use dormer_core::report::overview::FamilyTime;
use serde::{Deserialize, Serialize};

use super::Note;

/// Asks for the contents of the Roofline view.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RooflineQuery;

/// The operations on the roofline of the selected GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RooflineChart {
    /// Why there is nothing to draw; the rest is empty then.
    pub missing: Option<Missing>,
    /// A sentence on what the chart shows.
    pub lead: String,
    /// The sloping part of the roofline.
    pub memory: Option<MemoryRoofline>,
    /// The horizontal parts, one for each kind of arithmetic in use, the highest first.
    pub ceilings: Vec<Ceiling>,
    /// The operations, the longest first.
    pub marks: Vec<Mark>,
    /// The categories of the marks, the longest first.
    pub families: Vec<FamilyTime>,
    /// How much of the time has bytes but no FLOPs.
    pub without_flops: Option<String>,
    /// How much of the time is not drawn.
    pub left_out: Option<String>,
    /// What has no roofline and is also not drawn: communication, copies over a link.
    pub without_roofline: Option<String>,
}

/// Why there is no roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// No GPU is selected, and the trace names no known GPU.
    Gpu,
    /// There is no GPU activity.
    Activity,
    /// No operators were recorded, so the FLOPs and bytes of kernels are unknown.
    Operators,
    /// Operators were recorded, but none has known FLOPs or bytes.
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
    /// Its position.
    pub spot: Spot,
    /// Its share of the GPU time, shown as its area.
    pub percent: f64,
    /// Details, as label and value.
    pub figures: Vec<(String, String)>,
    /// A note on how close it comes to the roofline.
    pub note: Option<Note>,
}
