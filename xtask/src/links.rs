//! The list of the page's parts: the links of `index.html` that are marked `data-trunk`.
//!
//! Trunk reads the same list, so a new style sheet is one line there for both, and the resulting links are the same.

use std::ops::Range;

/// A part of the page; paths are relative to the project root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A file that is copied unchanged.
    File(String),
    /// A program to compile.
    Program(Program),
}

/// A program of the page: the app or a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The `Cargo.toml` of its package.
    pub(crate) manifest: String,
    /// The name of the binary, and of its files.
    pub(crate) name: String,
    /// The Cargo profile.
    pub(crate) profile: String,
    /// Workers are started from text, which cannot be a module.
    pub(crate) is_worker: bool,
}

/// The page's parts in order, and the page with the resulting links.
pub(crate) fn read(html: &str) -> Result<(Vec<Part>, String), String> {
    let mut parts = Vec::new();
    let mut page = String::new();
    let mut end = 0;
    for tag in tags(html) {
        if tag.get("data-trunk").is_none() {
            continue;
        }
        let (part, link) = part(&tag)?;
        page += &html[end..tag.range.start];
        page += &link;
        end = tag.range.end;
        if tag.name == "script" {
            const END: &str = "</script>";
            if !html[end..].starts_with(END) {
                return Err("index.html: a script of ours has a text of its own".to_owned());
            }
            end += END.len();
        }
        parts.push(part);
    }
    page += &html[end..];
    Ok((parts, page))
}

/// The part of a link, and its replacement, as Trunk writes it.
fn part(tag: &Tag) -> Result<(Part, String), String> {
    let relation = tag.get("rel").unwrap_or_default();
    match (tag.name, relation) {
        ("link", "css") => {
            let file = tag.needed("href")?;
            let others = tag.others(&["href", "rel"]);
            let link = format!(
                r#"<link rel="stylesheet" href="./{}"{others}/>"#,
                base(file)
            );
            Ok((Part::File(file.to_owned()), link))
        }
        ("script", "") => {
            let file = tag.needed("src")?;
            let others = tag.others(&["src"]);
            let link = format!(r#"<script src="./{}"{others}></script>"#, base(file));
            Ok((Part::File(file.to_owned()), link))
        }
        ("link", "copy-file") => {
            let file = tag.needed("href")?;
            Ok((Part::File(file.to_owned()), String::new()))
        }
        ("link", "rust") => Ok((Part::Program(program(tag)?), String::new())),
        (name, _) => Err(format!(
            "index.html: `cargo xtask` does not know `<{name} data-trunk rel=\"{relation}\">`"
        )),
    }
}

fn program(tag: &Tag) -> Result<Program, String> {
    const KNOWN: [&str; 7] = [
        "data-trunk",
        "rel",
        "href",
        "data-bin",
        "data-type",
        "data-cargo-profile",
        "data-wasm-opt", // Ours runs on all modules.
    ];
    if let Some((unknown, _)) = tag
        .attributes
        .iter()
        .find(|(name, _)| !KNOWN.contains(name))
    {
        return Err(format!("index.html: `cargo xtask` does not know {unknown}"));
    }
    Ok(Program {
        manifest: tag.needed("href")?.to_owned(),
        name: tag.needed("data-bin")?.to_owned(),
        profile: tag.needed("data-cargo-profile")?.to_owned(),
        is_worker: tag.get("data-type") == Some("worker"),
    })
}

/// The name of a file without its folder: all of the page's files are in one folder.
pub(crate) fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// A start tag.
struct Tag<'a> {
    range: Range<usize>,
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().find(|(found, _)| *found == name);
        found.map(|(_, value)| *value)
    }

    fn needed(&self, name: &str) -> Result<&'a str, String> {
        self.get(name)
            .ok_or_else(|| format!("index.html: a link of ours has no {name}"))
    }

    /// The attributes to keep, sorted.
    fn others(&self, but: &[&str]) -> String {
        let mut kept: Vec<_> = self
            .attributes
            .iter()
            .filter(|(name, _)| *name != "data-trunk" && !but.contains(name))
            .collect();
        kept.sort_unstable();
        let kept = kept.into_iter().map(|(name, value)| match *value {
            "" => format!(" {name}"),
            value => format!(" {name}=\"{value}\""),
        });
        kept.collect()
    }
}

/// All start tags of a page outside of comments. Values with `>` must be quoted.
fn tags(html: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(start) = html[at..].find('<').map(|offset| at + offset) {
        let rest = &html[start..];
        let length = if rest.starts_with("<!--") {
            rest.find("-->").map_or(rest.len(), |end| end + "-->".len())
        } else {
            let mut quote = None;
            let end = rest.find(|letter| match (quote, letter) {
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    false
                }
                (Some(open), _) => {
                    quote = quote.filter(|_| open != letter);
                    false
                }
                (None, letter) => letter == '>',
            });
            let length = end.map_or(rest.len(), |end| end + 1);
            let inside = rest[..length].trim_matches(['<', '>', '/']);
            let (name, attributes) = inside
                .split_once(char::is_whitespace)
                .unwrap_or((inside, ""));
            tags.push(Tag {
                range: start..start + length,
                name,
                attributes: attributes_of(attributes),
            });
            length
        };
        at = start + length;
    }
    tags
}

/// Parses `a b="c"` into names and values.
fn attributes_of(text: &str) -> Vec<(&str, &str)> {
    let mut attributes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter == '=' || letter.is_whitespace());
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let (value, after) = match after.strip_prefix('=') {
            Some(value) => match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    value[1..].split_once(quote).unwrap_or((&value[1..], ""))
                }
                _ => value.split_once(char::is_whitespace).unwrap_or((value, "")),
            },
            None => ("", after),
        };
        attributes.push((name, value));
        rest = after.trim_start();
    }
    attributes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::stamp::files;

    #[test]
    fn links_of_ours_are_rewritten() {
        for (link, rewritten) in [
            (
                r#"<link data-trunk rel="css" href="app/style/a.css">"#,
                r#"<link rel="stylesheet" href="./a.css"/>"#,
            ),
            (
                r#"<link href="a.css" media="print" rel="css" data-trunk />"#,
                r#"<link rel="stylesheet" href="./a.css" media="print"/>"#,
            ),
            (
                r#"<script type="module" data-trunk src="app/boot.js"></script>"#,
                r#"<script src="./boot.js" type="module"></script>"#,
            ),
            (r#"<link data-trunk rel="copy-file" href="app/a.png">"#, ""),
            (
                r#"<link data-trunk rel="rust" href="app/Cargo.toml" data-bin="b" data-cargo-profile="page">"#,
                "",
            ),
        ] {
            let page = read(&format!("<p>{link}\n</p>")).unwrap().1;
            assert_eq!(page, format!("<p>{rewritten}\n</p>"));
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let html = r#"<!-- <link data-trunk rel="css" href="a.css"> --><link rel="icon" href="data:,<a>"><p>x</p>"#;
        assert_eq!(read(html), Ok((vec![], html.to_owned())));
    }

    #[test]
    fn a_program_is_read_off_its_link() {
        let link = r#"<link data-trunk rel="rust" href="app/Cargo.toml" data-bin="worker" data-type="worker" data-cargo-profile="page" data-wasm-opt="0">"#;
        let program = Program {
            manifest: "app/Cargo.toml".to_owned(),
            name: "worker".to_owned(),
            profile: "page".to_owned(),
            is_worker: true,
        };
        assert_eq!(read(link).unwrap().0, [Part::Program(program)]);
    }

    #[test]
    fn what_only_trunk_knows_is_an_error() {
        for link in [
            r#"<link data-trunk rel="copy-dir" href="a">"#,
            r#"<link data-trunk rel="css">"#,
            r#"<link data-trunk rel="rust" href="Cargo.toml" data-bin="a" data-cargo-profile="page" data-typescript>"#,
            r#"<script data-trunk src="a.js">1</script>"#,
        ] {
            assert!(read(link).is_err(), "{link}");
        }
    }

    /// The page's own list, and the folder of its files.
    fn of_the_page() -> (Vec<Part>, &'static Path) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let html = std::fs::read_to_string(root.join("index.html")).unwrap();
        (read(&html).unwrap().0, root)
    }

    #[test]
    fn every_style_sheet_is_linked_once() {
        let (parts, root) = of_the_page();
        let mut linked: Vec<&str> = parts
            .iter()
            .filter_map(|part| match part {
                Part::File(file) => file.strip_prefix("app/style/"),
                Part::Program(_) => None,
            })
            .collect();
        linked.sort_unstable();
        assert_eq!(linked, files(&root.join("app/style")).unwrap());
    }

    #[test]
    fn every_program_of_the_app_is_linked_once() {
        let (parts, root) = of_the_page();
        let programs = parts.into_iter().filter_map(|part| match part {
            Part::Program(program) => Some(program),
            Part::File(_) => None,
        });
        let mut names: Vec<String> = programs.map(|program| program.name).collect();
        names.sort_unstable();
        let workers = files(&root.join("app/src/bin")).unwrap().into_iter();
        let expected: BTreeSet<String> = workers
            .map(|file| file.trim_end_matches(".rs").to_owned())
            .chain(["dormer-app".to_owned()])
            .collect();
        assert_eq!(names, Vec::from_iter(expected));
    }
}
