//! The files of the built page: what the command carries (feature `page`, packed by `build.rs`), or those of a folder.

pub(crate) mod folder;

use std::env;
use std::path::Path;

use crate::Failure;
use folder::Files;

/// Names a folder with a built page, which is used in place of what the command carries.
const FOLDER: &str = "DORMER_PAGE";

/// The page of the folder that `DORMER_PAGE` names, else the one that the command carries; without either, how to get one.
pub(crate) fn files() -> Result<Files, Failure> {
    match env::var_os(FOLDER) {
        Some(place) => {
            folder::files(Path::new(&place)).map_err(|error| Failure::of_file(FOLDER, &error))
        }
        None => carried(),
    }
}

#[cfg(feature = "page")]
fn carried() -> Result<Files, Failure> {
    use flate2::read::GzDecoder;

    const PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));
    let mut files = Files::new();
    for (name, packed) in PACKED {
        let mut bytes = Vec::new();
        let unpacked = std::io::copy(&mut GzDecoder::new(*packed), &mut bytes);
        unpacked.map_err(|error| Failure::of_file(&format!("{name} in this command"), &error))?;
        files.insert((*name).to_owned(), bytes);
    }
    Ok(files)
}

#[cfg(not(feature = "page"))]
fn carried() -> Result<Files, Failure> {
    Err(Failure::Sentence(format!(
        "this build of dormer does not carry the page, as released files do: {FOLDER}=DIR takes it from a folder, such as dist/ \
         after `cargo xtask dist`, and `cargo xtask dist --release` builds a command with the page in it"
    )))
}
