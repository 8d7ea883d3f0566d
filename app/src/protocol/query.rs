//! Every query of the page, with the type of its answer.
//!
//! To add one: its types in the module of its view, a row of `queries!`, and `impl Answer` for it
//! in the worker. A row without a handler does not compile.

use dormer_core::output::document::Document;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

use dormer_core::report::details::OpDetails;
use dormer_core::report::sheet::Field;

use super::wire::to_js;
use super::*;

/// A query with the type of its answer.
pub trait Query: Into<AnyQuery> {
    /// What the worker answers.
    type Answer: Serialize + DeserializeOwned + 'static;
}

/// Answers one type of query.
pub trait Answer<Q: Query> {
    /// The answer. Bytes that go with it travel beside it, uncopied.
    fn answer(&mut self, query: Q, bytes: &mut Option<Vec<u8>>) -> Q::Answer;
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

        impl AnyQuery {
            /// The answer, as it travels, and the bytes beside it.
            pub fn answer(
                self,
                by: &mut (impl $(Answer<$query> +)* Sized),
            ) -> (JsValue, Option<Vec<u8>>) {
                let mut bytes = None;
                let value = match self {
                    $(AnyQuery::$query(query) => to_js(&by.answer(query, &mut bytes)),)*
                };
                (value, bytes)
            }
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
    FindOperations -> Vec<OperationFound>;
    DetailsQuery -> Option<OpDetails>;
    TreeQuery -> TreeChange;
    TreeRowsQuery -> TreePage<TreeRow>;
    FlameQuery -> Flame;
    RooflineQuery -> RooflineChart;
    SystemQuery -> SystemFacts;
    TimelineQuery -> TimelineOutline;
    DrawQuery -> Drawn;
    GlanceQuery -> Option<Glance>;
    SpanQuery -> Option<SpanCard>;
    RangeQuery -> RangeCard;
    CompareQuery -> CompareFacts;
    DiffRowsQuery -> TreePage<DiffRow>;
    SwapTraces -> Option<Swapped>;
    CloseReference -> ();
    DocumentQuery -> Document;
    ReproducerQuery -> Option<Reproducer>;
    ArtifactsQuery -> Vec<Offer>;
    ArtifactQuery -> Option<MadeArtifact>;
}
