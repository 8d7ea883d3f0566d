//! Every key that the page handles, in one list: the shortcut sheet shows it, and a test checks it against the sources.

/// Keys of one part of the page.
pub struct KeyGroup {
    /// The part.
    pub title: &'static str,
    /// The source files that handle them, below `app/src`.
    pub sources: &'static [&'static str],
    pub rows: &'static [KeyRow],
}

/// Keys that do the same thing.
pub struct KeyRow {
    /// The browser's names of the keys.
    pub keys: &'static [&'static str],
    /// The modifier held with them; empty for none.
    pub held: &'static str,
    pub does: &'static str,
}

const fn row(keys: &'static [&'static str], does: &'static str) -> KeyRow {
    KeyRow {
        keys,
        held: "",
        does,
    }
}

/// The digits that go to the first ten views, in order.
pub const DIGITS: &[&str] = &["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

#[rustfmt::skip]
pub const KEYS: &[KeyGroup] = &[
    KeyGroup {
        title: "Everywhere",
        sources: &["components/key_sheet.rs"],
        rows: &[
            KeyRow { keys: &["k", "K"], held: "Ctrl or \u{2318}", does: "Open the command palette" },
            row(DIGITS, "Go to a view, in the order of the sidebar"),
            row(&["?"], "Show keyboard shortcuts"),
            row(&["Escape"], "Close the details panel"),
        ],
    },
    KeyGroup {
        title: "Overview: steps",
        sources: &["components/step_bars.rs"],
        rows: &[
            row(&["ArrowLeft", "ArrowRight"], "Previous, next step"),
            row(&["Home", "End"], "First, last step"),
        ],
    },
    KeyGroup {
        title: "Command palette",
        sources: &["components/palette/mod.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "Previous, next result"),
            row(&["Enter"], "Open or run it"),
            row(&["Escape"], "Close"),
        ],
    },
    KeyGroup {
        title: "Operations, Kernels, Call tree and other long tables",
        sources: &["components/virtual_table.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "Previous, next row"),
            row(&["PageUp", "PageDown"], "Page up, down"),
            row(&["Home", "End"], "First, last row"),
        ],
    },
    KeyGroup {
        title: "Operations, Kernels",
        sources: &["components/sheet_rows.rs"],
        rows: &[
            row(&["Enter"], "Move to the details of the selected row"),
            row(&[" "], "Mark the row; marked rows are added up (Ctrl+click, Shift+click)"),
            row(&["Escape"], "Unmark all rows; clear the selection"),
        ],
    },
    KeyGroup {
        title: "Long tables: edges of columns",
        sources: &["components/table_grip.rs"],
        rows: &[
            row(&["ArrowLeft", "ArrowRight"], "Narrower, wider"),
            row(&["Home", "End"], "As narrow, as wide as possible"),
            row(&["Enter", "Delete", "Backspace"], "Automatic width"),
        ],
    },
    KeyGroup {
        title: "Roofline; Job: bus bandwidth",
        sources: &["components/plot.rs", "components/roofline_chart/mod.rs", "views/job/bandwidth.rs"],
        rows: &[
            row(&["ArrowLeft", "ArrowUp"], "Previous mark"),
            row(&["ArrowRight", "ArrowDown"], "Next mark"),
            row(&["Home", "End"], "First, last mark"),
            row(&["Enter", " "], "Select the operation and move to its details"),
            row(&["Escape"], "Clear the selection"),
        ],
    },
    KeyGroup {
        title: "Call tree, and Compare: call trees",
        sources: &["components/tree_table.rs"],
        rows: &[
            row(&["ArrowRight"], "Expand; when expanded, go to the first child"),
            row(&["ArrowLeft"], "Collapse; when collapsed, go to the caller"),
            row(&["Enter", " "], "Expand or collapse; in the search, next match, with Shift the previous one"),
            row(&["/"], "Search"),
        ],
    },
    KeyGroup {
        title: "Call tree",
        sources: &["views/tree/state.rs"],
        rows: &[
            row(&["i"], "Show the modules of a class separately, or merge them"),
            row(&["h"], "Expand the path with the most GPU time"),
        ],
    },
    KeyGroup {
        title: "Call tree: flame graph",
        sources: &["views/tree/flame/model.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "Caller; callee with the most time"),
            row(&["ArrowLeft", "ArrowRight"], "Previous, next call"),
            row(&["Home"], "First call"),
            row(&["Enter", " "], "Zoom into the call"),
            row(&["Escape", "Backspace"], "Zoom out"),
            row(&["/"], "Search"),
        ],
    },
    KeyGroup {
        title: "Compare: call trees",
        sources: &["views/compare/trees.rs"],
        rows: &[row(&["n"], "Next difference, largest first"), row(&["p"], "Previous difference")],
    },
    KeyGroup {
        title: "Timeline",
        sources: &["views/timeline/mod.rs"],
        rows: &[
            row(&["w", "W", "+"], "Zoom in"),
            row(&["s", "S", "-"], "Zoom out"),
            row(&["a", "A"], "Earlier"),
            row(&["d", "D"], "Later"),
            row(&["ArrowLeft", "ArrowRight"], "Previous, next event"),
            row(&["ArrowUp", "ArrowDown"], "Event above, below"),
            row(&["Enter", "f", "F"], "Zoom to the selected event"),
            row(&["g", "G"], "Show all GPU activity"),
            row(&["Home"], "Show everything"),
            row(&["/"], "Search"),
            row(&["n", "N"], "Next, previous match"),
            row(&["Escape"], "Clear the selection"),
        ],
    },
    KeyGroup {
        title: "Timeline: note of a range",
        sources: &["views/timeline/details.rs"],
        rows: &[row(&["Enter"], "Save the range with the note")],
    },
    KeyGroup {
        title: "Job: ranks and steps",
        sources: &["views/job/heatmap/model.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "Rank above, below"),
            row(&["ArrowLeft", "ArrowRight"], "Previous, next step"),
            row(&["Home", "End"], "First, last rank"),
            row(&["Enter", " "], "Open the trace of the rank at the step; show or hide the ranks of a host"),
            row(&["Escape"], "Clear the selection"),
        ],
    },
    KeyGroup {
        title: "Job: ranks within a step",
        sources: &["views/job/strip/model.rs"],
        rows: &[
            row(&["ArrowUp", "ArrowDown"], "Rank above, below"),
            row(&["ArrowLeft", "ArrowRight"], "Previous, next collective"),
            row(&["Home", "End"], "First, last collective of the rank"),
            row(&["Enter", " "], "Open the trace of the rank at the collective"),
            row(&["+", "=", "-", "0"], "Zoom in, out, show the whole step"),
            row(&["Escape"], "Clear the selection"),
        ],
    },
    KeyGroup {
        title: "Fleet: runs",
        sources: &["views/fleet/runs.rs"],
        rows: &[row(&["Escape"], "Clear the selection")],
    },
    KeyGroup {
        title: "Menus and panels",
        sources: &["components/op_details/mod.rs", "components/table_tools.rs", "components/thresholds.rs"],
        rows: &[row(&["Escape"], "Close; from the details panel, back to where it was opened")],
    },
];

impl KeyRow {
    /// The labels of the keys; keys that differ only by Shift are listed once.
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
        key if key.chars().count() == 1 => return key.to_ascii_uppercase(),
        key => key,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::*;

    /// The string literals before the arrows of matches on a key, and those that a key is compared with.
    fn keys_in(source: &str) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        let mut take = |code: &str| {
            let literals = code.split('"').skip(1).step_by(2);
            keys.extend(literals.map(str::to_owned));
            if code.contains("DIGITS") {
                keys.extend(DIGITS.iter().map(|digit| (*digit).to_owned()));
            }
        };
        let mut end = None;
        for line in source.lines() {
            let indent = &line[..line.len() - line.trim_start().len()];
            if let Some((_, compared)) = line.split_once(".key() == ") {
                take(compared);
            } else if line.contains("match ") && line.contains("key") {
                end = Some(format!("{indent}}}"));
            } else if end.as_ref().is_some_and(|end| line.starts_with(end)) {
                end = None;
            } else if let Some((pattern, _)) = line.split_once(" => ")
                && end.is_some()
            {
                take(pattern);
            }
        }
        keys
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
            match key {
                "n" => go(true),
            }
            match other { "z" => 1 }
        "#;
        let expected = [" ", "Enter", "Escape", "h", "n"].iter().chain(DIGITS);
        assert_eq!(
            keys_in(code),
            expected.map(|key| (*key).to_owned()).collect()
        );
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
            let mut keys_here = BTreeSet::new();
            for source in group.sources {
                let text = all.remove(*source).unwrap_or_default();
                keys_here.extend(keys_in(&text));
            }
            assert_eq!(keys_here, listed, "{}", group.title);
        }
        // A source in no group handles no key.
        for (name, text) in all {
            let n_handled = text.matches("event.key()").count();
            assert_eq!(n_handled, 0, "{name} handles keys that no group lists");
        }
    }

    #[test]
    fn caps_say_what_stands_on_a_key() {
        let caps = row(&["w", "W", "+", " ", "ArrowUp"], "").caps();
        assert_eq!(caps, ["W", "+", "Space", "\u{2191}"]);
    }
}
