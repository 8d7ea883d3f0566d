//! How a message is carried: plain JavaScript objects.

use js_sys::{Object, Reflect};
use serde::Serialize;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::*;

/// What an exception says.
pub fn error_text(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

/// A value as it travels; 64-bit numbers whole, however large a broken trace makes them.
pub fn to_js(value: &impl Serialize) -> JsValue {
    let serializer = Serializer::new().serialize_large_number_types_as_bigints(true);
    match value.serialize(&serializer) {
        Ok(value) => value,
        Err(error) => wasm_bindgen::throw_str(&error.to_string()),
    }
}

/// A message to the worker, or one part of a message from it.
pub fn message(parts: &[(&str, JsValue)]) -> Object {
    let message = Object::new();
    for (name, value) in parts {
        let _ = Reflect::set(&message, &(*name).into(), value);
    }
    message
}

/// A part of a message; undefined when it is missing.
pub fn part(message: &JsValue, name: &str) -> JsValue {
    Reflect::get(message, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// A resource that came over the network: blobs and data URLs never leave the page.
pub fn is_request(url: &str) -> bool {
    !url.starts_with("blob:") && !url.starts_with("data:")
}
