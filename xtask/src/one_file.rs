//! `dormer.html`: the whole page as one file, for users without a web server.
//!
//! It opens by a double click, or inside a frame or a notebook. What the site's page fetches is embedded in compressed
//! data blocks: a browser does not execute them, so no policy applies to them, and more can be appended to the file
//! (`core/src/output/embedded.rs`: traces). Its policy lists the hashes of the style and of the one script that runs,
//! and allows no requests at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::page::at;

/// The name of the file.
pub(crate) const NAME: &str = xtask::weight::ONE_FILE;

/// What `boot.js` would fetch.
const FETCHED: [&str; 3] = ["dormer-app_bg.wasm", "worker_bg.wasm", "worker.js"];

/// The style of a report that may be embedded as well: the policy allows no style to be added later.
const REPORT: &str = include_str!("../../core/src/output/markup/report.css");

/// Shown if nothing starts.
const HINT: &str =
    "If this stays, scripts are blocked where the file is shown: open it in a browser.";

/// Writes the one file from the finished files of a build, beside them.
pub(crate) fn write(folder: &Path, build: &str) -> Result<(), String> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read(&file).map_err(at(&file))
    };
    let text = |name: &str| {
        let bytes = read(name)?;
        String::from_utf8(bytes).map_err(|_| format!("{name} is not text"))
    };
    let blocks = FETCHED
        .iter()
        .map(|name| block(name, &read(name)?))
        .collect::<Result<String, String>>()?;
    let page = page(&text("index.html")?, &text, &blocks, build)?;
    let file = folder.join(NAME);
    fs::write(&file, page).map_err(at(&file))
}

/// A file as a data block of the page.
fn block(name: &str, bytes: &[u8]) -> Result<String, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let compressed = encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .map_err(|error| format!("{name}: {error}"))?;
    let data = STANDARD.encode(compressed);
    Ok(format!(
        "<script type=\"application/octet-stream\" id=\"{name}\" data-codec=\"gzip\">{data}</script>\n"
    ))
}

/// The site's page, with everything that it refers to embedded.
fn page(
    html: &str,
    text: &impl Fn(&str) -> Result<String, String>,
    blocks: &str,
    build: &str,
) -> Result<String, String> {
    let mut style = String::from("\n");
    let mut kept = String::new();
    for line in html.lines() {
        match linked(line) {
            Some(name) if name.ends_with(".css") => style += &text(&name)?,
            Some(name) if name == "boot.js" => (),
            Some(name) => return Err(format!("{NAME} would ask for {name}")),
            None if line.trim().is_empty() => (),
            None => kept = kept + line + "\n",
        }
    }
    style += &scoped(REPORT);
    let script = script(&text("dormer-app.js")?, &text("boot.js")?, build)?;
    forbid("a style sheet", &style.to_ascii_lowercase(), &["</style"])?;
    let policy = format!(
        "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; img-src data: blob:; \
         worker-src blob:; connect-src 'none'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style),
    );
    let page = replaced(&kept, "content=\"", "\"", &policy)?;
    let page = replaced(
        &page,
        "<!-- First",
        "-->",
        ", so that it binds everything below: nothing is requested from anywhere. ",
    )?;
    let page = replaced(&page, "<p id=\"boot-hint\">", "</p>", HINT)?;
    let page = page.replacen("</head>", &format!("<style>{style}</style>\n</head>"), 1);
    let end = format!("{blocks}<script type=\"module\">{script}</script>\n</body>");
    Ok(page.replacen("</body>", &end, 1))
}

/// The style of a report's own page, scoped to the report inside this page.
fn scoped(style: &str) -> String {
    let style = style.replace(":root {", "& {").replace("body {", "& {");
    format!(".enclosed {{\n{style}}}\n")
}

/// The file of the build to which a line of the page links.
fn linked(line: &str) -> Option<String> {
    let (_, link) = line
        .split_once("href=\"./")
        .or_else(|| line.split_once("src=\"./"))?;
    link.split(['"', '?']).next().map(str::to_owned)
}

/// The one script: the app's, as a function that returns its exports, then the loader.
fn script(app: &str, boot: &str, build: &str) -> Result<String, String> {
    let app = app
        .replace("export class ", "class ")
        .replace("import.meta.url", "document.baseURI")
        .replace("export { initSync, __wbg_init as default };", "")
        .replace(&format!("export const build = \"{build}\";"), "");
    let script = format!(
        "\nconst app = () => {{\n{app}\nreturn {{ default: __wbg_init, build: '{build}' }};\n}};\n\
         globalThis.dormer = {{ build: '{build}', app }};\n{boot}"
    );
    let code = app.lines();
    let code = code.filter(|line| !line.trim_start().starts_with(['*', '/']));
    let code: Vec<&str> = code.collect();
    let of_modules = ["export ", "import ", "import.meta"];
    forbid("the app's script", &code.join("\n"), &of_modules)?;
    // The HTML parser does not know script comments, and tags are case-insensitive.
    let parsed = script.to_ascii_lowercase();
    forbid("a script", &parsed, &["</script", "<!--"])?;
    Ok(script)
}

/// Rejects text that would end the script early, or cannot work in it.
fn forbid(what: &str, text: &str, words: &[&str]) -> Result<(), String> {
    match words.iter().find(|word| text.contains(**word)) {
        Some(word) => Err(format!("{NAME}: {what} holds `{word}`")),
        None => Ok(()),
    }
}

/// Replaces the text between the first `start` and the next `end`.
fn replaced(text: &str, start: &str, end: &str, with: &str) -> Result<String, String> {
    let found = text.split_once(start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{start}{with}{end}{after}"))
    });
    found.ok_or_else(|| format!("index.html has no `{start}`"))
}

/// The hash of a script or style in a policy: over the text between the tags.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<!DOCTYPE html>\n<head>\n  <!-- First, … -->\n  <meta http-equiv=\"Content-Security-Policy\" content=\"old\">\n  \
        <link rel=\"stylesheet\" href=\"./a.css?v=1f\"/>\n  <script src=\"./boot.js?v=1f\" type=\"module\"></script>\n</head>\n\
        <body>\n<main><p id=\"boot-hint\">old</p></main>\n</body>\n</html>\n";

    fn text(name: &str) -> Result<String, String> {
        match name {
            "a.css" => Ok("a { color: red }\n".to_owned()),
            "boot.js" => Ok("boot();\n".to_owned()),
            "dormer-app.js" => Ok("export class A {}\nexport { initSync, __wbg_init as default };\n\nexport const build = \"1f\";\n".to_owned()),
            _ => Err(name.to_owned()),
        }
    }

    #[test]
    fn everything_the_page_names_is_inside_and_named_by_its_hash() {
        let page = page(
            HTML,
            &text,
            "<script type=\"application/octet-stream\">QQ==</script>\n",
            "1f",
        )
        .unwrap();
        assert!(!page.contains("./"), "{page}");
        let inside = |tag: &str, end: &str| {
            let (_, rest) = page.split_once(tag).unwrap();
            hash(rest.split_once(end).unwrap().0)
        };
        let policy = format!(
            "default-src 'none'; script-src '{}' 'wasm-unsafe-eval'; style-src '{}'; img-src data: blob:; worker-src blob:; \
             connect-src 'none'; base-uri 'none'; form-action 'none'",
            inside("<script type=\"module\">", "</script>"),
            inside("<style>", "</style>"),
        );
        assert!(page.contains(&format!("content=\"{policy}\"")), "{page}");
        assert!(page.contains(".enclosed {") && page.contains(HINT));
        assert!(!page.contains("old"));
    }

    /// SHA-256 of the empty text, as in the standard's examples.
    #[test]
    fn hashes_are_as_policies_have_them() {
        assert_eq!(
            hash(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn what_cannot_work_inside_is_an_error() {
        for app in [
            "import x from './y.js';",
            "export function f() {}",
            "const u = import.meta.resolve('./y.js');",
            "const s = '</script>';",
            "// ends it: </SCRIPT>",
            "* <!-- opens a comment of the page",
        ] {
            assert!(script(app, "", "1f").is_err(), "{app}");
        }
        for app in ["const u = import.meta.url;", "* import it from './y.js'"] {
            assert!(script(app, "", "1f").is_ok(), "{app}");
        }
        let style = |_: &str| Ok("/* </STYLE> */".to_owned());
        assert!(page(HTML, &style, "", "1f").is_err());
        let html = HTML.replace("a.css", "font.woff2");
        assert!(page(&html, &text, "", "1f").is_err());
    }
}
