//! Finds the specified files, each with its tags.

use std::collections::BTreeMap;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use dormer_core::import::is_called_like_traces;
use regex_lite::Regex;

use crate::tables::{since_1970_ns, uri_of};
use crate::{Failure, captures};

/// A file that may be a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// As written in rows.
    pub(super) uri: String,
    /// `None` if the file does not exist.
    pub(super) bytes: Option<u64>,
    pub(super) modified_ns: Option<i64>,
    /// By name; later ones replace earlier ones.
    pub(super) tags: Tags,
}

type Tags = BTreeMap<String, String>;

/// Files by their absolute paths, so that each occurs once however it is spelled; each with its first spelling.
type Files = BTreeMap<PathBuf, (PathBuf, Tags)>;

/// Adds a file if it is new; returns its tags.
fn file(found: &mut Files, path: PathBuf) -> &mut Tags {
    let whole = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
    &mut found.entry(whole).or_insert_with(|| (path, Tags::new())).1
}

/// The files of folders, patterns, lists and paths, each once, sorted by path.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut found = Files::new();
    for path in paths {
        let text = path.to_string_lossy();
        if path.is_dir() {
            inside(path, &mut |inside| {
                if is_trace(&inside) {
                    file(&mut found, inside);
                }
            });
        } else if path.exists() {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("txt" | "csv") => list(path, &mut found)?,
                _ => {
                    file(&mut found, path.clone());
                }
            }
        } else if text.contains(['*', '?', '[']) {
            matching(&text, &mut found)?;
        } else {
            let name = path.display();
            return Err(Failure::Sentence(format!("{name}: no such file or folder")));
        }
    }
    let found = found.into_values().map(|(path, tags)| of(path, tags));
    Ok(found.collect())
}

fn of(path: PathBuf, tags: Tags) -> Found {
    let metadata = fs::metadata(&path).ok();
    Found {
        uri: uri_of(&path),
        bytes: metadata.as_ref().map(fs::Metadata::len),
        modified_ns: metadata
            .and_then(|of| of.modified().ok())
            .map(since_1970_ns),
        path,
        tags,
    }
}

/// By its name; the content may still be something else.
fn is_trace(file: &Path) -> bool {
    let name = captures::file_name(file).to_ascii_lowercase();
    // Includes unsupported compression, which is reported in the row.
    is_called_like_traces(&name) || !name.starts_with('.') && name.contains(".pt.trace.json")
}

/// All files below a folder; an unreadable folder counts as empty.
fn inside(folder: &Path, each: &mut dyn FnMut(PathBuf)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|of| of.is_dir());
        match is_folder {
            true => inside(&path, each),
            false => each(path),
        }
    }
}

/// The files that match a pattern: `*`, `?`, `[a-z]` and `[!a-z]` within a name, `**` across folders.
fn matching(pattern: &str, found: &mut Files) -> Result<(), Failure> {
    let wild = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    let root = pattern.get(..wild).unwrap_or_default();
    let root = root.rfind('/').map_or("", |at| &root[..=at]);
    let regex = Regex::new(&of_pattern(pattern.get(root.len()..).unwrap_or_default()))
        .map_err(|_| Failure::Usage(format!("{pattern}: the pattern cannot be read")))?;
    let folder = if root.is_empty() { "." } else { root };
    inside(Path::new(folder), &mut |inside| {
        let below = inside.strip_prefix(folder).unwrap_or(&inside);
        if regex.is_match(&below.to_string_lossy()) {
            file(found, inside);
        }
    });
    Ok(())
}

fn of_pattern(pattern: &str) -> String {
    let mut out = "^".to_owned();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.next_if_eq(&'*').is_some() => {
                // `**/` also matches no folder.
                let _ = letters.next_if_eq(&'/');
                out.push_str("(?:.*/)?");
                if letters.peek().is_none() {
                    out.push_str(".*");
                }
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => class(&mut letters, &mut out),
            other => out.push_str(&regex_lite::escape(&other.to_string())),
        }
    }
    out.push('$');
    out
}

/// A character class in brackets; a closing bracket right at the start belongs to the class. An unclosed class results
/// in an invalid pattern.
fn class(letters: &mut Peekable<Chars>, out: &mut String) {
    out.push('[');
    if letters.next_if(|letter| "!^".contains(*letter)).is_some() {
        // A negated class does not match the folder separator.
        out.push_str("^/");
    }
    let mut is_first = true;
    for letter in letters {
        match letter {
            ']' if !is_first => return out.push(']'),
            '-' => out.push('-'),
            other => out.push_str(&regex_lite::escape(&other.to_string())),
        }
        is_first = false;
    }
}

/// The files of a list: each line has a path, or a path with the name and the value of a tag.
fn list(path: &Path, found: &mut Files) -> Result<(), Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::of_file(&path.display().to_string(), &error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let has_tags = path.extension().is_some_and(|ending| ending == "csv");
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&str> = match has_tags {
            true => line
                .splitn(3, ',')
                .map(|cell| cell.trim().trim_matches('"'))
                .collect(),
            false => vec![line],
        };
        match cells.as_slice() {
            ["path", "key", "value"] => {}
            [name] => {
                file(found, folder.join(name));
            }
            [name, key, value] if !key.is_empty() => {
                file(found, folder.join(name)).insert((*key).to_owned(), (*value).to_owned());
            }
            _ => {
                let name = path.display();
                let why = format!("{name}: expected path, key, value: {line}");
                return Err(Failure::Usage(why));
            }
        }
    }
    Ok(())
}

/// Adds the tags that a pattern with named groups extracts from file paths.
pub(super) fn tag_from(pattern: &Regex, found: &mut [Found]) {
    for file in found {
        let Some(groups) = pattern.captures(&file.uri) else {
            continue;
        };
        for name in pattern.capture_names().flatten() {
            if let Some(value) = groups.name(name) {
                file.tags.insert(name.to_owned(), value.as_str().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_patterns_and_lists_name_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/deep")).unwrap();
        for name in [
            "a/b07__qwen.json.gz",
            "a/deep/x.pt.trace.json",
            "a/deep/y.pt.trace.json.zst",
            "a/host.xplane.pb",
            "a/notes.md",
            "a/.hidden.json",
        ] {
            fs::write(root.join(name), name).unwrap();
        }
        fs::write(
            root.join("list.txt"),
            "# two\na/b07__qwen.json.gz\nmissing.json\n",
        )
        .unwrap();
        let tags = "path,key,value\na/b07__qwen.json.gz,team,vision\n";
        fs::write(root.join("tags.csv"), tags).unwrap();
        let names = |path: &str| {
            let found = find(&[root.join(path)]).unwrap();
            let names = found.iter().map(|file| captures::file_name(&file.path));
            names.collect::<Vec<String>>()
        };
        let both = ["b07__qwen.json.gz", "x.pt.trace.json"];
        let others = ["y.pt.trace.json.zst", "host.xplane.pb"];
        assert_eq!(names("a"), [both, others].concat());
        assert_eq!(names("a/*.json*"), [".hidden.json", both[0]]);
        assert_eq!(names("a/**/?.pt.*"), [both[1], others[0]]);
        assert_eq!(names("list.txt"), [both[0], "missing.json"]);
        assert!(find(&[root.join("no.json")]).is_err());
        let paths = [root.join("a"), root.join("tags.csv"), root.join("list.txt")];
        let mut found = find(&paths).unwrap();
        let pattern = Regex::new(r"(?P<build>b\d+)__(?P<model>[^_.]+)").unwrap();
        tag_from(&pattern, &mut found);
        let tags: Vec<(&str, &str)> = found[0]
            .tags
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let expected = [("build", "b07"), ("model", "qwen"), ("team", "vision")];
        assert_eq!(tags, expected);
        let missing = found.iter().find(|file| file.bytes.is_none());
        assert!(missing.unwrap().uri.ends_with("missing.json"));
        assert_eq!(found.len(), 5);
        fs::write(root.join("tags.csv"), "a/b07__qwen.json.gz, ,vision\n").unwrap();
        let Err(Failure::Usage(why)) = find(&[root.join("tags.csv")]) else {
            panic!("a tag has no name");
        };
        assert!(why.ends_with("a/b07__qwen.json.gz, ,vision"), "{why}");
    }

    #[test]
    fn brackets_of_a_pattern_hold_letters() {
        let cases = [
            ("b0[1-3]*.json", "b02__a.json", true),
            ("b0[1-3]*.json", "b04__a.json", false),
            ("b0[!1-3].json", "b04.json", true),
            ("b0[!1-3].json", "b02.json", false),
            ("b0[^1-3].json", "b02.json", false),
            ("a[!b]c", "a/c", false),
            ("[]x].json", "].json", true),
            ("[a.-].json", "-.json", true),
            ("[a&&b]", "&", true),
        ];
        for (pattern, name, matches) in cases {
            let regex = Regex::new(&of_pattern(pattern)).unwrap();
            assert_eq!(regex.is_match(name), matches, "{pattern} {name}");
        }
        assert!(Regex::new(&of_pattern("b0[1-3")).is_err());
    }
}
