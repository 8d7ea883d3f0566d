//! The page as one file: this page if it is one, or the file beside a hosted page; what was embedded in this one; and
//! base64, the encoding of embedded traces.

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, FileReader, RequestCache};

use super::files::{later, made, through_gzip};
use super::offline::{self, ONE_FILE};
use super::window;
use crate::protocol::wire::{error_text, part};

/// This many bytes are encoded as base64 at once. A multiple of three, so that the texts can be concatenated.
const PIECE_BYTES: u32 = 12 << 20;

fn loader(name: &str) -> JsValue {
    part(&part(&js_sys::global(), "dormer"), name)
}

/// Whether the page is one file with everything in it.
pub fn is_one_file() -> bool {
    !loader("page").is_undefined()
}

/// Whether the page was opened as a file, and not from a server.
pub fn is_opened_as_file() -> bool {
    window()
        .location()
        .protocol()
        .is_ok_and(|protocol| protocol == "file:")
}

/// Whether the page is in a sandboxed frame without an origin. There, browsers may silently block downloads, and links
/// within a page that was opened as a file.
pub fn is_sandboxed() -> bool {
    let here = window();
    let is_framed = here
        .parent()
        .ok()
        .flatten()
        .is_some_and(|above| above != here);
    is_framed
        && part(&here, "origin")
            .as_string()
            .is_some_and(|origin| origin == "null")
}

/// What was embedded in the file besides traces: `core/src/output/embedded.rs`.
#[derive(Debug, Default)]
pub struct EmbeddedView {
    pub hash: String,
    pub left: Vec<String>,
    /// Name and text of a GPU's spec file.
    pub gpu: Option<(String, String)>,
    /// The same for performance models, and how many there are.
    pub models: Option<(String, String, usize)>,
}

/// The place of the page's sender; `None` if nothing is embedded.
pub fn embedded_view() -> Option<EmbeddedView> {
    let view = loader("view");
    if !view.is_object() {
        return None;
    }
    let text = |of: &JsValue, name: &str| part(of, name).as_string();
    let file = |name: &str| {
        let file = part(&view, name);
        text(&file, "name").zip(text(&file, "text"))
    };
    let left = part(&view, "left").dyn_into::<Array>().unwrap_or_default();
    let n_models = part(&view, "n_models").as_f64().unwrap_or_default();
    Some(EmbeddedView {
        hash: text(&view, "hash").unwrap_or_default(),
        left: left.iter().filter_map(|hash| hash.as_string()).collect(),
        gpu: file("gpu"),
        models: file("models").map(|(name, text)| (name, text, n_models as usize)),
    })
}

/// The page as one file. On a hosted page this requests the file beside it, unless a copy is kept for offline use.
pub async fn page_file() -> Result<Blob, String> {
    if let Ok(page) = loader("page").dyn_into() {
        return Ok(page);
    }
    let build = offline::build();
    let missing = |why: String| format!("dormer.html could not be fetched: {why}");
    let response = match offline::stored_file(ONE_FILE, &build).await {
        Some(kept) => kept,
        None => {
            let url = format!("./{ONE_FILE}?v={build}");
            let fetched = offline::fetched(&url, RequestCache::Default).await;
            fetched.map_err(missing)?
        }
    };
    let page = offline::blob_of(&response).await.map_err(missing)?;
    match offline::is_one_file_of(&page, &build).await? {
        true => Ok(page),
        false => Err("the server's dormer.html is of another build than this page".to_owned()),
    }
}

/// The text of a file, split in two before the given text.
pub async fn cut_before(file: &Blob, place: &str) -> Result<[JsValue; 2], String> {
    let text = later(file, "text", &[]).await?;
    let text: js_sys::JsString = text.unchecked_into();
    let at = u32::try_from(text.index_of(place, 0))
        .map_err(|_| "dormer.html is another page".to_owned())?;
    Ok([
        text.slice(0, at).into(),
        text.slice(at, text.length()).into(),
    ])
}

/// The compressed file; `None` if it is compressed already. Text files start with a bracket.
pub async fn compressed(file: &Blob) -> Result<Option<Blob>, String> {
    let head = file
        .slice_with_f64_and_f64(0.0, 64.0)
        .map_err(|error| error_text(&error))?;
    let head = later(&head, "text", &[])
        .await?
        .as_string()
        .unwrap_or_default();
    if !head
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '['])
    {
        return Ok(None);
    }
    let stream = through_gzip(&file.stream(), "CompressionStream")?;
    let response = made("Response", stream)?;
    Ok(Some(later(&response, "blob", &[]).await?.unchecked_into()))
}

/// Concatenates texts into an HTML file.
pub fn html_file(texts: &Array) -> Result<Blob, String> {
    let options = BlobPropertyBag::new();
    options.set_type("text/html");
    let file = Blob::new_with_str_sequence_and_options(texts, &options);
    file.map_err(|error| error_text(&error))
}

/// A part of a file as base64, in pieces that can be concatenated.
pub async fn base64(file: &Blob, from: f64, to: f64) -> Result<Vec<JsValue>, String> {
    let mut pieces = Vec::new();
    let mut at = from;
    while at < to {
        let end = (at + f64::from(PIECE_BYTES)).min(to);
        let piece = file
            .slice_with_f64_and_f64(at, end)
            .map_err(|error| error_text(&error))?;
        let url = data_url(&piece).await?;
        let start = url.index_of(",", 0) + 1;
        pieces.push(url.slice(start.max(0) as u32, url.length()).into());
        at = end;
    }
    Ok(pieces)
}

async fn data_url(piece: &Blob) -> Result<js_sys::JsString, String> {
    let reader = FileReader::new().map_err(|error| error_text(&error))?;
    let read = Promise::new(&mut |resolve, reject| {
        reader.set_onload(Some(&resolve));
        reader.set_onerror(Some(&reject));
    });
    reader
        .read_as_data_url(piece)
        .map_err(|error| error_text(&error))?;
    let read = JsFuture::from(read).await;
    read.map_err(|_| "the file could not be read".to_owned())?;
    let url = reader.result().map_err(|error| error_text(&error))?;
    Ok(url.unchecked_into())
}
