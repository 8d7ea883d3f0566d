//! Whether a comparison holds: what was written is read again, and held against what it was
//! written from. The result stands in the rough document.
//!
//! Rules that the documents about one trace have too carry the same numbers. To add a check: a
//! function, a row of [`CHECKS`], and a defect in the tests that it catches.

use super::detail::{N_STEPS, gap_heading};
use super::{called, rough, title, written};
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict as Judged;
use crate::compare::findings::Gap;
use crate::compare::pair::{Pair, Which};
use crate::compare::parts::PartKind;
use crate::output::document::{Block, Document, Span, plain, slug};
use crate::output::standalone::check::language::{
    MAX_CARD, MAX_SUMMARY, claim_defects, n_lines, neutral_defects,
};
use crate::output::standalone::{Check, Light, Verdict};

/// Everything that was written about two traces.
pub(super) struct Written<'a> {
    comparison: &'a Comparison,
    pub(super) fair: Document,
    /// Up to the heading of the checks.
    pub(super) rough: Document,
}

impl<'a> Written<'a> {
    pub(super) fn new(comparison: &'a Comparison) -> Written<'a> {
        Written {
            comparison,
            fair: written(comparison, false),
            rough: rough::notes(comparison),
        }
    }

    /// Runs every check.
    pub(super) fn checks(&self) -> Vec<Check> {
        let checks = CHECKS.iter();
        checks
            .map(|&(id, what, run)| Check {
                id,
                what,
                verdict: Verdict::of(run(self)),
            })
            .collect()
    }

    fn documents(&self) -> [(&'static str, &Document); 2] {
        [("fair", &self.fair), ("rough", &self.rough)]
    }

    /// Names that the traces give to models and devices; they stand in sentences as they are.
    fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for which in [Which::Reference, Which::Target] {
            let side = self.comparison.sides.get(which);
            names.extend(side.model.as_deref());
            names.extend(side.platform.as_deref());
            names.extend(side.gpu.as_deref().map(|gpu| &*gpu.name));
            names.push(&side.name);
        }
        names
    }
}

/// Gives the places where a rule does not hold.
type Run = fn(&Written) -> Vec<String>;

/// Every rule.
#[rustfmt::skip]
const CHECKS: &[(&str, &str, Run)] = &[
    ("V1", "Sections stand in order; warnings only where there is something to warn of", sections),
    ("V3", "One recommendation for each finding, in order", cards),
    ("V5", "Each recommendation has gap, action and impact, both paths, and leads to its details", labels),
    ("V7", "The parts of each trace sum up to its time, and the steps lead from one to the other", sums),
    ("V8", "Times of the summary are those of the timelines", shares),
    ("V9", "Findings are sorted and numbered without gaps", order),
    ("V10", "Savings are within the measured time and the roof", savings),
    ("V11", "Each verdict is that of its ratio", verdicts),
    ("V14", "No products of vendors and no winners in prose", neutral),
    ("V15", "No claim that a trace cannot carry", claims),
    ("V16", "The summary has 20 lines at most, a recommendation 10", lengths),
];

fn headings(document: &Document, level: u8) -> Vec<String> {
    document
        .headings()
        .filter(|(of, ..)| *of == level)
        .map(|(_, text, _)| text.to_owned())
        .collect()
}

/// V1.
fn sections(written: &Written) -> Vec<String> {
    let comparison = written.comparison;
    let recommendations = format!("Recommendations for {}", called(comparison, Which::Target));
    let mut fair = vec!["Executive Summary"];
    if !comparison.caveats().is_empty() {
        fair.push("Warnings");
    }
    fair.extend([&recommendations, "Detailed Comparison", "Appendix"]);
    let rough = [
        "Analysis Process Summary",
        "Raw Data Exploration",
        "Expected and Actual",
        "Analysis Gaps",
        "Questions for Further Investigation",
        "Checks",
    ];
    let mut defects = Vec::new();
    let mut compare = |name: &str, found: Vec<String>, expected: &[&str]| {
        if found != expected {
            defects.push(format!("{name}: sections are {}", found.join(", ")));
        }
    };
    compare("fair", headings(&written.fair, 2), &fair);
    compare("rough", headings(&written.rough, 2), &rough);
    compare("fair", headings(&written.fair, 1), &[&title(comparison)]);
    defects
}

fn card_heading(gap: &Gap) -> String {
    let icon = Light::of(gap.number).icon();
    format!("{icon} Priority {}: {}", gap.number, gap.title)
}

/// V3.
fn cards(written: &Written) -> Vec<String> {
    let cards = headings(&written.fair, 3).into_iter();
    let found: Vec<String> = cards.filter(|text| text.contains(" Priority ")).collect();
    let gaps = &written.comparison.gaps.ranked;
    let expected: Vec<String> = gaps.iter().map(card_heading).collect();
    match found == expected {
        true => Vec::new(),
        false => vec![format!(
            "{} cards for {} findings",
            found.len(),
            expected.len()
        )],
    }
}

/// Gap, action, impact of each recommendation. What follows the last one belongs to none.
const CARD_BLOCKS: usize = 3;

fn card<'a>(written: &'a Written, gap: &Gap) -> &'a [Block] {
    let section = written.fair.section(&card_heading(gap)).unwrap_or_default();
    section.get(..CARD_BLOCKS).unwrap_or(section)
}

/// V5.
fn labels(written: &Written) -> Vec<String> {
    let slugs: Vec<String> = written.fair.headings().map(|(.., slug)| slug).collect();
    let mut defects = Vec::new();
    for gap in &written.comparison.gaps.ranked {
        let blocks = card(written, gap);
        let lines: Vec<String> = blocks
            .iter()
            .map(|block| match block {
                Block::Text(spans) => plain(spans),
                _ => String::new(),
            })
            .collect();
        let starts = ["Gap: ", "Action: Model: ", "Impact: "];
        for (at, start) in starts.into_iter().enumerate() {
            if !lines.get(at).is_some_and(|line| line.starts_with(start)) {
                defects.push(format!("P{}: no “{start}”", gap.number));
            }
        }
        if !lines.get(1).is_some_and(|line| line.contains(" Kernel: ")) {
            defects.push(format!("P{}: no word on the kernel", gap.number));
        }
        let wanted = slug(&gap_heading(gap));
        let leads = blocks.iter().any(|block| match block {
            Block::Text(spans) => spans
                .iter()
                .any(|span| matches!(span, Span::Link { slug, .. } if *slug == wanted)),
            _ => false,
        });
        if !leads || !slugs.contains(&wanted) {
            defects.push(format!("P{}: leads to no details", gap.number));
        }
    }
    defects
}

/// V7.
fn sums(written: &Written) -> Vec<String> {
    let parts = &written.comparison.parts;
    let mut defects = Vec::new();
    let all = parts.parts.iter().map(|part| part.times);
    let sum = all.fold(Pair::default(), Pair::plus).plus(parts.rest);
    if sum != parts.total {
        defects.push(format!(
            "parts sum up to {} and {}",
            format::time_ns(sum.reference),
            format::time_ns(sum.target)
        ));
    }
    let idle = written.comparison.sides.as_ref().map(|side| {
        let whole = side.timeline.as_ref();
        whole.map_or(0, |whole| whole.idle_ns)
    });
    if written.comparison.has_gpu_times() && parts.of_kind(PartKind::Idle) != idle {
        defects.push("idling is not that of the timelines".to_owned());
    }
    let steps = parts.waterfall(N_STEPS);
    if let (Some(first), Some(last)) = (steps.first(), steps.last())
        && (first.from_ns, last.to_ns) != (parts.total.reference, parts.total.target)
    {
        defects.push("the steps lead elsewhere".to_owned());
    }
    defects
}

/// V8.
fn shares(written: &Written) -> Vec<String> {
    let blocks = written
        .fair
        .section("Executive Summary")
        .unwrap_or_default();
    let rows = blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(&table.rows),
        _ => None,
    });
    let parts = &written.comparison.parts;
    let has_both = parts.total.reference > 0 && parts.total.target > 0;
    let mut defects = Vec::new();
    for (label, times) in [
        ("Total Time", parts.total),
        ("Total Compute Time", parts.computation),
        ("Idle Time", parts.of_kind(PartKind::Idle)),
    ] {
        let row = rows.and_then(|rows| {
            let mut rows = rows.iter();
            rows.find(|row| row.first().is_some_and(|cell| plain(cell) == label))
        });
        let cell = |at: usize| row.and_then(|row| row.get(at)).map(|cell| plain(cell));
        let shown = [cell(1), cell(2)];
        let expected = [times.reference, times.target].map(|ns| Some(format::time_ns(ns)));
        if has_both && shown != expected {
            defects.push(format!("{label} is {shown:?}"));
        }
    }
    defects
}

/// V9.
fn order(written: &Written) -> Vec<String> {
    let gaps = &written.comparison.gaps.ranked;
    let mut defects = Vec::new();
    for (at, gap) in gaps.iter().enumerate() {
        if gap.number != at + 1 {
            defects.push(format!("number {} stands in place {}", gap.number, at + 1));
        }
    }
    if !gaps.is_sorted_by_key(|gap| gap.priority) {
        defects.push("a finding of higher priority stands below".to_owned());
    }
    defects
}

/// V10.
fn savings(written: &Written) -> Vec<String> {
    let comparison = written.comparison;
    let mut defects = Vec::new();
    for gap in &comparison.gaps.ranked {
        let Some(saving) = gap.saving else { continue };
        let most_ns = saving.roof_ns.unwrap_or(gap.times.target);
        let is_within = (0..=most_ns).contains(&saving.matching_ns) && most_ns <= gap.times.target;
        if !is_within {
            defects.push(format!("P{} saves more than there is", gap.number));
        }
    }
    let total_ns = comparison.parts.total.target;
    let savings = || comparison.gaps.ranked.iter().filter_map(|gap| gap.saving);
    if savings().any(|saving| saving.matching_ns.max(saving.roof_ns.unwrap_or(0)) > total_ns) {
        defects.push("a saving is more than the run".to_owned());
    }
    if comparison.gaps.together_ns > total_ns {
        defects.push("all together save more than the run".to_owned());
    }
    defects
}

/// V11.
fn verdicts(written: &Written) -> Vec<String> {
    let lines = &written.comparison.thresholds;
    let mut defects = Vec::new();
    for op in &written.comparison.operations.matched {
        let judgement = &op.judgement;
        let Some(excess) = judgement.excess else {
            if judgement.verdict.is_expected().is_some() {
                defects.push(format!("“{}” has a verdict without a ratio", op.name));
            }
            continue;
        };
        let fits = match judgement.verdict {
            Judged::BetterThanPredicted => excess <= lines.compare_better_ratio,
            Judged::ExplainedByHardware => {
                excess > lines.compare_better_ratio && excess <= lines.compare_explained_ratio
            }
            Judged::ModeratelyBeyond => {
                excess > lines.compare_explained_ratio && excess < lines.compare_unexpected_ratio
            }
            Judged::UnexpectedSlowdown => excess >= lines.compare_unexpected_ratio,
            Judged::KernelIssue => excess >= lines.compare_kernel_issue_ratio,
            Judged::TooSmallToJudge | Judged::NotJudged(_) => true,
        };
        if !fits {
            defects.push(format!("“{}” at {}", op.name, format::number(excess)));
        }
    }
    defects
}

/// V14.
fn neutral(written: &Written) -> Vec<String> {
    let names = written.names();
    let documents = written.documents().into_iter();
    documents
        .flat_map(|(name, document)| neutral_defects(name, document, &names))
        .collect()
}

/// V15.
fn claims(written: &Written) -> Vec<String> {
    let names = written.names();
    let documents = written.documents().into_iter();
    documents
        .flat_map(|(name, document)| claim_defects(name, document, &names))
        .collect()
}

/// V16.
fn lengths(written: &Written) -> Vec<String> {
    let summary = written
        .fair
        .section("Executive Summary")
        .unwrap_or_default();
    let mut defects = Vec::new();
    let n = n_lines(summary);
    if n > MAX_SUMMARY {
        defects.push(format!("the summary has {n} lines"));
    }
    for gap in &written.comparison.gaps.ranked {
        let n = n_lines(card(written, gap));
        if n > MAX_CARD {
            defects.push(format!("P{} has {n} lines", gap.number));
        }
    }
    defects
}
