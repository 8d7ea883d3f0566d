//! A tar archive. A gzipped one is first inflated into the browser's blob store, as far as it is intact.

use dormer_core::import::TarIndex;
use js_sys::Array;
use web_sys::{Blob, File};

use super::{base_name, slice};
use crate::page::browser::file_head;

pub(super) async fn members(file: &File, is_packed: bool) -> Option<Vec<(String, File)>> {
    let archive: Blob = match is_packed {
        true => {
            let chunks = Array::new();
            file_head::each_chunk(file, true, |chunk| _ = chunks.push(&chunk)).await;
            Blob::new_with_u8_array_sequence(&chunks).ok()?
        }
        false => file.clone().into(),
    };
    let mut index = TarIndex::default();
    let mut files = Vec::new();
    while let Some(at) = index.wanted().filter(|at| (*at as f64) < archive.size()) {
        let block = slice(&archive, at as f64, (at + TarIndex::BLOCK) as f64).await?;
        // What follows the damage cannot be found; what precedes it is shown.
        let Ok(found) = index.push(&block) else {
            break;
        };
        if let Some(found) = found {
            let (from, to) = (found.start as f64, (found.start + found.size) as f64);
            let part = archive.slice_with_f64_and_f64(from, to).ok()?;
            let parts = Array::of1(&part);
            let file = File::new_with_blob_sequence(&parts, base_name(&found.path)).ok()?;
            files.push((found.path, file));
        }
    }
    Some(files)
}
