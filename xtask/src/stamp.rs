//! One build id on every file of a build.
//!
//! The files of the page keep their names from build to build, so a browser could mix a new one with an old one from its
//! cache. Therefore every URL in the page ends in `?v=` and a hash over all files: the same files have the same id, and any
//! change gives all of them a new one. `boot.js` reads the id from its own URL and passes it on to what it loads.

use std::fs;
use std::path::{Path, PathBuf};

use crate::page::at;

/// The id of the files in a folder: a hash of their names and contents.
pub(crate) fn build_id(folder: &Path) -> Result<String, String> {
    let mut parts = Vec::new();
    for name in files(folder)? {
        let file = folder.join(&name);
        parts.push(name.into_bytes());
        parts.push(fs::read(&file).map_err(at(&file))?);
    }
    Ok(hash(parts.iter().map(Vec::as_slice)))
}

/// Writes the id into the URLs of `index.html`, and into what JavaScript imports from wasm-bindgen's snippets.
pub(crate) fn stamp(folder: &Path, id: &str) -> Result<(), String> {
    let names = files(folder)?;
    for page in names.iter().filter(|name| rewritten(name)) {
        let file = folder.join(page);
        let text = fs::read_to_string(&file).map_err(at(&file))?;
        let stamped = with_id(&text, &names, id);
        if page == "index.html" {
            check_links(&stamped, id)?;
        }
        fs::write(&file, stamped).map_err(at(&file))?;
    }
    for sheet in names.iter().filter(|name| name.ends_with(".css")) {
        let file = folder.join(sheet);
        let text = fs::read_to_string(&file).map_err(at(&file))?;
        if text.contains("@import") || text.replace("url(\"data:", "").contains("url(") {
            return Err(format!(
                "{sheet} loads a file, which would carry no build id"
            ));
        }
    }
    println!("Build {id}.");
    Ok(())
}

/// A short hash that never changes with a compiler or library: FNV-1a of each part's length and bytes.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.len().to_le_bytes().iter().chain(part) {
            state = (state ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
    format!("{state:016x}")
}

/// The page itself, and wasm-bindgen's glue, which imports its snippets. The rest asks for nothing, or is `boot.js`.
fn rewritten(name: &str) -> bool {
    name == "index.html" || (name.ends_with(".js") && name != "boot.js")
}

/// Adds `?v=ID` to each quoted relative URL of one of the files.
fn with_id(text: &str, names: &[String], id: &str) -> String {
    let mut text = text.to_owned();
    for name in names {
        for quote in ['"', '\''] {
            let plain = format!("{quote}./{name}{quote}");
            text = text.replace(&plain, &format!("{quote}./{name}?v={id}{quote}"));
        }
    }
    text
}

/// Every link of the page is inline data or carries the id: one that was overlooked would be cached for good.
fn check_links(html: &str, id: &str) -> Result<(), String> {
    let links = ["href=\"", "src=\""]
        .into_iter()
        .flat_map(|attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next());
    for link in links {
        if !link.starts_with("data:") && !link.ends_with(&format!("?v={id}")) {
            return Err(format!("index.html: `{link}` carries no build id"));
        }
    }
    Ok(())
}

/// The names of all files in a folder and those below it, with `/`, sorted.
fn files(folder: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let path = folder.join(&inside);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_the_build_carry_its_id() {
        let names = ["boot.js".to_owned(), "snippets/a/inline0.js".to_owned()];
        assert_eq!(
            with_id(r#"<script src="./boot.js">"#, &names, "1f"),
            r#"<script src="./boot.js?v=1f">"#
        );
        assert_eq!(
            with_id("import { f } from './snippets/a/inline0.js';", &names, "1f"),
            "import { f } from './snippets/a/inline0.js?v=1f';"
        );
    }

    #[test]
    fn a_link_without_the_id_is_found() {
        assert!(check_links(r#"<link href="./a.css?v=1f"><link href="data:,">"#, "1f").is_ok());
        assert!(check_links(r#"<link href="./a.css">"#, "1f").is_err());
        assert!(check_links(r#"<script src="./b.js?v=1e">"#, "1f").is_err());
    }

    #[test]
    fn the_hash_tells_parts_apart() {
        assert_eq!(hash([b"ab".as_slice()]), hash([b"ab".as_slice()]));
        assert_ne!(
            hash([b"ab".as_slice(), b"c"]),
            hash([b"a".as_slice(), b"bc"])
        );
    }
}
