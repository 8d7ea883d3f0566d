//! Notes files that engines write next to their captures: `execution_details.json`.

use serde_json::Value;

/// What one file was captured for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file's name.
    pub file: String,
    /// Number of tokens in the captured batch.
    pub size: Option<u64>,
}

impl Note {
    /// Whether it refers to a file with this name or path.
    pub(super) fn is_of(&self, name: &str) -> bool {
        file_name(&self.file) == file_name(name)
    }
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Reads `[{"file": …, "batch_size": …, "mode": …}]`; `None` for any other text.
pub fn notes(text: &str) -> Option<Vec<Note>> {
    let Ok(Value::Array(entries)) = serde_json::from_str(text) else {
        return None;
    };
    let notes = entries.iter().map(|entry| {
        Some(Note {
            file: entry.get("file")?.as_str()?.to_owned(),
            size: entry.get("batch_size").and_then(Value::as_u64),
        })
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_by_the_name_of_the_file() {
        let all = notes(r#"[{"file": "a.json.gz", "batch_size": 32, "mode": "FULL"}]"#).unwrap();
        assert_eq!(all[0].size, Some(32));
        assert!(all[0].is_of("captures/a.json.gz") && !all[0].is_of("b/aa.json.gz"));
        for other in ["", "{}", "[1]", r#"[{"batch_size": 3}]"#] {
            assert_eq!(notes(other), None, "{other}");
        }
        assert_eq!(notes("[]"), Some(Vec::new()));
    }
}
