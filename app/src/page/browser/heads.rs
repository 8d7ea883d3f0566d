//! How files begin, and how many cores there are.

use js_sys::{Array, Function, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, ReadableStreamDefaultReader};

use super::files::call;
use super::window;
use crate::protocol::wire::part;

/// Bytes of a file that are read to tell what it is, compressed or not.
const HEAD_BYTES: f64 = 65_536.0;

/// The first text of a file; as much as there is of one that cannot be read.
pub async fn head_of(file: &File) -> String {
    let mut text = Vec::new();
    let Ok(slice) = file.slice_with_f64_and_f64(0.0, HEAD_BYTES) else {
        return String::new();
    };
    let stream: JsValue = slice.stream().into();
    let stream = match file.name().ends_with(".gz") {
        true => inflated(&stream).unwrap_or(stream),
        false => stream,
    };
    let reader = call(&stream, "getReader", &[]);
    if let Some(reader) = reader {
        let reader: ReadableStreamDefaultReader = reader.unchecked_into();
        // What is cut off breaks at its end: what came before is enough.
        while let Ok(chunk) = JsFuture::from(reader.read()).await {
            let bytes = part(&chunk, "value").dyn_into::<Uint8Array>();
            match bytes {
                Ok(bytes) => text.extend(bytes.to_vec()),
                Err(_) => break,
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn inflated(stream: &JsValue) -> Option<JsValue> {
    let inflater = part(&js_sys::global(), "DecompressionStream");
    let inflater: Function = inflater.dyn_into().ok()?;
    let inflater = Reflect::construct(&inflater, &Array::of1(&"gzip".into())).ok()?;
    call(stream, "pipeThrough", &[inflater])
}

/// How many threads run at once.
pub fn n_cores() -> usize {
    window().navigator().hardware_concurrency() as usize
}
