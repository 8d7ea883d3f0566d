//! The page as it is served: one file, whose policy allows requests to this server, and to no other.

use flate2::Compression;

use crate::{Failure, page};

/// What `dormer.html` may connect to, and what the served page may.
const POLICIES: (&str, &str) = ("connect-src 'none'", "connect-src 'self'");

/// The information about what serves the page is inserted after this.
const AFTER: &str = "<meta charset=\"utf-8\">";

/// The page, which lists runs or opens what its address names.
pub(super) fn served(lists_runs: bool) -> Result<Vec<u8>, Failure> {
    // It only goes to a browser on this computer.
    let html = for_server(&page::html(Compression::fast())?, lists_runs);
    html.map(String::into_bytes).ok_or_else(|| {
        Failure::Sentence("the page is of another version than this command".to_owned())
    })
}

fn for_server(html: &str, lists_runs: bool) -> Option<String> {
    let content = if lists_runs { "runs" } else { "traces" };
    let meta = format!("{AFTER}\n  <meta name=\"dormer-open\" content=\"{content}\">");
    let (head, body) = html.split_at_checked(html.find("<style")?)?;
    let (none, own) = POLICIES;
    let is_known = head.matches(none).count() == 1 && head.matches(AFTER).count() == 1;
    let head = head.replace(none, own).replace(AFTER, &meta);
    is_known.then(|| head + body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<head><meta content=\"connect-src 'none'\"><meta charset=\"utf-8\"><style>connect-src 'none'</style>";

    #[test]
    fn the_page_may_ask_its_own_server_and_knows_it() {
        assert_eq!(
            for_server(HTML, true).unwrap(),
            "<head><meta content=\"connect-src 'self'\"><meta charset=\"utf-8\">\n  \
             <meta name=\"dormer-open\" content=\"runs\"><style>connect-src 'none'</style>"
        );
        for unknown in ["", "<style>", "<meta charset=\"utf-8\"><style>"] {
            assert_eq!(for_server(unknown, true), None);
        }
    }
}
