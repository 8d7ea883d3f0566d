//! Merges all style sheets into one, in the order of the page's links: together they compress to two thirds, and the
//! page sends one request. Comments and spaces that mean nothing are left out.

use std::fs;
use std::path::Path;

use crate::page::at;

/// The name of the merged style sheet.
const NAME: &str = "style.css";

/// Merges all style sheets of a build.
pub(crate) fn join(folder: &Path) -> Result<(), String> {
    let page = folder.join("index.html");
    let html = fs::read_to_string(&page).map_err(at(&page))?;
    let (html, names) = linked_once(&html);
    let mut style = String::new();
    for name in names {
        let file = folder.join(name);
        style += &fs::read_to_string(&file).map_err(at(&file))?;
        fs::remove_file(&file).map_err(at(&file))?;
    }
    let sheet = folder.join(NAME);
    fs::write(&sheet, minified(&style)).map_err(at(&sheet))?;
    fs::write(&page, html).map_err(at(&page))
}

/// A style sheet without comments, and without spaces where they separate nothing. Texts in quotes stay as they are.
fn minified(style: &str) -> String {
    let mut short = String::with_capacity(style.len());
    let mut rest = style;
    while let Some(letter) = rest.chars().next() {
        let mut end = letter.len_utf8();
        if rest.starts_with("/*") {
            end = rest.find("*/").map_or(rest.len(), |at| at + 2);
        } else if letter.is_whitespace() {
            let after = rest.trim_start();
            end = rest.len() - after.len();
            let separates_nothing = short.is_empty()
                || short.ends_with(['{', '}', ';', ',', ':', ' '])
                || after.starts_with(['{', '}', ';', ',']);
            if !separates_nothing {
                short.push(' ');
            }
        } else {
            if letter == '"' {
                end = rest[1..].find('"').map_or(rest.len(), |at| at + 2);
            }
            if letter == '}' && short.ends_with(';') {
                short.pop();
            }
            short += &rest[..end];
        }
        rest = &rest[end..];
    }
    short
}

/// The page with a single style sheet link, in place of the first one, and the names of all linked style sheets.
fn linked_once(html: &str) -> (String, Vec<&str>) {
    let mut names = Vec::new();
    let mut page = String::new();
    for line in html.split_inclusive('\n') {
        match sheet(line) {
            Some(name) => {
                if names.is_empty() {
                    page += &line.replace(name, NAME);
                }
                names.push(name);
            }
            None => page += line,
        }
    }
    (page, names)
}

/// The style sheet that a line links to, for all media.
fn sheet(line: &str) -> Option<&str> {
    let link = line
        .trim()
        .strip_prefix("<link rel=\"stylesheet\" href=\"./")?;
    link.strip_suffix("\"/>").filter(|name| !name.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_links_to_one_sheet_with_all_rules_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let link = |name: &str| format!("  <link rel=\"stylesheet\" href=\"./{name}\"/>\n");
        let page = |links: &str| format!("<head>\n{links}  <title>Dormer</title>\n</head>\n");
        fs::write(path("index.html"), page(&(link("b.css") + &link("a.css")))).unwrap();
        fs::write(path("a.css"), "a > p { color: red; }\n").unwrap();
        fs::write(path("b.css"), "/* Blue. */\np { color: blue }\n").unwrap();
        join(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert_eq!(read("index.html"), page(&link(NAME)));
        assert_eq!(read(NAME), "p{color:blue}a > p{color:red}");
        assert!(!path("a.css").exists() && !path("b.css").exists());
    }

    #[test]
    fn spaces_that_separate_stay() {
        let style = "a :is(b, c):hover::after {\n  content: \" a: b \";\n  width: calc(1px + 2 * 3px);\n}\n";
        let short = "a :is(b,c):hover::after{content:\" a: b \";width:calc(1px + 2 * 3px)}";
        assert_eq!(minified(style), short);
    }

    #[test]
    fn a_sheet_for_some_media_stays_apart() {
        let link = "<link rel=\"stylesheet\" href=\"./a.css\" media=\"print\"/>";
        assert_eq!(sheet(link), None);
    }
}
