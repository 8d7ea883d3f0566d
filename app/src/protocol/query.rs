//! Every query of the page, with the type of its answer.
//!
//! To add one: its types in the module of its view, a row of `queries!`, and an arm in the worker's
//! `answer.rs`. A row without one does not compile.

use dormer_core::output::document::Document;
use dormer_core::output::enclosed::Parts;
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

    /// An answer to it, as it travels.
    fn said(&self, answer: &Self::Answer) -> JsValue {
        to_js(answer)
    }
}

/// What a GPU is called.
type GpuName = String;
/// What is wrong with a text, with the place; without a full stop.
type WhatIsWrong = String;

macro_rules! queries {
    ($($query:ident -> $answer:ty;)*) => {
        /// Every query, as it travels.
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
    TakeOff -> Option<Box<Opened>>;
    DocumentQuery -> Document;
    ReproducerQuery -> Option<Reproducer>;
    ArtifactsQuery -> Vec<Offer>;
    ArtifactQuery -> Option<MadeArtifact>;
    EnclosedQuery -> Parts;
    WrittenTraceQuery -> ();
}
