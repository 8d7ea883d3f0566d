//! The sizes of a site's files: uncompressed, and as a server would send them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One file's sizes, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its path within the site, with `/`.
    pub name: String,
    /// Uncompressed.
    pub raw: u64,
    /// With `gzip -9`; `None` if gzip is missing.
    pub gzip: Option<u64>,
    /// With `brotli -q 11`; `None` if brotli is missing.
    pub brotli: Option<u64>,
}

/// The whole page as one file, which contains the site's files.
pub const ONE_FILE: &str = "dormer.html";

/// The files that a server of the site sends: all except the one that contains the others.
///
/// ```
/// use xtask::weight::{ONE_FILE, Size, of_site};
///
/// let sizes = ["boot.js", ONE_FILE].map(|name| Size { name: name.to_owned(), raw: 1, gzip: None, brotli: None });
/// assert!(of_site(&sizes).map(|size| &*size.name).eq(["boot.js"]));
/// ```
pub fn of_site(sizes: &[Size]) -> impl Iterator<Item = &Size> + Clone {
    sizes.iter().filter(|size| size.name != ONE_FILE)
}

/// The sizes of all files of a site, by name.
pub fn sizes(site: &Path) -> io::Result<Vec<Size>> {
    let sizes = files(site)?.into_iter().map(|name| {
        let file = site.join(&name);
        Ok(Size {
            raw: fs::metadata(&file)?.len(),
            gzip: compressed(Command::new("gzip").arg("-9c"), &file),
            brotli: compressed(Command::new("brotli").args(["-q", "11", "-c"]), &file),
            name,
        })
    });
    sizes.collect()
}

/// The files that are loaded before a trace can be dropped: the page itself, and the style sheets and scripts that it
/// links to. What scripts fetch comes later.
///
/// ```
/// let html = r#"<link href="./base.css?v=1f" rel="stylesheet"><link rel="icon" href="data:,"><script src="./boot.js?v=1f">"#;
/// assert!(xtask::weight::before_drop(html).iter().eq(["base.css", "boot.js", "index.html"]));
/// ```
pub fn before_drop(html: &str) -> BTreeSet<String> {
    let links = ["href=\"./", "src=\"./"]
        .into_iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split(['"', '?']).next());
    links.chain(["index.html"]).map(str::to_owned).collect()
}

/// The paths of all files below a folder, with `/`, sorted.
pub fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let name = inside.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(name);
            } else {
                names.push(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The size of a compressor's output.
fn compressed(command: &mut Command, file: &Path) -> Option<u64> {
    let output = command.arg(file).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(())?;
    u64::try_from(output.stdout.len()).ok()
}
