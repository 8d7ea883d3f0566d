//! One build id on every file of a build.
//!
//! The files of the page keep their names from build to build, so a browser could combine a new one with an old one
//! from its cache. Therefore every URL in the page ends in `?v=` and a hash over all files: the same files have the
//! same id, and any change gives all of them a new one. `boot.js` reads the id from its own URL and passes it on to
//! what it loads.
//!
//! An old page from a cache would still load the new files under its old URLs. So each script and module also contains
//! the id, and `boot.js` starts nothing that belongs to another build.

use std::fs;
use std::path::Path;

use xtask::weight;

use crate::page::at;

/// Removes what Trunk leaves in the page and what would otherwise affect the id.
pub(crate) fn tidy(folder: &Path) -> Result<(), String> {
    let page = folder.join("index.html");
    let html = fs::read_to_string(&page).map_err(at(&page))?;
    fs::write(&page, without_rust_links(&html)).map_err(at(&page))
}

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

/// Writes the id into the files of a build.
pub(crate) fn stamp(folder: &Path, id: &str) -> Result<(), String> {
    let names = files(folder)?;
    for name in &names {
        let file = folder.join(name);
        let bytes = fs::read(&file).map_err(at(&file))?;
        let text = || {
            String::from_utf8(bytes.clone()).map_err(|_| format!("{} is not text", file.display()))
        };
        let stamped = match name.rsplit_once('.') {
            Some((_, "wasm")) => with_section(&bytes, id),
            Some((_, "html")) => {
                let page = with_urls(&text()?, &names, id);
                check_links(&page, id)?;
                page.into_bytes()
            }
            Some((_, "js")) => with_mark(name, &with_urls(&text()?, &names, id), id).into_bytes(),
            Some((_, "json")) => with_urls(&text()?, &names, id).into_bytes(),
            Some((_, "css")) => {
                check_sheet(name, &text()?)?;
                bytes
            }
            _ => bytes,
        };
        fs::write(&file, stamped).map_err(at(&file))?;
    }
    println!("Build {id}.");
    Ok(())
}

/// A short hash that is independent of compiler and library versions: FNV-1a of each part's length and bytes.
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

/// Adds `?v=ID` to each quoted relative URL of one of the files: links of the page, and imports in wasm-bindgen's glue.
fn with_urls(text: &str, names: &[String], id: &str) -> String {
    let mut text = text.to_owned();
    for name in names {
        for quote in ['"', '\''] {
            let plain = format!("{quote}./{name}{quote}");
            text = text.replace(&plain, &format!("{quote}./{name}?v={id}{quote}"));
        }
    }
    text
}

/// Trunk leaves the link to the app's `Cargo.toml` in the page if it does not replace it by a script.
fn without_rust_links(html: &str) -> String {
    let mut parts = html.split("<link");
    let mut kept = parts.next().unwrap_or("").to_owned();
    for part in parts {
        match part.split_once('>') {
            Some((attributes, rest)) if attributes.contains("rel=\"rust\"") => kept += rest,
            _ => kept = kept + "<link" + part,
        }
    }
    kept
}

/// JavaScript with its build id: as an export if it is imported as a module, otherwise as its last line. The service
/// worker is the same in every build, so that a new build alone does not change a kept offline copy.
fn with_mark(name: &str, text: &str, id: &str) -> String {
    match name {
        "dormer-app.js" => format!("{text}\nexport const build = \"{id}\";\n"),
        "sw.js" => text.to_owned(),
        _ => format!("{text}\n// build {id}\n"),
    }
}

/// A module with its build id in a custom section named `build`.
fn with_section(module: &[u8], id: &str) -> Vec<u8> {
    const NAME: &[u8] = b"build";
    let lengths = [NAME.len(), NAME.len() + 1 + id.len()].map(|n| n.to_le_bytes()[0]);
    let [name_length, length] = lengths; // Below 128 each, so one byte is their LEB128.
    let mut bytes = module.to_vec();
    bytes.extend_from_slice(&[0, length, name_length]);
    bytes.extend_from_slice(NAME);
    bytes.extend_from_slice(id.as_bytes());
    bytes
}

/// Rejects URLs in a style sheet: what it loads would have no build id.
fn check_sheet(name: &str, text: &str) -> Result<(), String> {
    let loads = text.replace("url(\"data:", "").contains("url(") || text.contains("@import");
    if loads {
        return Err(format!(
            "{name} loads a file, which would carry no build id"
        ));
    }
    Ok(())
}

/// Checks that every link of the page is inline data or has the id: a missed one would be cached forever.
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

/// The paths of all files below a folder, with `/`, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<String>, String> {
    weight::files(folder).map_err(at(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_the_build_carry_its_id() {
        let names = ["boot.js".to_owned(), "snippets/a/inline0.js".to_owned()];
        assert_eq!(
            with_urls(r#"<script src="./boot.js">"#, &names, "1f"),
            r#"<script src="./boot.js?v=1f">"#
        );
        assert_eq!(
            with_urls("import { f } from './snippets/a/inline0.js';", &names, "1f"),
            "import { f } from './snippets/a/inline0.js?v=1f';"
        );
    }

    #[test]
    fn scripts_carry_the_id_but_for_the_service_worker() {
        let mark = |name| with_mark(name, "f();", "1f");
        assert_eq!(mark("boot.js"), "f();\n// build 1f\n");
        assert_eq!(
            mark("dormer-app.js"),
            "f();\nexport const build = \"1f\";\n"
        );
        assert_eq!(mark("sw.js"), "f();");
    }

    #[test]
    fn a_link_without_the_id_is_found() {
        assert!(check_links(r#"<link href="./a.css?v=1f"><link href="data:,">"#, "1f").is_ok());
        assert!(check_links(r#"<link href="./a.css">"#, "1f").is_err());
        assert!(check_links(r#"<script src="./b.js?v=1e">"#, "1f").is_err());
    }

    #[test]
    fn links_for_trunk_are_taken_out() {
        assert_eq!(
            without_rust_links(r#"<link rel="a"><link data-bin="x" rel="rust"><p>"#),
            r#"<link rel="a"><p>"#
        );
    }

    #[test]
    fn a_module_carries_the_id_in_a_section() {
        let empty = b"\0asm\x01\0\0\0";
        let stamped = with_section(empty, "1f");
        assert_eq!(stamped, b"\0asm\x01\0\0\0\x00\x08\x05build1f");
    }

    #[test]
    fn the_hash_distinguishes_parts() {
        assert_eq!(hash([b"ab".as_slice()]), hash([b"ab".as_slice()]));
        assert_ne!(
            hash([b"ab".as_slice(), b"c"]),
            hash([b"a".as_slice(), b"bc"])
        );
    }
}
