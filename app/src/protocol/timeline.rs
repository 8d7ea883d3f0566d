//! The Timeline view.
//!
//! Times are nanoseconds from the start of the trace's first event, as floats like JavaScript's numbers. Rows are
//! numbered across all lanes, from top to bottom.

use serde::{Deserialize, Serialize};

use super::Direction;

/// Asks for the lanes. All later queries refer to these.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct TimelineQuery {
    /// Includes the reference's lanes below those of the target, if there is a reference.
    pub below: Option<Align>,
}

/// One of the open traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceSide {
    #[default]
    Target,
    Reference,
    /// The first rank of a job that is shown below both.
    Third,
    Fourth,
}

impl TraceSide {
    /// All traces, from top to bottom.
    pub const ALL: [TraceSide; 4] = [
        TraceSide::Target,
        TraceSide::Reference,
        TraceSide::Third,
        TraceSide::Fourth,
    ];

    /// Its index among the traces below the target; `None` for the target.
    pub fn below(self) -> Option<usize> {
        (self as usize).checked_sub(1)
    }
}

/// Which points of two traces are aligned in the timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Align {
    /// Their first events.
    #[default]
    Start,
    /// Their first GPU activity.
    Gpu,
    /// The starts of the analyzed parts: a step of the same name.
    Analyzed,
    /// Simultaneous moments, by the corrected clocks of their job.
    Clock,
}

impl Align {
    pub const ALL: [Align; 4] = [Align::Start, Align::Gpu, Align::Analyzed, Align::Clock];

    /// The word for it in links.
    pub fn word(self) -> &'static str {
        match self {
            Align::Start => "start",
            Align::Gpu => "gpu",
            Align::Analyzed => "analyzed",
            Align::Clock => "clock",
        }
    }

    pub fn parse(word: &str) -> Option<Align> {
        Align::ALL.into_iter().find(|align| align.word() == word)
    }

    pub fn label(self) -> &'static str {
        match self {
            Align::Start => "first event",
            Align::Gpu => "first GPU activity",
            Align::Analyzed => "analyzed step",
            Align::Clock => "corrected clock of the job",
        }
    }
}

/// The lanes of the trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineOutline {
    /// From the first event to the end of the last.
    pub length_ns: f64,
    /// A sentence on what the timeline shows.
    pub lead: String,
    /// The lanes, from top to bottom.
    pub lanes: Vec<LaneLine>,
    /// The time range that all other views show: start and end.
    pub window: Option<(f64, f64)>,
    /// The GPU activity that is shown initially: start and end.
    pub gpu: Option<(f64, f64)>,
    /// Color tokens; a block refers to its token by index.
    pub tokens: Vec<String>,
    /// The busy share, 0 to 1, of the GPU in each of [`MINIMAP_PARTS`] equal parts of the recording; of the CPU in a
    /// trace without GPU activity.
    pub minimap: Vec<f32>,
    /// The reference and further traces below it; their lanes follow those of the target.
    pub below: Vec<TraceBelow>,
}

/// The reference of a comparison, or another rank of a job, below the target's timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceBelow {
    pub side: TraceSide,
    /// Its name.
    pub name: String,
    /// A note on its alignment.
    pub note: String,
    /// The current alignment.
    pub align: Align,
    /// The available alignments.
    pub aligns: Vec<Align>,
    /// The time range that is analyzed: start and end.
    pub window: Option<(f64, f64)>,
    /// Like that of the target.
    pub minimap: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaneLine {
    pub side: TraceSide,
    /// The name of its trace; empty if only one is shown.
    pub trace: String,
    pub title: String,
    /// A note about it, or empty.
    pub note: String,
    pub first_row: usize,
    /// Number of rows.
    pub rows: usize,
    /// Whether the GPU's idle gaps are marked behind it.
    pub has_gaps: bool,
    /// Number of rows at the top that have a single call, which contains all others.
    pub stack: usize,
    /// Set for a counter over time, which has no rows.
    pub counter: Option<CounterLine>,
}

/// A counter over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterLine {
    /// Its index among the counters.
    pub number: u32,
    /// Its maximum, at the top of its lane.
    pub most: f64,
    /// The maximum, formatted with its unit.
    pub most_text: String,
}

/// Number of parts of the minimap.
pub const MINIMAP_PARTS: usize = 1000;

/// Looks for the next event whose name contains a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindEvents {
    /// Case is ignored. Empty if there is no search.
    pub text: String,
    /// The trace to look in first.
    pub side: TraceSide,
    /// The event of that trace at which to start.
    pub from: Option<u32>,
    /// The time at which to start if there is no event.
    pub from_ns: f64,
    pub direction: Direction,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundEvents {
    /// The event to go to.
    pub card: Option<SpanCard>,
    /// Its position among the matches, by start, from 1; zero for none.
    pub position: usize,
    /// Number of matches.
    pub of: usize,
    /// The parts of the minimap in which matches start, ascending.
    pub marks: Vec<u16>,
    /// The same for each trace below.
    pub marks_below: Vec<Vec<u16>>,
}

/// A part of the run that the program named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    pub name: String,
    pub from_ns: f64,
    pub to_ns: f64,
    /// Start and end of its GPU activity, for analyzing it alone.
    pub window: (u64, u64),
    /// The length of that window.
    pub window_length: String,
}

/// Asks for the blocks of some rows. They are sent alongside the answer, [`BLOCK_BYTES`] each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawQuery {
    /// Time at the left edge.
    pub from_ns: f64,
    /// Nanoseconds per pixel.
    pub ns_per_px: f64,
    /// Width in pixels.
    pub width_px: f64,
    pub rows: Vec<usize>,
    /// Indices of counters.
    pub counters: Vec<u32>,
}

/// The binary format of a block: left and right edge in pixels (`f32`), the event's number (`u32`), and row, hue and
/// fill (`u16`, `u8`, `u8`), little-endian.
pub const BLOCK_BYTES: usize = 16;

/// The hue of a pseudo-block that marks search matches which are too short to be drawn individually.
pub const MARK_HUE: u8 = u8::MAX;

/// The part of the answer that is not sent as raw bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Names of blocks that are wide enough, by index of the block.
    pub labels: Vec<(u32, String)>,
    /// Visible idle gaps.
    pub gaps: Vec<GapMark>,
    /// Indices of single-event blocks that match the search.
    pub hits: Vec<u32>,
    /// The maximum value in each pixel, by index of the counter.
    pub counters: Vec<(u32, Vec<f32>)>,
}

/// An idle gap of the GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GapMark {
    pub side: TraceSide,
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
    /// The event drawn in a row at or near a time.
    At(GlanceQuery),
    /// The target's event with a number.
    Event(u32),
    /// The neighbor of the event with a number.
    Beside(TraceSide, u32, Towards),
}

/// Asks for a short card for the pointer, about the event drawn in a row at or near a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GlanceQuery {
    pub row: usize,
    pub ns: f64,
    /// Maximum distance.
    pub within_ns: f64,
}

/// A direction in the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Towards {
    /// The previous one in its row.
    Before,
    /// The next one in its row.
    After,
    /// The nearest one in the rows above.
    Above,
    /// The nearest one in the rows below.
    Below,
}

/// The card of an event. At the pointer it is short: its position, its name shortened in the middle, and the most
/// important fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpanCard {
    pub side: TraceSide,
    /// The name of its trace; empty if only one is shown.
    pub trace: String,
    /// Its number: `N` of `dormer tree --uid N`.
    pub uid: u32,
    /// The row in which it is drawn.
    pub row: usize,
    pub from_ns: f64,
    pub to_ns: f64,
    pub name: String,
    /// The category it was recorded as.
    pub kind: String,
    /// The color token of its category.
    pub token: String,
    /// Details, as label and value.
    pub fields: Vec<(String, String)>,
    /// The other ends of its arrows: kernels that it launched, or the call that launched it.
    pub arrows: Vec<ArrowEnd>,
    /// Whether it, or the call that launched it, is in the call tree.
    pub in_tree: bool,
    /// Start of the GPU idle gap that ends when it starts.
    pub gap_from_ns: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ArrowEnd {
    pub row: usize,
    pub ns: f64,
}

/// Asks for a summary of a time range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RangeQuery {
    pub from_ns: f64,
    pub to_ns: f64,
}

/// The summary of a time range.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeCard {
    /// The name of the trace; empty if only one is shown.
    pub trace: String,
    pub length: String,
    /// How the time is divided.
    pub parts: Vec<RangePart>,
    /// Number of kernels, copies and fills.
    pub n_work: String,
    /// The longest ones.
    pub work: Vec<RangeLine>,
    /// Number of further names.
    pub more: usize,
    /// The same time range in each trace below.
    pub below: Vec<RangeBelow>,
}

/// The summary of a time range in a trace below.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeBelow {
    /// The name of the trace.
    pub trace: String,
    pub parts: Vec<RangePart>,
    pub n_work: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangePart {
    pub label: String,
    pub time: String,
    pub share: String,
}

/// GPU activity with the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RangeLine {
    /// The operator or kernel.
    pub name: String,
    /// The color token of its category.
    pub token: String,
    /// Number of kernels, copies and fills.
    pub count: String,
    /// Their time inside the range.
    pub time: String,
    /// Its first event.
    pub uid: u32,
}
