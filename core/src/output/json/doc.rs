//! `docs/json.md`: every key of the files for programs, from the records that write them.

use std::fmt::Write;

use super::{Schema, comparison, findings, job, regressions, shared};

const HEAD: &str = "\
# Files for programs

<!-- Made from the records in core/src/output/json. After a change there: UPDATE=1 cargo test -p dormer-core --lib json::doc -->

Times are in milliseconds unless their key says otherwise, shares in percent; an unknown is `null`. Keys of figures and of cells end in
their unit (`_ms`, `_percent`, `_bytes`, `_gbps`, `_tflops`), be the value known or not. `format` changes when a key changes its meaning
or is removed. `perf_report.json` holds all sheets with the meaning of each column.
";

const FILES: [(&str, &[Schema]); 6] = [
    ("findings.json", findings::SCHEMA),
    ("comparison.json", comparison::SCHEMA),
    (
        "comparison.json: operations",
        comparison::operations::SCHEMA,
    ),
    ("Both", shared::SCHEMA),
    ("job.json", job::SCHEMA),
    (
        "dormer fleet regressions --format json",
        regressions::SCHEMA,
    ),
];

/// The page.
pub fn json_markdown() -> String {
    let mut page = HEAD.to_owned();
    for (file, records) in FILES {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {file}\n");
        for (name, about, keys) in records {
            let about = about.trim();
            let _ = write!(
                page,
                "\n### {name}\n\n{about}\n\n| key | meaning |\n|---|---|\n"
            );
            for (key, meaning) in *keys {
                let _ = writeln!(page, "| `{key}` | {} |", meaning.trim());
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::assert_page;

    #[test]
    fn the_page_says_what_the_records_do() {
        assert_page("json.md", &json_markdown(), "json::doc");
    }
}
