//! The first text of a file, and the number of CPU cores.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, ReadableStreamDefaultReader};

use super::files::{call, through_gzip};
use super::window;
use crate::protocol::wire::part;

/// Bytes of a file that are read to identify it, compressed or not.
const HEAD_BYTES: f64 = 65_536.0;

/// The first text of a file; as much as can be read.
pub async fn head_of(file: &File) -> String {
    let mut text = Vec::new();
    if let Ok(slice) = file.slice_with_f64_and_f64(0.0, HEAD_BYTES) {
        let is_packed = file.name().ends_with(".gz");
        each_chunk(&slice, is_packed, |chunk| text.extend(chunk.to_vec())).await;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads the bytes of a file, or of what a gzip file holds. A truncated file fails at its end, after all earlier chunks
/// were read.
pub(super) async fn each_chunk(file: &Blob, is_packed: bool, mut then: impl FnMut(Uint8Array)) {
    let stream: JsValue = file.stream().into();
    let stream = match is_packed {
        true => through_gzip(&stream, "DecompressionStream").unwrap_or(stream),
        false => stream,
    };
    let Some(reader) = call(&stream, "getReader", &[]) else {
        return;
    };
    let reader: ReadableStreamDefaultReader = reader.unchecked_into();
    while let Ok(chunk) = JsFuture::from(reader.read()).await {
        let Ok(bytes) = part(&chunk, "value").dyn_into::<Uint8Array>() else {
            return;
        };
        then(bytes);
    }
}

/// The number of hardware threads.
pub fn n_cores() -> usize {
    window().navigator().hardware_concurrency() as usize
}
