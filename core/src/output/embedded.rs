//! The page as one file with traces in it: a colleague opens it and sees the same view.
//!
//! ```text
//! <!-- what the file holds -->
//! dormer.html (xtask/src/one_file.rs), with the report in the place of `boot` until the page starts
//! <script class="view">       the view to open
//! <script class="trace">      each trace, as base64; for two, the reference first
//! ```
//!
//! `app/boot.js` removes all of it before the page starts.

use serde::{Deserialize, Serialize};

use super::archive;
use super::markup::html::escape;

/// Maximum bytes of a trace per block: the longest string in browsers has half a billion characters.
pub const BLOCK_BYTES: usize = 225 << 20;

/// What follows the base64 text of a block.
pub const BLOCK_END: &str = "</script>\n";

/// The report is inserted before the first occurrence of this in the page.
pub const PLACE: &str = "</main>";

/// The view to open: `app/src/page/browser/embedded.rs` reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The part of the page's URL after `#`: view, GPU, time range, thresholds, saved ranges with their notes.
    pub hash: String,
    /// The same for other views, as last left.
    pub left: Vec<String>,
    /// Figures of the sender's own GPU.
    pub gpu: Option<OwnFile>,
    /// The sender's own performance models.
    pub models: Option<OwnFile>,
    /// How many there are.
    pub n_models: usize,
}

/// A small file of the sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The text inserted before, into and after the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Goes before its first line.
    pub before: String,
    /// Goes before [`PLACE`].
    pub inside: String,
    /// Goes after its end; traces follow.
    pub after: String,
}

impl Parts {
    /// `report` is the body of a document as HTML.
    pub fn new(report: &str, view: &View, is_redacted: bool) -> Parts {
        let holds = match is_redacted {
            true => {
                "the trace of this report, written again without the names that were its sender's own"
            }
            false => "the trace of this report as it was recorded, with all its names",
        };
        // A tag in it would end the block.
        let view = serde_json::to_string(view).unwrap_or_default();
        let view = view.replace('<', "\\u003c");
        Parts {
            before: format!("<!-- This file holds {holds}. -->\n"),
            inside: format!(
                "<article class=\"enclosed\">\n<p><strong>This file holds {holds}.</strong> Dormer opens it here, where scripts may run.</p>\n\
                 {report}</article>\n"
            ),
            after: format!("<script type=\"application/json\" class=\"view\">{view}{BLOCK_END}"),
        }
    }

    /// The page with these parts; `None` if the text is not such a page.
    pub fn page(&self, page: &str) -> Option<String> {
        let (head, tail) = page.split_once(PLACE)?;
        let Parts {
            before,
            inside,
            after,
        } = self;
        Some(format!("{before}{head}{inside}{PLACE}{tail}{after}"))
    }
}

/// The start of a block. A trace that is too long for one block continues in others: `goes_on` for all but its first.
pub fn block_start(name: &str, goes_on: bool) -> String {
    let goes_on = if goes_on { " data-goes-on" } else { "" };
    format!(
        "<script type=\"application/octet-stream\" class=\"trace\" data-codec=\"none\" data-name=\"{}\"{goes_on}>",
        escape(name)
    )
}

/// The name of the file about these traces: `dormer-TRACE.html`.
pub fn file_name<'a>(traces: impl IntoIterator<Item = &'a str>) -> String {
    archive::named(traces, "html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_it_ends_a_block_early() {
        let view = View {
            hash: "#/?find=</script><!--".to_owned(),
            ..View::default()
        };
        let parts = Parts::new("<p>r</p>\n", &view, true);
        assert_eq!(parts.after.matches('<').count(), 2, "{}", parts.after);
        let start = block_start("a\"><b.json.gz", false);
        assert_eq!(start.matches(['<', '>']).count(), 2, "{start}");
    }

    #[test]
    fn the_report_stands_where_the_page_starts() {
        let parts = Parts::new("<p>r</p>\n", &View::default(), false);
        let page = parts
            .page("<!DOCTYPE html><main>\n</main><script>'</main>'</script>")
            .unwrap();
        let (first, _) = page.split_once('\n').unwrap();
        assert!(
            first.starts_with("<!--") && first.contains("as it was recorded"),
            "{first}"
        );
        assert!(
            page.contains("<p>r</p>\n</article>\n</main><script>'</main>'"),
            "{page}"
        );
        assert_eq!(parts.page("no page"), None);
    }
}
