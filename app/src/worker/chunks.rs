//! The bytes of a file as they come.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, ReadableStreamDefaultReader};

use crate::protocol::wire::part;

/// The chunks of a file, in order.
pub(super) struct Chunks(ReadableStreamDefaultReader);

impl Chunks {
    pub(super) fn of(file: &File) -> Chunks {
        Chunks(file.stream().get_reader().unchecked_into())
    }

    /// The next one; `None` at the end.
    pub(super) async fn next(&self) -> Result<Option<Vec<u8>>, JsValue> {
        let chunk = JsFuture::from(self.0.read()).await?;
        if part(&chunk, "done").is_truthy() {
            return Ok(None);
        }
        let bytes: Uint8Array = part(&chunk, "value").unchecked_into();
        Ok(Some(bytes.to_vec()))
    }
}
