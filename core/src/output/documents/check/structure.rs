//! Checks of the document structure.

use super::read::{Part, headings, parts, table};
use super::{Verdict, Written};
use crate::base::format;
use crate::import::warning::WarningKind;
use crate::output::documents::card::Card;
use crate::output::markup::{Document, Span, plain, slug};

pub(super) fn sections(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let subject = written.subject;
    let words = subject.words();
    let title = subject.title();
    let mut compare = |name: &str, document: &Document, level: u8, expected: &[&str]| {
        let found = headings(&document.blocks, level);
        if found != expected {
            defects.push(format!(
                "{name}: sections are “{}”, not “{}”",
                found.join(", "),
                expected.join(", ")
            ));
        }
    };
    let recommendations = subject.recommendations();
    let mut fair = vec!["Executive Summary"];
    fair.extend(subject.needs_warnings().then_some("Warnings"));
    fair.extend([recommendations.as_str(), words.details, "Appendix"]);
    compare("fair", &written.fair, 1, &[&title]);
    compare("fair", &written.fair, 2, &fair);
    compare("rough", &written.rough, 1, &[&format!("{title} (Rough)")]);
    compare("rough", &written.rough, 2, &words.rough());
    for file in &written.files {
        compare(file.key, &file.document, 2, &file.sections);
    }
    for file in &written.files {
        let parts = parts(&file.document.blocks, 1);
        for (name, value) in &file.fields {
            if parts.first().and_then(|part| part.field(name)).as_deref() != Some(value) {
                defects.push(format!("{}: {name} is not {value}", file.key));
            }
        }
    }
    let below = |document: &'_ Document, section: &str| -> Vec<String> {
        let headings = headings(document.section(section).unwrap_or_default(), 3).into_iter();
        headings.map(str::to_owned).collect()
    };
    let appendix = below(&written.fair, "Appendix");
    for needed in ["Hardware Reference", "Replay Artifacts"] {
        if !appendix.iter().any(|found| found == needed) {
            defects.push(format!("fair: the appendix has no {needed}"));
        }
    }
    for (at, heading) in below(&written.fair, words.details).iter().enumerate() {
        if !heading.starts_with(&format!("{}. ", at + 1)) {
            defects.push(format!("fair: “{heading}” is section {}", at + 1));
        }
    }
    let steps = below(&written.rough, words.rough()[0]);
    let mut numbered = steps.iter().enumerate();
    let is_step = |(at, step): (usize, &String)| step.starts_with(&format!("Step {}: ", at + 1));
    if steps.len() != words.n_steps || !numbered.all(is_step) {
        defects.push("rough: the steps are not in order".to_owned());
    }
    defects.into()
}

/// Placeholders that should have been replaced by figures.
#[rustfmt::skip]
const PLACEHOLDERS: &[&str] = &[
    "X ms", "X.X", "XX %", "X %", "X%", "Y ms", "Y %", "Y%", "<Brief", "<brief", "<Model", "<model",
    "<Platform", "<platform", "<Title", "<Name", "<op>", "TODO", "TBD", "FIXME", "{}", "{:", "NaN",
    "Some(", "None)",
];

pub(super) fn rows(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let summary = written.fair.section("Executive Summary");
    let rows = table(summary.unwrap_or_default()).map_or(&[][..], |table| &table.rows);
    let cell = |at: usize| rows.iter().filter_map(move |row| Some(plain(row.get(at)?)));
    let labels: Vec<String> = cell(0).collect();
    let expected = written.subject.rows();
    let found = labels.get(..expected.len()).unwrap_or_default();
    if found != expected {
        defects.push(format!("fair: the rows are “{}”", labels.join(", ")));
    }
    let empty = labels.iter().zip(cell(1));
    let empty = empty.filter(|(_, value)| value.trim().is_empty());
    defects.extend(empty.map(|(label, _)| format!("fair: {label} has no value")));
    for (name, text) in written.prose() {
        // An import warning contains the value that it found.
        let text = text.replace(WarningKind::NotANumber.label(), "");
        if let Some(found) = PLACEHOLDERS.iter().find(|word| has_token(&text, word)) {
            defects.push(format!("{name}: “{found}” in “{}”", short(&text)));
        }
    }
    defects.into()
}

/// Whether a text has a token without a letter or digit next to it: "X ms" is not in "MAX ms".
fn has_token(text: &str, token: &str) -> bool {
    let touches = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    text.match_indices(token).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text
            .get(at + token.len()..)
            .and_then(|tail| tail.chars().next());
        let ends_open = token.ends_with(|letter: char| letter.is_alphanumeric());
        !(touches(before) || ends_open && touches(after))
    })
}

pub(super) fn short(text: &str) -> String {
    format::middle_ellipsis(text, 80)
}

/// The recommendations as written, each with its finding.
pub(super) fn pairs<'a>(written: &'a Written) -> Vec<(Part<'a>, Card<'a>)> {
    let section = written.fair.section(&written.subject.recommendations());
    let found = parts(section.unwrap_or_default(), 3).into_iter();
    found.zip(written.subject.cards()).collect()
}

pub(super) fn detail<'a>(written: &'a Written, card: &Card) -> Option<Part<'a>> {
    let heading = card.detail_heading();
    let mut found = parts(written.fair.section(written.subject.words().details)?, 4).into_iter();
    found.find(|part| part.heading == heading)
}

pub(super) fn cards(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let expected = written.subject.cards();
    let section = written.fair.section(&written.subject.recommendations());
    let n_found = headings(section.unwrap_or_default(), 3).len();
    if n_found != expected.len() {
        let expected = format::counted(expected.len() as u64, "finding");
        defects.push(format!("{n_found} for {expected}"));
    }
    let details = written.fair.section(written.subject.words().details);
    for (part, card) in pairs(written) {
        let number = card.number;
        if part.heading != card.heading() {
            defects.push(format!("“{}” is in place {number}", short(part.heading)));
        }
        // Under the heading of its section.
        let mut places = parts(details.unwrap_or_default(), 3).into_iter();
        let is_place = |place: &Part| {
            place.heading.split_once(". ").map(|(_, title)| title) == Some(card.place.as_str())
                && headings(place.blocks, 4).contains(&card.detail_heading().as_str())
        };
        if !places.any(|place| is_place(&place)) {
            defects.push(format!(
                "P{number} is not among the details of {}",
                card.place
            ));
        }
        let impact = part.field("Impact").unwrap_or_default();
        let needed = [card.saves.clone(), Some(card.severity())];
        for needed in needed.into_iter().flatten() {
            if !impact.contains(&needed) {
                let impact = short(&impact);
                defects.push(format!("P{number} says “{impact}”, not “{needed}”"));
            }
        }
    }
    defects.into()
}

pub(super) fn labels(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    let slugs: Vec<String> = written.fair.headings().map(|(.., slug)| slug).collect();
    let has = |part: &Part, name: &str| part.field(name).is_some_and(|text| !text.is_empty());
    for (part, card) in pairs(written) {
        let number = card.number;
        for name in [written.subject.words().problem, "Action", "Impact"] {
            if !has(&part, name) {
                defects.push(format!("P{number} has no {name}"));
            }
        }
        let action = part.field("Action").unwrap_or_default();
        let paths = action.strip_prefix("Model: ");
        let paths = paths.and_then(|rest| rest.split_once(" Kernel: "));
        if !paths.is_some_and(|(model, kernel)| !model.is_empty() && !kernel.is_empty()) {
            defects.push(format!("the action of P{number} has not both paths"));
        }
        let target = part.spans("Impact").unwrap_or_default();
        let target = target.iter().find_map(|span| match span {
            Span::Link { slug, .. } => Some(slug),
            _ => None,
        });
        let n_found = slugs.iter().filter(|slug| Some(*slug) == target).count();
        if n_found != 1 || target != Some(&slug(&card.detail_heading())) {
            defects.push(format!("P{number} does not lead to its details"));
        }
        let Some(detail) = detail(written, &card) else {
            defects.push(format!("P{number} has no details"));
            continue;
        };
        for name in [
            "Identification",
            "Data",
            "Reasoning",
            "Model",
            "Kernel",
            "Impact estimate",
        ] {
            if !has(&detail, name) {
                defects.push(format!("the details of P{number} have no {name}"));
            }
        }
    }
    defects.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stands_alone() {
        let cases = [
            ("It takes X ms.", "X ms", true),
            ("MAX ms", "X ms", false),
            ("about Y% of it", "Y%", true),
            ("TODOS", "TODO", false),
        ];
        for (text, token, expected) in cases {
            assert_eq!(has_token(text, token), expected, "{text}");
        }
    }
}
