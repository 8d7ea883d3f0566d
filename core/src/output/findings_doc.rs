//! `docs/findings.md`: everything that can be found, from the rules themselves.

use std::fmt::Write;

use crate::findings::{ANALYSES, RuleDoc, SHARED_RULES};

const HEAD: &str = "\
# What Dormer can find

<!-- Made from the rules in core/src/findings. After a change there: UPDATE=1 cargo test -p dormer-core --lib findings_doc -->

Each finding has a key (`findings.json`), says in one sentence what is slow and how long it takes, and gives two kinds of advice: what to change in the model or in how it is run, and what to ask of the kernel. Words in braces stand for figures and names of the trace.
";

/// The page.
pub fn findings_markdown() -> String {
    let mut page = HEAD.to_owned();
    let analyses = ANALYSES.iter().map(|kind| (kind.title, kind.rules));
    for (title, rules) in analyses.chain(SHARED_RULES.iter().copied()) {
        let rules = rules();
        if rules.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {title}\n");
        rules.iter().for_each(|rule| add(&mut page, rule));
    }
    page
}

fn add(page: &mut String, rule: &RuleDoc) {
    let RuleDoc {
        key,
        when,
        title,
        issue,
        model,
        kernel,
        saves,
    } = rule;
    let _ = write!(
        page,
        "\n### {title}\n\n`{key}`, when {when}. Saves {saves}.\n\n\
         - **Issue** {issue}\n- **Model** {model}\n- **Kernel** {kernel}\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the page lies beside the source")]
    fn the_page_is_what_the_rules_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/findings.md");
        let expected = findings_markdown();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        let written = std::fs::read(path).unwrap_or_default();
        assert!(
            written == expected.as_bytes(),
            "docs/findings.md is out of date: UPDATE=1 cargo test -p dormer-core --lib findings_doc"
        );
    }

    #[test]
    fn every_rule_is_whole() {
        for kind in ANALYSES {
            for rule in (kind.rules)() {
                let parts = [
                    rule.key,
                    rule.when,
                    rule.title,
                    rule.issue,
                    rule.model,
                    rule.kernel,
                ];
                assert!(parts.iter().all(|part| !part.is_empty()), "{rule:?}");
            }
        }
    }
}
