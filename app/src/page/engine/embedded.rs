//! One file with the page, the report and the open traces in it, like that of the command line's `--format page`.

use std::cell::RefCell;
use std::rc::Rc;

use dormer_core::output::embedded::{self, BLOCK_BYTES, BLOCK_END, PLACE, Parts};
use js_sys::{Array, Promise, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File};

use super::{Engine, TraceSource};
use crate::page::browser;
use crate::page::state::Stage;
use crate::protocol::{EmbedQuery, Query, WrittenTraceQuery};

/// A trace to embed in the file: its name and its bytes.
type Trace = (String, Blob);

impl Engine {
    /// Builds the file, or says why it cannot.
    pub async fn embed(self, is_redacted: bool) -> Result<Blob, String> {
        let page = browser::page_file().await?;
        let view = self.state.view_to_embed(is_redacted);
        let (parts, _) = self.answer_of(EmbedQuery { is_redacted, view }).await?;
        let Parts {
            before,
            inside,
            after,
        } = parts;
        let [head, tail] = browser::cut_before(&page, PLACE).await?;
        let file = Array::of5(&before.into(), &head, &inside.into(), &tail, &after.into());
        let traces = match self.recorded().filter(|_| !is_redacted) {
            Some(files) => compressed(files).await?,
            None => self.written(is_redacted).await?,
        };
        for (name, bytes) in traces {
            let mut at = 0.0;
            while at < bytes.size() {
                let end = (at + BLOCK_BYTES as f64).min(bytes.size());
                file.push(&embedded::block_start(&name, at > 0.0).into());
                for piece in browser::base64(&bytes, at, end).await? {
                    file.push(&piece);
                }
                file.push(&BLOCK_END.into());
                at = end;
            }
        }
        browser::html_file(&file)
    }

    /// The open files, as they were recorded and in the order of the file: of two, the reference first. `None` if one
    /// did not come from a file.
    fn recorded(self) -> Option<Vec<File>> {
        self.inner.with_value(|inner| {
            let Some(TraceSource::Files(files)) = &inner.source else {
                return None;
            };
            let has_reference = self.state.reference.with_untracked(Stage::is_open);
            let reference = inner
                .reference_file
                .iter()
                .filter(|_| has_reference)
                .cloned();
            Some(reference.chain(files.iter().rev().cloned()).collect())
        })
    }

    /// The traces as rewritten by the worker.
    async fn written(self, is_redacted: bool) -> Result<Vec<Trace>, String> {
        let has_reference = self.state.reference.with_untracked(Stage::is_open);
        let which = [true, false]
            .into_iter()
            .filter(|is_reference| has_reference || !is_reference);
        let mut traces = Vec::new();
        for is_reference in which {
            let query = WrittenTraceQuery {
                is_redacted,
                is_reference,
            };
            let (_, bytes) = self.answer_of(query).await?;
            let bytes = bytes.ok_or("the trace could not be written")?;
            let blob = Blob::new_with_u8_array_sequence(&Array::of1(&bytes));
            let blob = blob.map_err(|_| "the trace takes too much memory")?;
            let name = match (has_reference, is_reference) {
                (false, _) if is_redacted => "redacted",
                (false, _) => "trace",
                (true, true) => "reference",
                (true, false) => "target",
            };
            traces.push((format!("{name}.json.gz"), blob));
        }
        Ok(traces)
    }

    /// Queries the worker, and waits for the answer and the bytes with it.
    async fn answer_of<Q: Query>(
        self,
        query: Q,
    ) -> Result<(Q::Answer, Option<Uint8Array>), String> {
        let answer = Rc::new(RefCell::new(None));
        let mut query = Some(query);
        let reply = Promise::new(&mut |resolve, _| {
            let (answer, query) = (Rc::clone(&answer), query.take());
            if let Some(query) = query {
                self.ask_for_bytes(query, move |answered, bytes| {
                    answer.replace(Some((answered, bytes)));
                    let _ = resolve.call0(&JsValue::UNDEFINED);
                });
            }
        });
        let _ = JsFuture::from(reply).await;
        let answer = answer.take();
        answer.ok_or_else(|| "the worker gave no answer".to_owned())
    }
}

/// Compresses the files that are text: their names say so.
async fn compressed(files: Vec<File>) -> Result<Vec<Trace>, String> {
    let mut traces = Vec::new();
    for file in files {
        let name = file.name();
        traces.push(match browser::compressed(&file).await? {
            Some(compressed) => (format!("{name}.gz"), compressed),
            None => (name, file.into()),
        });
    }
    Ok(traces)
}
