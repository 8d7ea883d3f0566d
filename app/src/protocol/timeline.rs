//! The Timeline view.
//!
//! Times are nanoseconds from the start of the trace's first event, as JavaScript has numbers.
//! Rows are numbered through all lanes, from top to bottom.

use serde::{Deserialize, Serialize};

/// Asks what lanes there are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct TimelineQuery;

/// The lanes of the trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineOutline {
    /// From the first event to the end of the last.
    pub length_ns: f64,
    /// What to see here, in a sentence.
    pub lead: String,
    /// From top to bottom.
    pub lanes: Vec<LaneLine>,
    /// The part of the time that all other views are of: from its start to its end.
    pub window: Option<(f64, f64)>,
    /// The GPU activity that is shown first: from its start to its end.
    pub gpu: Option<(f64, f64)>,
    /// Color tokens; a block has the position of its own.
    pub tokens: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneLine {
    pub title: String,
    /// What is to be known of it; empty for nothing.
    pub note: String,
    pub first_row: usize,
    /// How many rows it has.
    pub rows: usize,
    /// Idle gaps of the GPU are marked behind it.
    pub has_gaps: bool,
}

/// A part of the run that the program named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    pub name: String,
    pub from_ns: f64,
    pub to_ns: f64,
    /// When the GPU worked for it, to be analyzed alone: start and end.
    pub window: (u64, u64),
    /// How long that is.
    pub window_length: String,
}

/// Asks what some rows look like. The blocks travel beside the answer, [`BLOCK_BYTES`] each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DrawQuery {
    /// Time at the left edge.
    pub from_ns: f64,
    /// Nanoseconds in a pixel.
    pub ns_per_px: f64,
    /// Pixels.
    pub width_px: f64,
    pub first_row: usize,
    /// The row after the last.
    pub end_row: usize,
}

/// A block as it travels: left and right edge in pixels (`f32`), the event's number (`u32`), and
/// row, hue and fill (`u16`, `u8`, `u8`), little-endian.
pub const BLOCK_BYTES: usize = 16;

/// What does not travel as bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Names of blocks with room for one, by their position.
    pub labels: Vec<(u32, String)>,
    /// Idle gaps that can be seen.
    pub gaps: Vec<GapMark>,
}

/// A time in which the GPU did nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GapMark {
    /// Left edge in pixels.
    pub left_px: f32,
    /// Right edge in pixels.
    pub right_px: f32,
    /// Its length and its cause.
    pub text: String,
}

/// Asks about one event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SpanQuery {
    /// What is drawn in a row at a time, or near it.
    At(GlanceQuery),
    /// The event of a number.
    Event(u32),
    /// What stands beside it.
    Beside(u32, Towards),
}

/// Asks what to say at the pointer: little, of what is drawn in a row at a time or near it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GlanceQuery {
    pub row: usize,
    pub ns: f64,
    /// How far away it may be.
    pub within_ns: f64,
}

/// A direction in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Towards {
    /// The one before in its row.
    Before,
    /// The one after in its row.
    After,
    /// The nearest one in the rows above.
    Above,
    /// The nearest one in the rows below.
    Below,
}

/// One event, for a card. At the pointer it has little: its place, its name shortened in the middle,
/// and the fields that matter most.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanCard {
    /// Its number: `N` of `dormer tree --uid N`.
    pub uid: u32,
    /// Where it is drawn.
    pub row: usize,
    pub from_ns: f64,
    pub to_ns: f64,
    pub name: String,
    /// What it was recorded as.
    pub kind: String,
    /// The color token of its category.
    pub token: String,
    /// What is known of it: label and value.
    pub fields: Vec<(String, String)>,
    /// The other ends of its arrows: kernels that it launched, or the call that launched it.
    pub arrows: Vec<ArrowEnd>,
    /// The call tree has it, or the call that launched it.
    pub in_tree: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArrowEnd {
    pub row: usize,
    pub ns: f64,
}

/// Asks what happened in a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RangeQuery {
    pub from_ns: f64,
    pub to_ns: f64,
}

/// What happened in a part of the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeCard {
    pub length: String,
    /// How it splits.
    pub parts: Vec<RangePart>,
    /// Kernels, copies and fills.
    pub n_work: String,
    /// The longest of it.
    pub work: Vec<RangeLine>,
    /// How many names more there are.
    pub more: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangePart {
    pub label: String,
    pub time: String,
    pub share: String,
}

/// GPU activity of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeLine {
    /// The operator or kernel.
    pub name: String,
    /// The color token of its category.
    pub token: String,
    /// Pieces of work.
    pub count: String,
    /// Their time inside the range.
    pub time: String,
    /// Its first event.
    pub uid: u32,
}
