//! The size of the page as a server sends it: with brotli at its highest level.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use xtask::weight::{before_drop, of_site, sizes};

use super::Outcome;
use super::figure::{Record, Role, Table, Unit};

const COMPRESSOR: &str = "brotli 11";

/// Adds the figures; none if brotli is missing.
pub(crate) fn measure(dist: &Path, record: &mut Record) -> Outcome {
    let sizes = sizes(dist)?;
    let first = before_drop(&fs::read_to_string(dist.join("index.html"))?);
    let named = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
    let all: BTreeSet<String> = of_site(&sizes).map(|size| size.name.clone()).collect();
    for (name, files) in [
        ("before a file can be dropped", first),
        (
            "page (`dormer-app_bg.wasm`)",
            named(&["dormer-app_bg.wasm"]),
        ),
        ("worker (`worker_bg.wasm`)", named(&["worker_bg.wasm"])),
        ("all files", all),
    ] {
        let files = sizes.iter().filter(|size| files.contains(&size.name));
        let bytes: Option<u64> = files.map(|size| size.brotli).sum();
        let how = (Unit::Kilobytes, Role::Cost);
        let bytes = bytes.map(|bytes| bytes as f64);
        record.add(
            (Table::Size, COMPRESSOR),
            name,
            how,
            bytes.into_iter().collect(),
        );
    }
    Ok(())
}

/// The build id of the page's files.
pub(crate) fn build_id(dist: &Path) -> Outcome<String> {
    let html = fs::read_to_string(dist.join("index.html"))?;
    let id = html.split("boot.js?v=").nth(1);
    let id = id.and_then(|rest| rest.split('"').next());
    Ok(id.ok_or("the page has no build id")?.to_owned())
}
