//! `docs/findings.md`: all possible findings, generated from the rules.

use std::fmt::Write;

use super::assert_page;
use crate::base::format;
use crate::compare::findings as gaps;
use crate::findings::{ANALYSES, RuleDoc, SHARED_RULES};

const HEAD: &str = "\
# What Dormer can find

<!-- Made from the rules in core/src/findings. After a change there: UPDATE=1 cargo test -p dormer-core --lib findings_doc -->

Each finding has a key (`findings.json`), says in one sentence what is slow and how long it takes, and gives two kinds of advice: what to change in the model or in how it is run, and what to change in the kernel. Words in braces stand for figures and names of the trace; `{word?text|other}` is the text where that holds, and else the other.
";

const COMPARISON: &str = "
# Comparison of two traces

What the target, the trace to improve, loses against the reference (`comparison.json`). Operations of one name with the same verdict are one finding.
";

const ADVICE: &str = "
## What to do about a slower operation

The first row that applies fills {model} and {kernel} of operations slower than predicted; {usual_model} and {usual_kernel} are those of the first row from “it is a GEMM of regular sizes” on.

| when | model | kernel |
|---|---|---|
";

/// The page.
fn findings_markdown() -> String {
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
    page.push_str(COMPARISON);
    for (title, rules) in of_gaps() {
        let _ = write!(page, "\n## {title}\n");
        rules.iter().for_each(|rule| add(&mut page, rule));
    }
    page.push_str(ADVICE);
    for advice in gaps::CAUSES.iter().chain(gaps::USUAL) {
        let gaps::Advice {
            when,
            model,
            kernel,
            ..
        } = advice;
        let _ = writeln!(page, "| {when} | {model} | {kernel} |");
    }
    page
}

fn of_gaps() -> impl Iterator<Item = (&'static str, Vec<RuleDoc>)> {
    let doc = |rule: &gaps::GapRule| RuleDoc {
        key: rule.key,
        when: rule.when,
        title: rule.title,
        issue: rule.issue,
        model: rule.model,
        kernel: rule.kernel,
        saves: rule.saves,
    };
    let tables = gaps::TABLES.iter();
    tables.map(move |table| (table.title, table.rules.iter().map(doc).collect()))
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
    // A title that consists of words from the trace alone says nothing as a heading.
    let parts = title.split('{');
    let mut fixed = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    let is_told = title.contains('?') || fixed.any(|part| part.contains(char::is_alphabetic));
    let title = match is_told {
        true => (*title).to_owned(),
        false => format::capitalized(&key.replace('_', " ")).replace("gpu", "GPU"),
    };
    let _ = write!(
        page,
        "\n### {title}\n\n`{key}`. Applies when {when}. Estimated saving: {saves}.\n\n\
         - **Issue** {issue}\n- **Model** {model}\n- **Kernel** {kernel}\n"
    );
}

#[test]
fn the_page_is_what_the_rules_say() {
    assert_page("findings.md", &findings_markdown(), "findings_doc");
}

#[test]
fn every_rule_is_whole() {
    let analyses = ANALYSES.iter().map(|kind| (kind.rules)());
    for rules in analyses.chain(of_gaps().map(|(_, rules)| rules)) {
        for rule in rules {
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
