//! Every key that the page hears, in one list: the sheet shows it, and a test holds the sources to it.

/// Keys of one part of the page.
pub struct KeyGroup {
    /// The part.
    pub title: &'static str,
    /// The sources that hear them, below `app/src`.
    pub sources: &'static [&'static str],
    /// What the keys do.
    pub rows: &'static [KeyRow],
}

/// Keys that do one thing.
pub struct KeyRow {
    /// As the browser calls them.
    pub keys: &'static [&'static str],
    /// Held down with them; empty for nothing.
    pub held: &'static str,
    /// What they do.
    pub does: &'static str,
}

const fn row(keys: &'static [&'static str], does: &'static str) -> KeyRow {
    KeyRow {
        keys,
        held: "",
        does,
    }
}

/// The digits that go to the views, in their order.
pub const DIGITS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

/// All keys.
#[rustfmt::skip]
pub const KEYS: &[KeyGroup] = &[
    KeyGroup {
        title: "Everywhere",
        sources: &["components/key_sheet.rs"],
        rows: &[
            KeyRow { keys: &["k", "K"], held: "Ctrl or \u{2318}", does: "Find views, operations, GPUs, actions" },
            row(DIGITS, "Go to a view, in the order of the navigation"),
            row(&["?"], "Show these keys"),
            row(&["Escape"], "Close the story beside the view"),
        ],
    },
    KeyGroup {
        title: "Finding anything",
        sources: &["components/palette.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "The entry before, the next one"),
            row(&["Enter"], "Go there or do it"),
            row(&["Escape"], "Close"),
        ],
    },
    KeyGroup {
        title: "Operations, Kernels, Tree and other long tables",
        sources: &["components/virtual_table.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "The row before, the next one"),
            row(&["PageUp", "PageDown"], "A screen up, down"),
            row(&["Home", "End"], "The first row, the last one"),
        ],
    },
    KeyGroup {
        title: "Operations, Kernels",
        sources: &["components/sheet_table.rs"],
        rows: &[
            row(&["Enter"], "Into the story of the selected row"),
            row(&["Escape"], "Select nothing"),
        ],
    },
    KeyGroup {
        title: "Roofline",
        sources: &["components/roofline_chart/mod.rs"],
        rows: &[
            row(&["ArrowLeft", "ArrowUp"], "The operation before"),
            row(&["ArrowRight", "ArrowDown"], "The next operation"),
            row(&["Home", "End"], "The first operation, the last one"),
            row(&["Enter", " "], "Select it, and into its story"),
            row(&["Escape"], "Select nothing"),
        ],
    },
    KeyGroup {
        title: "Tree, and Compare: call trees",
        sources: &["components/tree_table.rs", "components/tree_search.rs"],
        rows: &[
            row(&["ArrowRight"], "Open; when open, into it"),
            row(&["ArrowLeft"], "Close; when closed, to its caller"),
            row(&["Enter", " "], "Open or close; in the search, the next match, with Shift the one before"),
            row(&["/"], "Search"),
        ],
    },
    KeyGroup {
        title: "Tree",
        sources: &["views/tree/state.rs"],
        rows: &[row(&["h"], "Open the way to the most GPU time")],
    },
    KeyGroup {
        title: "Tree: flame",
        sources: &["views/tree/flame/model.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "The caller, the call in it with the most time"),
            row(&["ArrowLeft", "ArrowRight"], "The call before, after"),
            row(&["Home"], "The first call"),
            row(&["Enter", " "], "Go into the call"),
            row(&["Escape", "Backspace"], "Go out again"),
            row(&["/"], "Search"),
        ],
    },
    KeyGroup {
        title: "Compare: call trees",
        sources: &["views/compare/trees.rs"],
        rows: &[row(&["n"], "The next difference, the largest first"), row(&["p"], "The difference before")],
    },
    KeyGroup {
        title: "Timeline",
        sources: &["views/timeline/mod.rs"],
        rows: &[
            row(&["w", "W", "+"], "Closer"),
            row(&["s", "S", "-"], "Farther"),
            row(&["a", "A"], "Earlier"),
            row(&["d", "D"], "Later"),
            row(&["ArrowLeft", "ArrowRight"], "The event before, after"),
            row(&["ArrowUp", "ArrowDown"], "The event above, below"),
            row(&["Enter", "f", "F"], "Show the selected event in full"),
            row(&["g", "G"], "Show the work on the GPU"),
            row(&["Home"], "Show everything"),
            row(&["Escape"], "Select nothing"),
        ],
    },
    KeyGroup {
        title: "Menus and panels",
        sources: &["components/column_chooser.rs", "components/story/mod.rs", "components/thresholds.rs"],
        rows: &[row(&["Escape"], "Close; from a story, back to where it was opened")],
    },
];

impl KeyRow {
    /// What stands on the keys; those that differ by Shift alone once.
    pub fn caps(&self) -> Vec<String> {
        let mut caps: Vec<String> = Vec::new();
        for key in self.keys {
            let cap = cap(key);
            if !caps.contains(&cap) {
                caps.push(cap);
            }
        }
        caps
    }
}

/// What stands on a key.
fn cap(key: &str) -> String {
    match key {
        "ArrowUp" => "\u{2191}",
        "ArrowDown" => "\u{2193}",
        "ArrowLeft" => "\u{2190}",
        "ArrowRight" => "\u{2192}",
        "PageUp" => "Page Up",
        "PageDown" => "Page Down",
        "Escape" => "Esc",
        " " => "Space",
        key if key.chars().count() == 1 => return key.to_uppercase(),
        key => key,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::*;
    use crate::page::views::VIEWS;

    /// The string literals before the arrows of matches on a key or of a press that a tree hands on,
    /// and those that a key is compared with.
    fn heard(source: &str) -> BTreeSet<String> {
        let mut heard = BTreeSet::new();
        let mut take = |code: &str| {
            let literals = code.split('"').skip(1).step_by(2);
            heard.extend(literals.map(str::to_owned));
            if code.contains("DIGITS") {
                heard.extend(DIGITS.iter().map(|digit| (*digit).to_owned()));
            }
        };
        let mut end = None;
        for line in source.lines() {
            let indent = &line[..line.len() - line.trim_start().len()];
            if let Some((_, compared)) = line.split_once(".key() == ") {
                take(compared);
            } else if line.contains("match ") && line.contains(".key().as_str()") {
                end = Some(format!("{indent}}}"));
            } else if end.as_ref().is_some_and(|end| line.starts_with(end)) {
                end = None;
            } else if let Some((pattern, _)) = line.split_once(" => ")
                && (end.is_some() || pattern.contains("Press(\""))
            {
                take(pattern);
            }
        }
        heard
    }

    fn sources(folder: &Path, found: &mut BTreeMap<String, String>) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn keys_are_found_in_code() {
        let code = r#"
            match (event.key().as_str(), row) {
                ("h", row) => go("x"),
                ("Enter" | " ", Some(_)) if open => {
                    say("y");
                }
                digit if free && DIGITS.contains(&digit) => {}
                _ => return,
            }
            if event.key() == "Escape" {}
            match act {
                TreeAct::Press("n", _) => go(true),
            }
            match other { "z" => 1 }
        "#;
        let expected = [" ", "Enter", "Escape", "h", "n"].iter().chain(DIGITS);
        assert_eq!(heard(code), expected.map(|key| (*key).to_owned()).collect());
    }

    #[test]
    fn the_list_has_every_key_that_is_heard_and_no_other() {
        let mut all = BTreeMap::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page"),
            &mut all,
        );
        all.remove("keys.rs");
        for group in KEYS {
            let listed: BTreeSet<String> = group
                .rows
                .iter()
                .flat_map(|row| row.keys.iter().map(|key| (*key).to_owned()))
                .collect();
            let mut heard_here = BTreeSet::new();
            for source in group.sources {
                let text = all.remove(*source).unwrap_or_default();
                heard_here.extend(heard(&text));
            }
            assert_eq!(heard_here, listed, "{}", group.title);
        }
        // What is in no group hears no key.
        for (name, text) in all {
            let n_heard = text.matches("event.key()").count();
            assert_eq!(n_heard, 0, "{name} hears keys that no group lists");
        }
    }

    #[test]
    fn every_view_has_a_digit() {
        assert!(VIEWS.len() <= DIGITS.len());
    }

    #[test]
    fn caps_say_what_stands_on_a_key() {
        let caps = row(&["w", "W", "+", " ", "ArrowUp"], "").caps();
        assert_eq!(caps, ["W", "+", "Space", "\u{2191}"]);
    }
}
