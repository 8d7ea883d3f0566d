//! What page and worker say to each other.
//!
//! A message is a plain JavaScript object `{ id, body }`; `body` is one of the types below through
//! serde. What serde cannot carry travels beside it: a `File` on the way in, bytes on the way out.
//! Numbers come as text that `dormer-core` formatted, with the raw value where something is drawn
//! from it.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Page to worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// Analyse the `File` that travels beside this message.
    OpenFile(Choice),
    /// Analyse the built-in sample.
    OpenSample(Choice),
    /// Answer a question about the trace that is open.
    Ask(Question),
}

/// Worker to page.
#[derive(Debug, Serialize, Deserialize)]
pub enum Reply {
    /// How far opening has come.
    Progress(Progress),
    /// The trace is open.
    Opened(Box<Opened>),
    /// The file cannot be analysed.
    Failed(Failure),
    /// The value beside this message answers the question of the same id.
    Answer,
}

/// What the user chose that changes the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The GPU by name; `None` takes the one the trace names. The user's own has a mark before its
    /// name, [`crate::url::OWN`].
    pub gpu: Option<String>,
    /// The user's own figures, the text of a file, where they are to judge.
    pub profile: Option<String>,
    /// Judge by printed peaks, also where achievable figures are known.
    pub peak: bool,
    /// All GPU events, also those no host call was found for.
    pub all_gpu_events: bool,
    /// Thresholds by name that are not the usual ones.
    pub thresholds: BTreeMap<String, f64>,
}

/// Figures of a GPU, as the text of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuText {
    /// The text.
    pub text: String,
}

/// What came of reading them: a name or an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedGpu {
    /// The GPU's name.
    pub name: Option<String>,
    /// What is wrong; without a full stop.
    pub error: Option<String>,
}

/// What the worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Reading and parsing the file.
    Reading,
    /// Building the call tree and joining kernels to their ops.
    Profiling,
    /// Putting the tables together.
    Reporting,
}

impl Step {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Step::Reading => "Reading the trace",
            Step::Profiling => "Building the call tree",
            Step::Reporting => "Adding up the GPU time",
        }
    }
}

/// How far opening has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub step: Step,
    /// Bytes of the file read.
    pub bytes_read: f64,
    /// Bytes of the file.
    pub bytes_total: f64,
    /// Events found.
    pub events: f64,
}

/// Why a file cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was found, what was expected, and the way out.
    pub sentence: String,
    /// Where: the byte in the decompressed text, digits grouped.
    pub at_byte: Option<String>,
}

/// A trace that is open, and everything the header and the Overview show of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Events in the file, digits grouped.
    pub events: String,
    /// The GPUs that can be chosen, in the table's order.
    pub gpus: Vec<String>,
    /// The GPU that the trace names, if Dormer knows it.
    pub detected: Option<String>,
    /// How many GPU events no host call was found for, digits grouped; `None` where that leaves
    /// nothing to choose.
    pub unlinked: Option<String>,
    /// GPU activity was recorded.
    pub has_gpu_events: bool,
    /// PyTorch operators were recorded.
    pub has_host_ops: bool,
    /// The report under the user's choice.
    pub overview: Overview,
    /// Bytes of wasm memory the worker holds.
    pub wasm_bytes: f64,
}

/// The Overview, ready to be shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The answer in one or two sentences.
    pub headline: String,
    /// Where the recorded GPU time went; empty without GPU activity.
    pub split: Vec<SplitPart>,
    /// What to do, what is worth most first.
    pub findings: Findings,
    /// A few figures of the whole trace: label and value.
    pub facts: Vec<(String, String)>,
    /// Kernel time by Dormer's categories, largest first.
    pub families: Vec<FamilyTime>,
    /// The operations that took the most time, largest first.
    pub top: Vec<TopOperation>,
    /// What the times of `top` are, "GPU time" or "CPU time".
    pub top_measure: String,
    /// What import and profile had to say.
    pub quality: Quality,
    /// The GPU the report is judged against.
    pub gpu: GpuFacts,
}

/// What to do, what is worth most first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// In order.
    pub cards: Vec<Card>,
    /// What all of them save together.
    pub together: Option<String>,
    /// That findings were left out.
    pub small: Option<String>,
    /// Why there are none.
    pub nothing: Option<String>,
    /// One sentence for each analysis that failed.
    pub failed: Vec<String>,
}

/// A finding: what is slow, what to do about it, and what that is worth. Names from the trace
/// stand in backticks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// What it is known by while the report changes.
    pub key: String,
    /// Its number, from 1.
    pub number: usize,
    /// The colour of the number: `red`, `yellow` or `green`.
    pub light: String,
    /// A few words.
    pub title: String,
    /// How much it matters, in a word.
    pub severity: String,
    /// The analysis that found it.
    pub analysis: String,
    /// What is slow, in a sentence.
    pub issue: String,
    /// What to change in the model.
    pub model: String,
    /// What to ask of the kernel.
    pub kernel: String,
    /// What it saves; `None` where a trace cannot tell.
    pub worth: Option<Worth>,
    /// What that is estimated from, or that it is not.
    pub basis: String,
    /// What shows it, the longest first.
    pub evidence: Vec<Evidence>,
    /// How many more show it.
    pub n_more: usize,
    /// Where the report says more of it: a heading's slug.
    pub details: String,
}

/// What following a finding saves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The range of time.
    pub time: String,
    /// The range of its share of the run; empty where that is not known.
    pub share: String,
    /// How much faster the run gets; empty where that is not known.
    pub speed_up: String,
    /// The ends of the share as numbers, to draw it.
    pub percent: Option<(f64, f64)>,
    /// It is all that could be won.
    pub is_at_most: bool,
}

/// An operation or event that shows a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name, shortened in the middle.
    pub name: String,
    /// Shapes and types of its tensors.
    pub shapes: String,
    /// Its time, and of how many calls.
    pub time: String,
    /// The colour token of its category; empty where it has none.
    pub token: String,
    /// Its row in the sheet of operations.
    pub row: Option<u32>,
    /// The event to look for in the tree: the call itself, or what it launched.
    pub uid: Option<u32>,
}

/// One part of the recorded time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitPart {
    /// `computation`, `comm`, `copy` or `idle`: the colour.
    pub token: String,
    /// For people.
    pub label: String,
    /// Its time.
    pub time: String,
    /// Its share of the whole.
    pub share: String,
    /// The share as a number, to draw it.
    pub percent: f64,
}

/// Kernel time of one category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FamilyTime {
    /// The colour token.
    pub token: String,
    /// For people.
    pub label: String,
    /// Its time.
    pub time: String,
    /// Its share of all kernel time.
    pub share: String,
    /// The share as a number, to draw it.
    pub percent: f64,
}

/// One of the operations that took the most time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopOperation {
    /// Its name.
    pub name: String,
    /// The colour token of its category.
    pub token: String,
    /// Its category for people.
    pub category: String,
    /// It ran while activations were computed again.
    pub is_recompute: bool,
    /// How often it ran.
    pub count: String,
    /// Its time.
    pub time: String,
    /// Its share.
    pub share: String,
    /// The share as a number, to draw it.
    pub percent: f64,
}

/// How far the numbers can be trusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// `good`, `note`, `warn` or `bad`.
    pub level: String,
    /// One sentence that sums it up.
    pub sentence: String,
    /// One line for each kind of trouble, worst first.
    pub lines: Vec<QualityLine>,
}

/// One kind of trouble.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QualityLine {
    /// `good`, `note`, `warn` or `bad`.
    pub level: String,
    /// What it means and what was done.
    pub sentence: String,
    /// How often, and at which byte first.
    pub detail: String,
}

/// The GPU the report is judged against.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Its name; `None` when it is neither told by the trace nor chosen.
    pub name: Option<String>,
    /// Label and value of each figure.
    pub figures: Vec<(String, String)>,
    /// Whether they are peak or achievable figures, and where they come from.
    pub basis: String,
    /// Some are peak and some achievable figures.
    pub mixed: bool,
}

/// A question with the type of its answer.
pub trait Query: Into<Question> {
    /// What the worker answers.
    type Answer: Serialize + DeserializeOwned + 'static;
}

/// Every question, as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub enum Question {
    /// Judge the trace under another choice.
    Choose(Choice),
    /// Read figures of a GPU.
    CheckGpu(GpuText),
    /// A window of a table.
    Rows(RowsQuery),
    /// Everything about one row of a table.
    Row(RowQuery),
    /// A window of the call tree.
    TreeRows(TreeRowsQuery),
    /// Open or close nodes of the call tree.
    Unfold(Unfold),
    /// The next node of a name.
    FindInTree(FindInTree),
    /// What the Roofline view draws.
    Roofline(RooflineQuery),
    /// A report as Markdown.
    Markdown(MarkdownQuery),
    /// What can be downloaded.
    Artifacts(ArtifactsQuery),
    /// One artifact; its bytes travel beside the answer.
    Artifact(ArtifactQuery),
}

macro_rules! queries {
    ($($variant:ident($query:ty) -> $answer:ty;)*) => {$(
        impl Query for $query {
            type Answer = $answer;
        }
        impl From<$query> for Question {
            fn from(query: $query) -> Question {
                Question::$variant(query)
            }
        }
    )*};
}

queries! {
    Choose(Choice) -> Overview;
    CheckGpu(GpuText) -> CheckedGpu;
    Rows(RowsQuery) -> RowsPage;
    Row(RowQuery) -> Vec<Field>;
    TreeRows(TreeRowsQuery) -> TreePage;
    Unfold(Unfold) -> TreeChange;
    FindInTree(FindInTree) -> Option<TreeMatch>;
    Roofline(RooflineQuery) -> RooflineChart;
    Markdown(MarkdownQuery) -> String;
    Artifacts(ArtifactsQuery) -> Vec<ArtifactLine>;
    Artifact(ArtifactQuery) -> Option<MadeArtifact>;
}

/// The order of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// The column's label.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// The column that every table has beside its sheet's: Dormer's own category.
pub const FAMILY: &str = "family";
/// A column beside those of a sheet of operations: shapes and types of the tensors, for people.
pub const SHAPES: &str = "shapes";
/// A column beside those of a sheet of operations: kernel time in milliseconds.
pub const TIME_MS: &str = "time_ms";
/// A column beside those of a sheet of operations: what keeps the GPU from being faster, in a word.
pub const BOUND: &str = "bound";

/// Asks for rows `offset .. offset + count` of a sheet, filtered and sorted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowsQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Labels of the wanted columns, in the wanted order; those beside the sheet's among them.
    pub columns: Vec<String>,
    /// Text that one of the row's text cells must contain; case does not count.
    pub find: String,
    /// Colour tokens of the categories that are wanted; empty for all.
    pub only: Vec<String>,
    /// The order; `None` leaves the sheet's own.
    pub sort: Option<Sort>,
    /// First row.
    pub offset: usize,
    /// Number of rows.
    pub count: usize,
    /// A row of the sheet whose place in this order is wanted.
    pub locate: Option<usize>,
}

/// A window of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RowsPage {
    /// What each wanted column means; `None` for those that the sheet does not have.
    pub docs: Vec<Option<String>>,
    /// Where the row that was to be located stands; `None` where the filter leaves it out.
    pub located: Option<usize>,
    /// Rows of the sheet.
    pub total: usize,
    /// Rows that the filter leaves.
    pub matching: usize,
    /// Position of the first row below.
    pub offset: usize,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its position in the sheet, whatever the order on screen.
    pub row: usize,
    /// The colour token of its family.
    pub token: String,
    /// One for each wanted column.
    pub cells: Vec<TableCell>,
}

/// One cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// As it is shown; empty when unknown.
    pub text: String,
    /// The whole text, where `text` is shortened.
    pub whole: Option<String>,
    /// The number in the unit of the column.
    pub number: Option<f64>,
    /// What has to be said about it.
    pub note: Option<Note>,
}

/// What has to be said about a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// It cannot be: why.
    Odd(String),
    /// It is measured by another figure than those around it: by which.
    Aside(String),
}

/// Asks for everything about one row of a sheet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowQuery {
    /// The sheet's name.
    pub sheet: String,
    /// Its position in the sheet.
    pub row: usize,
}

/// One column of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The column's label.
    pub label: String,
    /// What the column means.
    pub doc: String,
    /// The value, whole.
    pub value: String,
}

/// Asks for rows `offset .. offset + count` of the unfolded call tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TreeRowsQuery {
    /// First row.
    pub offset: usize,
    /// Number of rows.
    pub count: usize,
}

/// A window of the unfolded call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreePage {
    /// Rows in all.
    pub total: usize,
    /// Position of the first row below.
    pub offset: usize,
    /// The rows.
    pub rows: Vec<TreeRow>,
}

/// One node of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeRow {
    /// The node; stays the same while the trace is open.
    pub node: u32,
    /// How deep it lies; a thread is 0.
    pub depth: u32,
    /// Shortened in the middle.
    pub name: String,
    /// The whole name, where `name` is shortened.
    pub whole: Option<String>,
    /// What it is: "CPU op", "Python function", "thread" …
    pub kind: String,
    /// The colour token of its category; empty where it has none.
    pub token: String,
    /// `None` for a leaf, else whether its children are shown.
    pub open: Option<bool>,
    /// GPU time of everything it launched, directly or below.
    pub gpu_time: String,
    /// That time as a share of all GPU time, to draw it.
    pub gpu_percent: Option<f64>,
    /// How many kernels, copies and fills those are.
    pub gpu_count: String,
    /// Its own duration on the host.
    pub cpu_time: String,
    /// Position among its siblings, from 1.
    pub position: u32,
    /// Number of siblings, itself included.
    pub siblings: u32,
    /// `N` of `dormer tree --uid N`; `None` for a thread.
    pub uid: Option<u32>,
}

/// Opens or closes nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unfold {
    /// Shows a node's children, or hides them.
    Toggle(u32),
    /// Follows the child with the most GPU time, from a node or from the top, down to the call
    /// that launches the work.
    Hottest(Option<u32>),
    /// Opens whatever lies above a node.
    Reveal(u32),
    /// The same for the call that an event is, or that launched it: `N` of `dormer tree --uid N`.
    RevealEvent(u32),
    /// Goes to the parent of a node; opens and closes nothing.
    Parent(u32),
    /// Closes everything but the threads.
    CloseAll,
}

/// What opening and closing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeChange {
    /// Rows in all.
    pub total: usize,
    /// The row to go to, and its node; `None` where there is none to go to.
    pub target: Option<TreeTarget>,
}

/// A row of the unfolded call tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeTarget {
    /// Its position.
    pub row: usize,
    /// Its node.
    pub node: u32,
}

/// Looks for the next node whose name contains `text`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindInTree {
    /// The text; case does not count.
    pub text: String,
    /// The node to start from; `None` starts at the top.
    pub from: Option<u32>,
    /// Which way.
    pub direction: Direction,
}

/// Which way a search goes. Both ways it goes around the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Stays at the node if it still fits, else goes down: the text is being typed.
    Here,
    /// Down.
    Next,
    /// Up.
    Previous,
}

/// A node that was found; everything above it is open now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMatch {
    /// Where it is now.
    pub target: TreeTarget,
    /// The how many-eth match it is, from 1.
    pub position: usize,
    /// Matches in all.
    pub matches: usize,
}

/// Asks what the Roofline view draws.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RooflineQuery;

/// The operations on the roof of the chosen GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RooflineChart {
    /// Why there is nothing to draw; the rest is empty then.
    pub missing: Option<Missing>,
    /// What is drawn, in a sentence.
    pub lead: String,
    /// The sloping part of the roof.
    pub memory: Option<MemoryRoof>,
    /// Its level parts, one for each kind of arithmetic in use, the highest first.
    pub ceilings: Vec<Ceiling>,
    /// The operations, the longest first.
    pub marks: Vec<Mark>,
    /// The categories of the marks, the longest first.
    pub families: Vec<RoofFamily>,
    /// How much of the time has a bandwidth and no arithmetic.
    pub without_flops: Option<String>,
    /// How much of the time is not drawn.
    pub left_out: Option<String>,
}

/// Why there is no roofline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// No GPU is chosen, and the trace names none that is known.
    Gpu,
    /// No GPU activity was recorded.
    Activity,
    /// No operators were recorded, so nothing says how much work a kernel does.
    Operators,
    /// Operators were recorded, and of none is it known how much work it does.
    Work,
}

/// The part of the roof that the memory makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryRoof {
    /// For people.
    pub label: String,
    /// The figure alone, where there is little room.
    pub short: String,
    /// The bandwidth.
    pub tb_per_s: f64,
}

/// The part of the roof that arithmetic units make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// For people: the units and precisions that have this rate, what it is worth, and the rate.
    pub label: String,
    /// The figure alone, where there is little room.
    pub short: String,
    /// Its height.
    pub tflops: f64,
    /// The FLOPs per byte at which it meets the memory's part.
    pub ridge: f64,
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
    /// The colour token of its category.
    pub token: String,
    /// Its category for people.
    pub family: String,
    /// Where it stands.
    pub spot: Spot,
    /// Its share of the GPU time: its area.
    pub percent: f64,
    /// Label and value of what is said about it.
    pub figures: Vec<(String, String)>,
    /// What has to be said about how close it comes to the roof.
    pub note: Option<Note>,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Spot {
    /// Under the roof.
    Roof {
        /// FLOPs per byte.
        intensity: f64,
        /// The rate of its arithmetic.
        tflops_per_s: f64,
    },
    /// On the line of those that do no arithmetic.
    Bandwidth {
        /// The rate of its memory traffic.
        tb_per_s: f64,
    },
}

/// A category in the legend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoofFamily {
    /// The colour token.
    pub token: String,
    /// For people.
    pub label: String,
    /// Its share of the GPU time.
    pub share: String,
}

/// Asks for a report as Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkdownQuery {
    /// For those who decide.
    Fair,
    /// For those who check.
    Rough,
}

/// Asks what can be downloaded.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ArtifactsQuery;

/// Something that can be downloaded. It is made when it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactLine {
    /// Its path, as the command line writes it.
    pub path: String,
    /// What it is, for people.
    pub title: String,
}

/// Asks for the bytes of one artifact; they travel beside the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ArtifactQuery {
    /// Its path.
    pub path: String,
}

/// An artifact that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeArtifact {
    /// Its MIME type.
    pub mime: String,
    /// Its size for people.
    pub size: String,
}
