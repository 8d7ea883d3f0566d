//! Traces that the user stores on this computer: files in the browser's private file system, which only this page can
//! read.
//!
//! It may be unavailable, as in private windows and without a secure context: then nothing is stored, and the page says
//! so.

use dormer_core::base::sort::Arrange;
use wasm_bindgen::prelude::*;
use web_sys::File;

use super::files::{call, later};
use super::window;
use crate::protocol::wire::part;

/// The folder in the private file system.
const FOLDER: &str = "traces";

/// A trace that is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrace {
    pub name: String,
    pub bytes: f64,
    /// When it was stored, in milliseconds since 1970.
    pub stored_ms: f64,
}

fn option(key: &str) -> JsValue {
    let options = js_sys::Object::new();
    let _ = js_sys::Reflect::set(&options, &key.into(), &true.into());
    options.into()
}

async fn folder() -> Result<JsValue, String> {
    let storage = part(&window().navigator(), "storage");
    let root = later(&storage, "getDirectory", &[]).await?;
    let arguments = [FOLDER.into(), option("create")];
    later(&root, "getDirectoryHandle", &arguments).await
}

pub(super) async fn file_of(handle: &JsValue) -> Result<File, String> {
    Ok(later(handle, "getFile", &[]).await?.unchecked_into())
}

/// All stored traces, newest first.
pub async fn stored_traces() -> Vec<StoredTrace> {
    let mut stored = Vec::new();
    let Ok(folder) = folder().await else {
        return stored;
    };
    let Some(values) = call(&folder, "values", &[]) else {
        return stored;
    };
    while let Ok(next) = later(&values, "next", &[]).await {
        if part(&next, "done").is_truthy() {
            break;
        }
        if let Ok(file) = file_of(&part(&next, "value")).await {
            stored.push(StoredTrace {
                name: file.name(),
                bytes: file.size(),
                stored_ms: file.last_modified(),
            });
        }
    }
    stored.arrange_by(|one, other| other.stored_ms.total_cmp(&one.stored_ms));
    stored
}

/// Stores a file under its name.
pub async fn store_trace(file: File) -> Result<(), String> {
    let folder = folder().await?;
    let arguments = [file.name().into(), option("create")];
    let handle = later(&folder, "getFileHandle", &arguments).await?;
    let writer = later(&handle, "createWritable", &[]).await?;
    // The stream closes the file at its end, and leaves it unchanged on failure.
    later(&file.stream(), "pipeTo", &[writer]).await?;
    Ok(())
}

/// A stored file; `None` if there is none with that name.
pub async fn stored_trace(name: &str) -> Option<File> {
    let folder = folder().await.ok()?;
    let handle = later(&folder, "getFileHandle", &[name.into()]).await.ok()?;
    file_of(&handle).await.ok()
}

/// Deletes a stored file.
pub async fn delete_trace(name: &str) {
    if let Ok(folder) = folder().await {
        let _ = later(&folder, "removeEntry", &[name.into()]).await;
    }
}
