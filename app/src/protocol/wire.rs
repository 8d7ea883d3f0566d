//! How a message is carried: a plain JavaScript object, whose values of Rust are bytes.
//!
//! Page and worker are of one build, so neither has to be told what a field is called: the bytes hold values alone. That is
//! a quarter of the code that names take, on both sides, and one copy in the browser in place of an object for each value.

use js_sys::{Object, Reflect, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
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
    match postcard::to_allocvec(value) {
        Ok(bytes) => Uint8Array::from(bytes.as_slice()).into(),
        Err(error) => wasm_bindgen::throw_str(&error.to_string()),
    }
}

/// A value that has traveled. Fails on what another build has sent, or nobody.
pub fn from_js<T: DeserializeOwned>(value: &JsValue) -> Result<T, postcard::Error> {
    let bytes = value.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
    postcard::from_bytes(&bytes.unwrap_or_default())
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
