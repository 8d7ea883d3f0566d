//! The Timeline view.
//!
//! Times are nanoseconds from the start of the trace's first event, as JavaScript has numbers.
//! Rows are numbered through all lanes, from top to bottom.

use serde::{Deserialize, Serialize};

use super::Direction;

/// Asks what lanes there are. Whatever is asked afterwards is about these.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct TimelineQuery {
    /// Those of the reference, too, below those of the target; nothing without a reference.
    pub below: Option<Align>,
}

/// One of the traces that are open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceSide {
    #[default]
    Target,
    Reference,
    /// Of the ranks of a job that are shown below both.
    Third,
    Fourth,
}

impl TraceSide {
    /// From top to bottom.
    pub const ALL: [TraceSide; 4] = [
        TraceSide::Target,
        TraceSide::Reference,
        TraceSide::Third,
        TraceSide::Fourth,
    ];

    /// Its position among the traces below the target; `None` for that.
    pub fn below(self) -> Option<usize> {
        (self as usize).checked_sub(1)
    }
}

/// What of two traces stands at the same time of the timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Align {
    /// Their first events.
    #[default]
    Start,
    /// Their first GPU activity.
    Gpu,
    /// The starts of the parts that are analyzed: a step of the same name.
    Analyzed,
    /// What happened at the same time, by the corrected clocks of their job.
    Clock,
}

impl Align {
    pub const ALL: [Align; 4] = [Align::Start, Align::Gpu, Align::Analyzed, Align::Clock];

    /// In a link.
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
    /// How busy the GPU is, 0 to 1, in each of [`MINIMAP_PARTS`] equal parts of the recording; the CPU
    /// in a trace without GPU activity.
    pub minimap: Vec<f32>,
    /// The reference, and what is shown below it: their lanes follow those of the target.
    pub below: Vec<TraceBelow>,
}

/// The reference of a comparison, or another rank of a job, below the target's timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceBelow {
    pub side: TraceSide,
    /// What it is called.
    pub name: String,
    /// What is to be known of its place in time.
    pub note: String,
    /// What stands at the same time.
    pub align: Align,
    /// What can.
    pub aligns: Vec<Align>,
    /// The part of its time that is analyzed: from its start to its end.
    pub window: Option<(f64, f64)>,
    /// As that of the target.
    pub minimap: Vec<f32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaneLine {
    pub side: TraceSide,
    /// What its trace is called; empty while only one is shown.
    pub trace: String,
    pub title: String,
    /// What is to be known of it; empty for nothing.
    pub note: String,
    pub first_row: usize,
    /// How many rows it has.
    pub rows: usize,
    /// Idle gaps of the GPU are marked behind it.
    pub has_gaps: bool,
    /// So many rows from the top have one call alone, which all others run inside.
    pub stack: usize,
    /// A number over time, which has no rows.
    pub counter: Option<CounterLine>,
}

/// A number over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterLine {
    /// Its position among the counters.
    pub number: u32,
    /// Its greatest value, which is as high as its lane.
    pub most: f64,
    /// That, with its unit.
    pub most_text: String,
}

/// Parts that the minimap has.
pub const MINIMAP_PARTS: usize = 1000;

/// Looks for the next event whose name contains a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindEvents {
    /// Case does not count. Empty for no search.
    pub text: String,
    /// The trace to look in first.
    pub side: TraceSide,
    /// The event of that trace to start from.
    pub from: Option<u32>,
    /// Without one, the time to start from.
    pub from_ns: f64,
    pub direction: Direction,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundEvents {
    /// The event to go to.
    pub card: Option<SpanCard>,
    /// The how many-eth that is, by start; zero for none.
    pub position: usize,
    /// How many there are.
    pub of: usize,
    /// The parts of the minimap in which some start, ascending.
    pub marks: Vec<u16>,
    /// The same of each trace below.
    pub marks_below: Vec<Vec<u16>>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawQuery {
    /// Time at the left edge.
    pub from_ns: f64,
    /// Nanoseconds in a pixel.
    pub ns_per_px: f64,
    /// Pixels.
    pub width_px: f64,
    pub rows: Vec<usize>,
    /// Numbers of counters.
    pub counters: Vec<u32>,
}

/// A block as it travels: left and right edge in pixels (`f32`), the event's number (`u32`), and
/// row, hue and fill (`u16`, `u8`, `u8`), little-endian.
pub const BLOCK_BYTES: usize = 16;

/// The hue of a block that is none: it marks where events lie whose name contains the text that is
/// searched, and which are too short to be drawn by themselves.
pub const MARK_HUE: u8 = u8::MAX;

/// What does not travel as bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Names of blocks with room for one, by their position.
    pub labels: Vec<(u32, String)>,
    /// Idle gaps that can be seen.
    pub gaps: Vec<GapMark>,
    /// Blocks of one event whose name contains the text that is searched, by their position.
    pub hits: Vec<u32>,
    /// By number of a counter: its greatest value in each pixel.
    pub counters: Vec<(u32, Vec<f32>)>,
}

/// A time in which the GPU did nothing.
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
    /// What is drawn in a row at a time, or near it.
    At(GlanceQuery),
    /// The target's event of a number.
    Event(u32),
    /// What stands beside the event of a number.
    Beside(TraceSide, u32, Towards),
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
    pub side: TraceSide,
    /// What its trace is called; empty while only one is shown.
    pub trace: String,
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
    /// The GPU's idle time that ends as it starts: its start.
    pub gap_from_ns: Option<f64>,
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
    /// What the trace is called; empty while only one is shown.
    pub trace: String,
    pub length: String,
    /// How it splits.
    pub parts: Vec<RangePart>,
    /// Kernels, copies and fills.
    pub n_work: String,
    /// The longest of it.
    pub work: Vec<RangeLine>,
    /// How many names more there are.
    pub more: usize,
    /// The same part of the time in each trace below.
    pub below: Vec<RangeBelow>,
}

/// What happened in a trace below in a part of the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RangeBelow {
    /// What the trace is called.
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
