//! With the feature `page`: packs the built page for `src/page.rs`, so that the command carries it.

use std::error::Error;

#[cfg(feature = "page")]
#[path = "src/page/packed.rs"]
mod packed;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "page")]
    pack()?;
    Ok(())
}

/// Packs the one file of the page, of the folder that `DORMER_DIST` names or of `dist/` of the checkout. The same file gives the
/// same bytes.
#[cfg(feature = "page")]
fn pack() -> Result<(), Box<dyn Error>> {
    use std::env;
    use std::fs;
    use std::path::{Path, PathBuf};

    println!("cargo:rerun-if-changed=src/page/packed.rs");
    println!("cargo:rerun-if-env-changed=DORMER_DIST");
    let place = env::var_os("DORMER_DIST").map_or_else(|| PathBuf::from("../dist"), PathBuf::from);
    let file = place.join("dormer.html");
    println!("cargo:rerun-if-changed={}", file.display());
    let html = fs::read_to_string(&file)
        .map_err(|error| format!("{}: {error}; `cargo xtask dist` builds it", file.display()))?;
    let out = env::var_os("OUT_DIR").ok_or("no OUT_DIR is set")?;
    fs::write(Path::new(&out).join("page"), packed::pack(&html)?)?;
    Ok(())
}
