//! With the feature `page`: packs the built page for `src/page.rs`, so that the command carries it.

use std::error::Error;

#[cfg(feature = "page")]
#[path = "src/page/folder.rs"]
mod folder;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "page")]
    pack()?;
    Ok(())
}

/// Compresses the files of the folder that `DORMER_DIST` names, or of `dist/` of the checkout, and lists them as Rust. The same
/// files give the same bytes.
#[cfg(feature = "page")]
fn pack() -> Result<(), Box<dyn Error>> {
    use std::env;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    println!("cargo:rerun-if-env-changed=DORMER_DIST");
    let place = env::var_os("DORMER_DIST").map_or_else(|| PathBuf::from("../dist"), PathBuf::from);
    println!("cargo:rerun-if-changed={}", place.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR is set")?);
    let mut list = "&[\n".to_owned();
    for (at, (name, bytes)) in folder::files(&place)?.into_iter().enumerate() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes)?;
        fs::write(out.join(format!("{at}.gz")), encoder.finish()?)?;
        list += &format!("({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{at}.gz\"))),\n");
    }
    fs::write(out.join("page.rs"), list + "]")?;
    Ok(())
}
