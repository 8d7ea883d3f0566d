//! Encoding of messages: a plain JavaScript object in which Rust values are bytes.
//!
//! Page and worker are from the same build, so field names need not be sent: the bytes contain only values. That takes
//! a quarter of the code needed with names, on both sides, and one copy in the browser instead of an object per value.

use js_sys::{Object, Reflect, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

/// The message of an exception.
pub fn error_text(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

/// Encodes a value, with exact 64-bit numbers, even huge ones from a broken trace.
pub fn to_js(value: &impl Serialize) -> JsValue {
    match postcard::to_allocvec(value) {
        Ok(bytes) => Uint8Array::from(bytes.as_slice()).into(),
        Err(error) => wasm_bindgen::throw_str(&error.to_string()),
    }
}

/// Decodes a value. Fails if it was sent by another build, or is missing.
pub fn from_js<T: DeserializeOwned>(value: &JsValue) -> Result<T, postcard::Error> {
    let bytes = value.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
    postcard::from_bytes(&bytes.unwrap_or_default())
}

/// A message to the worker, or part of a message from it.
pub fn message(parts: &[(&str, JsValue)]) -> Object {
    let message = Object::new();
    for (name, value) in parts {
        let _ = Reflect::set(&message, &(*name).into(), value);
    }
    message
}

/// A part of a message; undefined if it is missing.
pub fn part(message: &JsValue, name: &str) -> JsValue {
    Reflect::get(message, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// Whether a resource came over the network; blobs and data URLs never leave the page.
pub fn is_request(url: &str) -> bool {
    !url.starts_with("blob:") && !url.starts_with("data:")
}
