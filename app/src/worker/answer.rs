//! Which part of the worker answers which query.

use dormer_core::hardware;
use dormer_core::report::memory::memory_view;
use wasm_bindgen::JsValue;

use super::models::check;
use super::reproducer::reproducer;
use super::roofline::roofline;
use super::system::system;
use super::traces::Traces;
use crate::protocol::{AnyQuery, Query};

impl Traces {
    /// The serialized answer, and the bytes sent with it without copying.
    pub fn answer(&mut self, query: AnyQuery) -> (JsValue, Option<Vec<u8>>) {
        let mut bytes = None;
        let value = match query {
            AnyQuery::Choice(query) => query.encoded(&self.choose(&query)),
            AnyQuery::GpuText(query) => {
                let gpu = hardware::parse(&query.text).map(|gpu| gpu.name.to_string());
                query.encoded(&gpu.map_err(|error| error.to_string()))
            }
            AnyQuery::ModelsText(query) => {
                let target = self.target();
                let checked = check(&query.text, target.analyzed());
                query.encoded(&checked)
            }
            AnyQuery::RowsQuery(query) => query.encoded(&self.rows(&query)),
            AnyQuery::RowQuery(query) => query.encoded(&self.row(&query)),
            AnyQuery::TotalsQuery(query) => query.encoded(&self.totals(&query)),
            AnyQuery::GroupsQuery(query) => query.encoded(&self.groups(&query)),
            AnyQuery::FindInTrace(query) => query.encoded(&self.target().find(&query.text)),
            AnyQuery::DetailsQuery(query) => query.encoded(&self.target().details(&query)),
            AnyQuery::TreeQuery(query) if query.of_both => {
                query.encoded(&self.diff_step(&query.step))
            }
            AnyQuery::TreeQuery(query) => {
                let (tree, profile) = self.target().tree();
                query.encoded(&tree.step(profile, &query.step))
            }
            AnyQuery::TreeRowsQuery(query) => {
                let (tree, profile) = self.target().tree();
                query.encoded(&tree.rows(profile, &query))
            }
            AnyQuery::FlameQuery(query) => {
                let (tree, profile) = self.target().tree();
                let (flame, blocks) = tree.flame(profile, &query);
                bytes = Some(blocks);
                query.encoded(&flame)
            }
            AnyQuery::RooflineQuery(query) => {
                let target = self.target();
                query.encoded(&roofline(target.analyzed(), &target.report))
            }
            AnyQuery::SystemQuery(query) => query.encoded(&system(&self.target().report)),
            AnyQuery::MemoryQuery(query) => query.encoded(&memory_view(self.target().analyzed())),
            AnyQuery::StepsQuery(query) => query.encoded(&self.target().step_times()),
            AnyQuery::TimelineQuery(query) => {
                self.below = query.below;
                query.encoded(&self.timelines().outline())
            }
            AnyQuery::DrawQuery(query) => {
                let (drawn, blocks) = self.timelines().draw(&query);
                bytes = Some(blocks);
                query.encoded(&drawn)
            }
            AnyQuery::GlanceQuery(query) => query.encoded(&self.timelines().glance(&query)),
            AnyQuery::SpanQuery(query) => query.encoded(&self.timelines().span(&query)),
            AnyQuery::RangeQuery(query) => query.encoded(&self.timelines().range(&query)),
            AnyQuery::FindEvents(query) => query.encoded(&self.timelines().find(&query)),
            AnyQuery::EventAtQuery(query) => query.encoded(&self.target().event_at(&query)),
            AnyQuery::MomentQuery(query) => {
                self.moment = Some(query);
                query.encoded(&())
            }
            AnyQuery::CompareQuery(query) => query.encoded(&self.compare()),
            AnyQuery::DiffRowsQuery(query) => query.encoded(&self.diff_rows(&query)),
            AnyQuery::SwapTraces(query) => query.encoded(&self.swap(&query.choice)),
            AnyQuery::CloseReference(query) => query.encoded(&self.close_reference()),
            AnyQuery::RemoveCapture(query) => {
                query.encoded(&self.remove_capture(&query).map(Box::new))
            }
            AnyQuery::DocumentQuery(query) => query.encoded(&self.target().document(query)),
            AnyQuery::ReproducerQuery(query) => {
                let target = self.target();
                let made = reproducer(target.analyzed(), &target.report, query);
                let (reproducer, zip) = made.unzip();
                bytes = zip.flatten();
                query.encoded(&reproducer)
            }
            AnyQuery::ArtifactsQuery(query) => query.encoded(&self.artifacts(query)),
            AnyQuery::ArtifactQuery(query) => {
                let (made, content) = self.artifact(&query).unzip();
                bytes = content.filter(|_| !query.is_measured);
                query.encoded(&made)
            }
            AnyQuery::EmbedQuery(query) => query.encoded(&self.embedded(&query)),
            AnyQuery::WrittenTraceQuery(query) => {
                bytes = self.written(query);
                query.encoded(&())
            }
        };
        (value, bytes)
    }
}
