//! File names of traces: which files of a folder or an archive are worth opening. What they really are is decided by
//! content.

/// What a file name suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Called {
    /// A trace or a file that belongs to one: graph captures, an execution trace, a digest.
    Trace,
    /// An archive of one or several traces.
    Archive,
    /// A gzip file, which may be a trace.
    Packed,
}

/// File name endings, in lower case; the first matching row counts.
#[rustfmt::skip]
pub const ENDINGS: [(&str, Called); 13] = [
    (".json", Called::Trace),
    (".json.gz", Called::Trace),
    (".pftrace", Called::Trace),
    (".pftrace.gz", Called::Trace),
    (".perfetto-trace", Called::Trace),
    (".perfetto-trace.gz", Called::Trace),
    // Not every `.pb`: programs (HLO) and models are often in the same folder as traces.
    (".xplane.pb", Called::Trace),
    (".xplane.pb.gz", Called::Trace),
    (".zip", Called::Archive),
    (".tar", Called::Archive),
    (".tar.gz", Called::Archive),
    (".tgz", Called::Archive),
    (".gz", Called::Packed),
];

/// The table in words, for the message shown when no file of a folder matches.
pub const ENDINGS_IN_WORDS: &str = "a trace (.json, .pftrace, .perfetto-trace, .xplane.pb, or these with .gz) or an archive of traces (.zip, .tar, .tar.gz, .tgz)";

impl Called {
    /// What the name of this path suggests; `None` for hidden files, including those that macOS adds for each file, and
    /// for all others.
    pub fn of(path: &str) -> Option<Called> {
        let path = path.to_ascii_lowercase();
        let base = path.rsplit(['/', '\\']).next().unwrap_or(&path);
        if base.starts_with('.') || path.starts_with("__macosx/") {
            return None;
        }
        Called::by_ending(&path)
    }

    fn by_ending(path: &str) -> Option<Called> {
        let row = ENDINGS.iter().find(|(ending, _)| path.ends_with(ending));
        row.map(|(_, called)| *called)
    }
}

/// Whether a file in a folder or an archive is named like a trace, compressed or not.
pub fn is_called_like_a_trace(path: &str) -> bool {
    Called::of(path) == Some(Called::Trace)
}

/// Whether a file in a folder is named like a trace or like an archive of several.
pub fn is_called_like_traces(path: &str) -> bool {
    matches!(Called::of(path), Some(Called::Trace | Called::Archive))
}

/// Whether a file is named like an archive of several. Hidden ones count too: the user named the file explicitly.
pub fn is_called_like_an_archive(path: &str) -> bool {
    Called::by_ending(&path.to_ascii_lowercase()) == Some(Called::Archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_picked_by_their_names() {
        #[rustfmt::skip]
        let cases = [
            ("rank0.pt.trace.json.gz", Some(Called::Trace)),
            ("out/RANK.JSON", Some(Called::Trace)),
            ("a.pftrace", Some(Called::Trace)),
            ("a.pftrace.gz", Some(Called::Trace)),
            ("C:\\runs\\a.perfetto-trace", Some(Called::Trace)),
            ("plugins/profile/run/host.xplane.pb", Some(Called::Trace)),
            ("run.zip", Some(Called::Archive)),
            ("Ranks.TAR.gz", Some(Called::Archive)),
            ("ranks.tgz", Some(Called::Archive)),
            ("x.gz", Some(Called::Packed)),
            ("notes.txt", None),
            (".hidden.json", None),
            ("a/._r.json", None),
            ("__MACOSX/r.json", None),
            ("model.pbtxt", None),
            ("plugins/profile/run/jit_train.hlo_proto.pb", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Called::of(name), expected, "{name}");
        }
    }

    #[test]
    fn an_archive_may_be_hidden() {
        let name = "runs/.ranks.ZIP";
        assert_eq!(Called::of(name), None);
        assert!(is_called_like_an_archive(name));
        assert!(!is_called_like_an_archive("ranks.json.gz"));
    }

    #[test]
    fn the_words_name_every_ending() {
        for (ending, called) in ENDINGS {
            let is_named = ENDINGS_IN_WORDS.contains(ending)
                || ending
                    .strip_suffix(".gz")
                    .is_some_and(|inner| ENDINGS_IN_WORDS.contains(inner));
            assert!(is_named || called == Called::Packed, "{ending}");
        }
    }
}
