//! Leaves out of the page's scripts what only their readers need: lines of comments, and indentation.

use std::fs;
use std::path::Path;

use crate::page::at;
use crate::stamp::files;

/// Shortens all scripts of a build.
pub(crate) fn shorten(folder: &Path) -> Result<(), String> {
    let names = files(folder)?.into_iter();
    for name in names.filter(|name| name.ends_with(".js")) {
        let file = folder.join(name);
        let script = fs::read_to_string(&file).map_err(at(&file))?;
        fs::write(&file, shortened(&script)).map_err(at(&file))?;
    }
    Ok(())
}

/// A script without lines of comments. Lines stay lines, so that statements end where they did.
fn shortened(script: &str) -> String {
    let has_text_of_lines = |line: &str| line.matches('`').count() % 2 == 1;
    if script.lines().any(has_text_of_lines) {
        return script.to_owned();
    }
    let mut short = String::with_capacity(script.len());
    let mut in_comment = false;
    for line in script.lines().map(str::trim) {
        let starts = line.starts_with("/*") && !line.contains("*/");
        let is_whole = line.starts_with("/*") && line.find("*/") == line.len().checked_sub(2);
        let is_comment = in_comment || starts || is_whole || line.starts_with("//");
        in_comment = (in_comment || starts) && !line.ends_with("*/");
        if !is_comment && !line.is_empty() {
            short += line;
            short.push('\n');
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn comments_on_lines_of_their_own_are_left_out() {
        let script = "/**\n * @returns {number}\n */\nexport function one() {\n    // Why.\n    return 1; // one\n\n}\n/* @ts-check */\n/* pure */ two()\n";
        assert_eq!(
            shortened(script),
            "export function one() {\nreturn 1; // one\n}\n/* pure */ two()\n"
        );
        let text = "const text = `\n// not a comment`;\n";
        assert_eq!(shortened(text), text);
    }
}
