//! The pages of `docs/` that are generated from code.

mod columns_doc;
mod findings_doc;
mod tables_doc;

/// Compares a page of `docs/` with what it is generated from. With `UPDATE=1` in the environment, writes it instead.
#[expect(clippy::disallowed_methods, reason = "the page is next to the source")]
pub(crate) fn assert_page(name: &str, expected: &str, test: &str) {
    let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read(&path).unwrap_or_default();
    let update = format!("UPDATE=1 cargo test -p dormer-core --lib {test}");
    assert!(
        found == expected.as_bytes(),
        "{name} is out of date: {update}"
    );
}
