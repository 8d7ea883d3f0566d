//! How large the files of a site are: as they are, and as a server would send them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its path inside of the site, with `/`.
    pub name: String,
    /// As it is.
    pub raw: u64,
    /// With `gzip -9`; `None` where there is no gzip.
    pub gzip: Option<u64>,
    /// With `brotli -q 11`; `None` where there is no brotli.
    pub brotli: Option<u64>,
}

/// The whole page as one file, which has the site's files in it.
pub const ONE_FILE: &str = "dormer.html";

/// What a server of the site sends: all files but the one that has them in it.
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

/// The files that are there before a trace can be dropped: the page itself, and the style sheets and scripts that it names.
/// What a script fetches comes after that.
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

/// The names of all files in a folder and those below it, with `/`, sorted.
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

/// How much comes out of a compressor.
fn compressed(command: &mut Command, file: &Path) -> Option<u64> {
    let output = command.arg(file).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(())?;
    u64::try_from(output.stdout.len()).ok()
}
