//! File names of traces: which files of a folder or an archive are worth opening. What they really are is decided by
//! content.

/// What a file name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A trace or a file that belongs to one: graph captures, an execution trace, a digest.
    Trace,
    /// An archive of one or several traces.
    Archive,
    /// A gzip file, which may be a trace.
    Packed,
}

/// File name endings, in lower case; the first matching row counts.
#[rustfmt::skip]
pub const ENDINGS: [(&str, FileKind); 13] = [
    (".json", FileKind::Trace),
    (".json.gz", FileKind::Trace),
    (".pftrace", FileKind::Trace),
    (".pftrace.gz", FileKind::Trace),
    (".perfetto-trace", FileKind::Trace),
    (".perfetto-trace.gz", FileKind::Trace),
    // Not every `.pb`: programs (HLO) and models are often in the same folder as traces.
    (".xplane.pb", FileKind::Trace),
    (".xplane.pb.gz", FileKind::Trace),
    (".zip", FileKind::Archive),
    (".tar", FileKind::Archive),
    (".tar.gz", FileKind::Archive),
    (".tgz", FileKind::Archive),
    (".gz", FileKind::Packed),
];

/// The table in words, for the message shown when no file of a folder matches.
pub const ENDINGS_IN_WORDS: &str = "a trace (.json, .pftrace, .perfetto-trace, .xplane.pb, or these with .gz) or an archive of traces (.zip, .tar, .tar.gz, .tgz)";

impl FileKind {
    /// What the name of this path suggests; `None` for hidden files, including those that macOS adds for each file, and
    /// for all others.
    pub fn of(path: &str) -> Option<FileKind> {
        let path = path.to_ascii_lowercase();
        let base = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        if base.starts_with('.') || path.starts_with("__macosx/") {
            return None;
        }
        FileKind::by_ending(&path)
    }

    fn by_ending(path: &str) -> Option<FileKind> {
        let row = ENDINGS.iter().find(|(ending, _)| path.ends_with(ending));
        row.map(|(_, kind)| *kind)
    }
}

/// Whether a file in a folder or an archive is named like a trace, compressed or not.
pub fn is_called_like_a_trace(path: &str) -> bool {
    FileKind::of(path) == Some(FileKind::Trace)
}

/// Whether a file in a folder is named like a trace or like an archive of several.
pub fn is_called_like_traces(path: &str) -> bool {
    matches!(
        FileKind::of(path),
        Some(FileKind::Trace | FileKind::Archive)
    )
}

/// Whether a file is named like an archive of several. Hidden ones count too: the user named the file explicitly.
pub fn is_called_like_an_archive(path: &str) -> bool {
    FileKind::by_ending(&path.to_ascii_lowercase()) == Some(FileKind::Archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_picked_by_their_names() {
        #[rustfmt::skip]
        let cases = [
            ("rank0.pt.trace.json.gz", Some(FileKind::Trace)),
            ("out/RANK.JSON", Some(FileKind::Trace)),
            ("a.pftrace", Some(FileKind::Trace)),
            ("a.pftrace.gz", Some(FileKind::Trace)),
            ("C:\\runs\\a.perfetto-trace", Some(FileKind::Trace)),
            ("plugins/profile/run/host.xplane.pb", Some(FileKind::Trace)),
            ("run.zip", Some(FileKind::Archive)),
            ("Ranks.TAR.gz", Some(FileKind::Archive)),
            ("ranks.tgz", Some(FileKind::Archive)),
            ("x.gz", Some(FileKind::Packed)),
            ("notes.txt", None),
            (".hidden.json", None),
            ("a/._r.json", None),
            ("__MACOSX/r.json", None),
            ("model.pbtxt", None),
            ("plugins/profile/run/jit_train.hlo_proto.pb", None),
        ];
        for (name, expected) in cases {
            assert_eq!(FileKind::of(name), expected, "{name}");
        }
    }

    #[test]
    fn an_archive_may_be_hidden() {
        let name = "runs/.ranks.ZIP";
        assert_eq!(FileKind::of(name), None);
        assert!(is_called_like_an_archive(name));
        assert!(!is_called_like_an_archive("ranks.json.gz"));
    }

    #[test]
    fn the_words_name_every_ending() {
        for (ending, kind) in ENDINGS {
            let is_named = ENDINGS_IN_WORDS.contains(ending)
                || ending
                    .strip_suffix(".gz")
                    .is_some_and(|inner| ENDINGS_IN_WORDS.contains(inner));
            assert!(is_named || kind == FileKind::Packed, "{ending}");
        }
    }
}
