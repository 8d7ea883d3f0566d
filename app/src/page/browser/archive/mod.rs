//! The files in an archive, as `File`s that are slices of it: nothing is read before they are.

mod tar;
mod zip;

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File};

/// The files in an archive with their paths; empty if the file is not a plain archive.
pub async fn members_of(file: &File) -> Vec<(String, File)> {
    let name = file.name().to_ascii_lowercase();
    let members = match name.ends_with(".zip") {
        true => zip::members(file).await,
        false => tar::members(file, !name.ends_with(".tar")).await,
    };
    members.unwrap_or_default()
}

async fn slice(file: &Blob, from: f64, to: f64) -> Option<Vec<u8>> {
    let slice = file.slice_with_f64_and_f64(from, to).ok()?;
    let buffer: JsValue = JsFuture::from(slice.array_buffer()).await.ok()?;
    Some(Uint8Array::new(&buffer).to_vec())
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
