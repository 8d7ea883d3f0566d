//! The one-file page: the one embedded in the command (feature `page`, packed by `build.rs`), or that of a folder.

#[cfg(any(feature = "page", test))]
mod packed;

use std::path::Path;
use std::{env, fs};

use flate2::Compression;

use crate::Failure;

/// The file of a built page that contains everything.
pub(crate) const FILE: &str = "dormer.html";

/// The variable that names a folder with a built page, which is used instead of the embedded one.
const FOLDER: &str = "DORMER_PAGE";

/// The page from the folder that `DORMER_PAGE` names, or the embedded one, with its parts compressed at this level;
/// without either, how to get one.
pub(crate) fn html(compression: Compression) -> Result<String, Failure> {
    let Some(folder) = env::var_os(FOLDER) else {
        return carried(compression);
    };
    let file = Path::new(&folder).join(FILE);
    fs::read_to_string(&file).map_err(|error| {
        let (name, why) = (file.display(), crate::reason(&error));
        Failure::Sentence(format!(
            "{FOLDER}: {name}: {why}; `cargo xtask dist` leaves a whole page in dist/"
        ))
    })
}

#[cfg(feature = "page")]
fn carried(compression: Compression) -> Result<String, Failure> {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/page"));
    packed::unpack(packed, compression)
        .map_err(|error| Failure::of_file("the page in this command", &error))
}

#[cfg(not(feature = "page"))]
fn carried(_: Compression) -> Result<String, Failure> {
    Err(Failure::Sentence(format!(
        "this build of dormer does not contain the page: set {FOLDER} to a folder that has it, such as dist/ after \
         `cargo xtask dist`, or build a command with it: `cargo xtask dist --release`"
    )))
}
