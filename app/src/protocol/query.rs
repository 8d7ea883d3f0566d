//! All queries of the page, with the types of their answers.
//!
//! To add one: its types in the module of its view, a row of `queries!`, and an arm in the worker's `answer.rs`. A row
//! without an arm does not compile.

use dormer_core::output::embedded::Parts;
use dormer_core::output::markup::Document;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

use dormer_core::report::details::OpDetails;
use dormer_core::report::memory::MemoryView;
use dormer_core::report::sheet::Field;

use super::wire::to_js;
use super::*;

/// A query with the type of its answer.
pub trait Query: Into<AnyQuery> {
    /// What the worker answers.
    type Answer: Serialize + DeserializeOwned + 'static;

    /// Encodes an answer to it.
    fn encoded(&self, answer: &Self::Answer) -> JsValue {
        to_js(answer)
    }
}

/// The name of a GPU.
type GpuName = String;
/// An error in a text, with its location; without a period at the end.
type WhatIsWrong = String;

macro_rules! queries {
    ($($query:ident -> $answer:ty;)*) => {
        /// Any query, for sending.
        #[derive(Debug, Serialize, Deserialize)]
        pub enum AnyQuery {
            $(#[doc = concat!("[`", stringify!($query), "`]")] $query($query),)*
        }

        $(
            impl Query for $query {
                type Answer = $answer;
            }

            impl From<$query> for AnyQuery {
                fn from(query: $query) -> AnyQuery {
                    AnyQuery::$query(query)
                }
            }
        )*
    };
}

queries! {
    Choice -> Overview;
    GpuText -> Result<GpuName, WhatIsWrong>;
    ModelsText -> Result<CheckedModels, WhatIsWrong>;
    RowsQuery -> RowsPage;
    RowQuery -> Vec<Field>;
    TotalsQuery -> Vec<Total>;
    GroupsQuery -> Vec<RowGroup>;
    FindInTrace -> Vec<Found>;
    DetailsQuery -> Option<OpDetails>;
    TreeQuery -> TreeChange;
    TreeRowsQuery -> TreePage<TreeRow>;
    FlameQuery -> Flame;
    RooflineQuery -> RooflineChart;
    SystemQuery -> SystemFacts;
    MemoryQuery -> MemoryView;
    StepsQuery -> StepTimes;
    TimelineQuery -> TimelineOutline;
    DrawQuery -> Drawn;
    GlanceQuery -> Option<SpanCard>;
    SpanQuery -> Option<SpanCard>;
    RangeQuery -> RangeCard;
    FindEvents -> FoundEvents;
    EventAtQuery -> Option<u32>;
    MomentQuery -> ();
    CompareQuery -> CompareFacts;
    DiffRowsQuery -> TreePage<DiffRow>;
    SwapTraces -> Option<Swapped>;
    CloseReference -> ();
    RemoveCapture -> Option<Box<Opened>>;
    DocumentQuery -> Document;
    ReproducerQuery -> Option<Reproducer>;
    ArtifactsQuery -> Option<Vec<Offer>>;
    ArtifactQuery -> Option<MadeArtifact>;
    EmbedQuery -> Parts;
    WrittenTraceQuery -> ();
}
