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
            AnyQuery::Choice(query) => query.said(&self.choose(&query)),
            AnyQuery::GpuText(query) => {
                let gpu = hardware::parse(&query.text).map(|gpu| gpu.name.to_string());
                query.said(&gpu.map_err(|error| error.to_string()))
            }
            AnyQuery::ModelsText(query) => {
                let target = self.target();
                let checked = check(&query.text, target.analyzed());
                query.said(&checked)
            }
            AnyQuery::RowsQuery(query) => query.said(&self.rows(&query)),
            AnyQuery::RowQuery(query) => query.said(&self.row(&query)),
            AnyQuery::TotalsQuery(query) => query.said(&self.totals(&query)),
            AnyQuery::GroupsQuery(query) => query.said(&self.groups(&query)),
            AnyQuery::FindInTrace(query) => query.said(&self.target().find(&query.text)),
            AnyQuery::DetailsQuery(query) => query.said(&self.target().details(&query)),
            AnyQuery::TreeQuery(query) if query.of_both => query.said(&self.diff_step(&query.step)),
            AnyQuery::TreeQuery(query) => {
                let (tree, profile) = self.target().tree();
                query.said(&tree.step(profile, &query.step))
            }
            AnyQuery::TreeRowsQuery(query) => {
                let (tree, profile) = self.target().tree();
                query.said(&tree.rows(profile, &query))
            }
            AnyQuery::FlameQuery(query) => {
                let (tree, profile) = self.target().tree();
                let (flame, blocks) = tree.flame(profile, &query);
                bytes = Some(blocks);
                query.said(&flame)
            }
            AnyQuery::RooflineQuery(query) => {
                let target = self.target();
                query.said(&roofline(target.analyzed(), &target.report))
            }
            AnyQuery::SystemQuery(query) => query.said(&system(&self.target().report)),
            AnyQuery::MemoryQuery(query) => query.said(&memory_view(self.target().analyzed())),
            AnyQuery::StepsQuery(query) => query.said(&self.target().step_times()),
            AnyQuery::TimelineQuery(query) => {
                self.below = query.below;
                query.said(&self.timelines().outline())
            }
            AnyQuery::DrawQuery(query) => {
                let (drawn, blocks) = self.timelines().draw(&query);
                bytes = Some(blocks);
                query.said(&drawn)
            }
            AnyQuery::GlanceQuery(query) => query.said(&self.timelines().glance(&query)),
            AnyQuery::SpanQuery(query) => query.said(&self.timelines().span(&query)),
            AnyQuery::RangeQuery(query) => query.said(&self.timelines().range(&query)),
            AnyQuery::FindEvents(query) => query.said(&self.timelines().find(&query)),
            AnyQuery::EventAtQuery(query) => query.said(&self.target().event_at(&query)),
            AnyQuery::MomentQuery(query) => {
                self.moment = Some(query);
                query.said(&())
            }
            AnyQuery::CompareQuery(query) => query.said(&self.compare()),
            AnyQuery::DiffRowsQuery(query) => query.said(&self.diff_rows(&query)),
            AnyQuery::SwapTraces(query) => query.said(&self.swap(&query.choice)),
            AnyQuery::CloseReference(query) => query.said(&self.close_reference()),
            AnyQuery::TakeOff(query) => query.said(&self.take_off(&query).map(Box::new)),
            AnyQuery::DocumentQuery(query) => query.said(&self.target().document(query)),
            AnyQuery::ReproducerQuery(query) => {
                let target = self.target();
                let made = reproducer(target.analyzed(), &target.report, query);
                let (reproducer, zip) = made.unzip();
                bytes = zip.flatten();
                query.said(&reproducer)
            }
            AnyQuery::ArtifactsQuery(query) => query.said(&self.artifacts(query)),
            AnyQuery::ArtifactQuery(query) => {
                let (made, content) = self.artifact(&query).unzip();
                bytes = content.filter(|_| !query.is_measured);
                query.said(&made)
            }
            AnyQuery::EnclosedQuery(query) => query.said(&self.enclosed(&query)),
            AnyQuery::WrittenTraceQuery(query) => {
                bytes = self.written(query);
                query.said(&())
            }
        };
        (value, bytes)
    }
}
