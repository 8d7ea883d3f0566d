//! The bytes of a file as they arrive.

use js_sys::{Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, MessagePort, ReadableStreamDefaultReader};

use crate::protocol::wire::part;

/// The chunks of a file, in order.
pub(super) enum Chunks {
    /// The worker reads it.
    Own(ReadableStreamDefaultReader),
    /// The page reads it: `app/src/page/browser/file_ports.rs`.
    FromPage(MessagePort),
}

/// The property of a file with the port to ask the page for its bytes.
const PORT: &str = "port";

/// Makes the page read a file.
pub(super) fn ask_page(file: &File, port: &JsValue) {
    let _ = Reflect::set(file, &PORT.into(), port);
}

impl Chunks {
    pub(super) fn of(file: &File) -> Chunks {
        match part(file, PORT).dyn_into() {
            Ok(port) => Chunks::FromPage(port),
            Err(_) => Chunks::Own(file.stream().get_reader().unchecked_into()),
        }
    }

    /// The next chunk; `None` at the end.
    pub(super) async fn next(&self) -> Result<Option<Vec<u8>>, JsValue> {
        let chunk = match self {
            Chunks::Own(reader) => JsFuture::from(reader.read()).await?,
            Chunks::FromPage(port) => next_from_page(port).await?,
        };
        if part(&chunk, "done").is_truthy() {
            return Ok(None);
        }
        let bytes: Uint8Array = part(&chunk, "value").unchecked_into();
        Ok(Some(bytes.to_vec()))
    }
}

/// The next chunk, in the format of the file's own reader.
async fn next_from_page(port: &MessagePort) -> Result<JsValue, JsValue> {
    let reply = Promise::new(&mut |resolve, _| port.set_onmessage(Some(&resolve)));
    port.post_message(&JsValue::NULL)?;
    let chunk = part(&JsFuture::from(reply).await?, "data");
    let error = part(&chunk, "error");
    match error.is_undefined() {
        true => Ok(chunk),
        false => Err(error),
    }
}
