//! CSV as Dormer writes it, read back.

/// Rows of a CSV file, the header among them.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes())
        .deserialize()
        .map(Result::unwrap)
        .collect()
}
