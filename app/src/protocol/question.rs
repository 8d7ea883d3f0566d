//! Every question of the page, with the type of its answer.
//!
//! To add one: a variant of [`Question`] and a row of `queries!`; the worker answers it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

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
    /// Read the user's own performance models.
    CheckModels(ModelsText),
    /// A window of a table.
    Rows(RowsQuery),
    /// Everything about one row of a table.
    Row(RowQuery),
    /// Operations by what was typed.
    FindOperations(FindOperations),
    /// The story of a row of a table, or of an event.
    Story(StoryQuery),
    /// How the call tree is shown.
    TreeLook(TreeLook),
    /// A window of the call tree.
    TreeRows(TreeRowsQuery),
    /// Open or close nodes of the call tree.
    Unfold(Unfold),
    /// The call tree as blocks, which travel beside the answer.
    Flame(FlameQuery),
    /// The next node of a name.
    FindInTree(FindInTree),
    /// What the Roofline view draws.
    Roofline(RooflineQuery),
    /// What the System view shows.
    System(SystemQuery),
    /// What lanes the timeline has.
    Timeline(TimelineQuery),
    /// What some of its rows look like; the blocks travel beside the answer.
    Draw(DrawQuery),
    /// What to say of an event at the pointer.
    Glance(GlanceQuery),
    /// One event of the timeline.
    Span(SpanQuery),
    /// What happened in a part of the time.
    Range(RangeQuery),
    /// What the Compare view shows.
    Compare(CompareQuery),
    /// A window of both call trees.
    DiffRows(DiffRowsQuery),
    /// Open, close or find nodes of both call trees.
    DiffStep(DiffStep),
    /// Target and reference change places.
    Swap(SwapTraces),
    /// Forget the reference.
    CloseReference(CloseReference),
    /// A report as Markdown.
    Markdown(MarkdownQuery),
    /// A program that runs an operation alone; its bytes travel beside the answer.
    Reproducer(ReproducerQuery),
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
    CheckModels(ModelsText) -> CheckedModels;
    Rows(RowsQuery) -> RowsPage;
    Row(RowQuery) -> Vec<Field>;
    FindOperations(FindOperations) -> Vec<OperationFound>;
    Story(StoryQuery) -> Option<OpStory>;
    TreeLook(TreeLook) -> TreeFacts;
    TreeRows(TreeRowsQuery) -> TreePage;
    Unfold(Unfold) -> TreeChange;
    Flame(FlameQuery) -> Flame;
    FindInTree(FindInTree) -> Option<TreeMatch>;
    Roofline(RooflineQuery) -> RooflineChart;
    System(SystemQuery) -> SystemFacts;
    Timeline(TimelineQuery) -> TimelineOutline;
    Draw(DrawQuery) -> Drawn;
    Glance(GlanceQuery) -> Option<Glance>;
    Span(SpanQuery) -> Option<SpanCard>;
    Range(RangeQuery) -> RangeCard;
    Compare(CompareQuery) -> CompareFacts;
    DiffRows(DiffRowsQuery) -> DiffPage;
    DiffStep(DiffStep) -> DiffChange;
    Swap(SwapTraces) -> Option<Swapped>;
    CloseReference(CloseReference) -> ();
    Markdown(MarkdownQuery) -> String;
    Reproducer(ReproducerQuery) -> Option<Reproducer>;
    Artifacts(ArtifactsQuery) -> Vec<Offer>;
    Artifact(ArtifactQuery) -> Option<MadeArtifact>;
}
