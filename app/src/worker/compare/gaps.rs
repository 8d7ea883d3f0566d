//! Where the target is slower, as cards with links to the evidence.

use dormer_core::base::format;
use dormer_core::compare::{Comparison, Gap, GapSubject, MatchedOp, OpSide, Saving};
use dormer_core::names::Family;
use dormer_core::report::cards::{Asides, Light, Savings, SavingsOfRun};

use crate::protocol::{Card, Evidence, Findings, SharedWaste};

/// Operations named on a card.
const NAMED: usize = 4;

/// Operations named in an entry of what both traces waste.
const NAMED_WASTE: usize = 2;

/// The findings about the target, in order.
pub(super) fn findings(comparison: &Comparison) -> Findings {
    let gaps = &comparison.gaps;
    let cards = gaps.ranked.iter().map(|gap| card(comparison, gap));
    let asides = Asides {
        together: (gaps.ranked.len() > 1).then(|| {
            format!(
                "Together they save {}{} if the target runs as fast as predicted.",
                if gaps.is_at_most() { "up to " } else { "" },
                format::time_ns(gaps.together_ns)
            )
        }),
        small: (gaps.n_small > 0).then(|| {
            format!(
                "{} below {} of the run not shown.",
                format::counted(gaps.n_small as u64, "finding"),
                format::percent(comparison.thresholds.finding_percent_of_total)
            )
        }),
        nothing: gaps.ranked.is_empty().then(|| comparison.nothing_found()),
    };
    Findings {
        cards: cards.collect(),
        asides,
    }
}

fn card(comparison: &Comparison, gap: &Gap) -> Card {
    let all = evidence(comparison, &gap.subject);
    let n_more = all.len().saturating_sub(NAMED);
    Card {
        key: format!("compare/{}/{}", gap.pattern, gap.title),
        number: gap.number,
        title: gap.title.clone(),
        severity: gap.priority.label().to_owned(),
        light: Light::of(gap.priority).key.to_owned(),
        gap: None,
        confidence: String::new(),
        analysis: "Against the reference".to_owned(),
        issue: match gap.floor() {
            Some(floor) => format!("{} {floor}", gap.gap),
            None => gap.gap.clone(),
        },
        model: gap.model.clone(),
        kernel: gap.kernel.clone(),
        savings: gap.saving.map(|saving| savings(comparison, saving)),
        basis: match gap.saving {
            Some(Saving {
                roofline_ns: Some(_),
                is_predicted: false,
                ..
            }) => "From the time in the reference, to the roofline of the target.",
            Some(Saving {
                roofline_ns: Some(_),
                ..
            }) => {
                "From the time that reference and hardware predict, to the roofline of the target."
            }
            Some(_) => "From the time in the reference.",
            None => "No hardware prediction.",
        }
        .to_owned(),
        evidence: all.into_iter().take(NAMED).collect(),
        memory: None,
        n_more,
        within: Vec::new(),
        details: String::new(),
        is_memory: false,
        is_system: matches!(
            gap.subject,
            GapSubject::ExposedCommunication | GapSubject::ExposedCopies | GapSubject::Idle
        ),
    }
}

/// What both traces waste alike.
pub(super) fn waste(comparison: &Comparison) -> Vec<SharedWaste> {
    let matched = &comparison.operations.matched;
    let waste = comparison.waste.iter().map(|waste| {
        let is_shown = |op: &&MatchedOp| {
            let mut operations = op.sides.target.operations.iter();
            operations.any(|at| waste.operations.contains(at))
        };
        let ops: Vec<Evidence> = matched.iter().filter(is_shown).map(of_both).collect();
        SharedWaste {
            title: waste.title.clone(),
            saves: comparison.savings_of(waste),
            sentence: waste.sentence.clone(),
            advice: waste.advice.clone(),
            n_more: ops.len().saturating_sub(NAMED_WASTE),
            evidence: ops.into_iter().take(NAMED_WASTE).collect(),
        }
    });
    waste.collect()
}

fn savings(comparison: &Comparison, saving: Saving) -> Savings {
    let total_ns = comparison.parts.total.target.max(1) as f64;
    let low_ns = saving.matching_ns;
    let high_ns = saving.roofline_ns.unwrap_or(low_ns).max(low_ns);
    let percent = |ns: i64| ns as f64 * 100.0 / total_ns;
    let faster = |ns: i64| total_ns / (total_ns - ns as f64).max(1.0);
    let range = |low: String, high: String| format::range(&low, &high);
    Savings {
        time: format::time_range_ns(low_ns, high_ns),
        of_run: Some(SavingsOfRun {
            share: range(
                format::percent(percent(low_ns)),
                format::percent(percent(high_ns)),
            ),
            speed_up: range(
                format!("{:.2}×", faster(low_ns)),
                format!("{:.2}×", faster(high_ns)),
            ),
            percent: (percent(low_ns), percent(high_ns)),
        }),
        is_at_most: saving.is_at_most(),
    }
}

fn evidence(comparison: &Comparison, subject: &GapSubject) -> Vec<Evidence> {
    let operations = &comparison.operations;
    match subject {
        GapSubject::Operations(places) => {
            let ops = places.iter().filter_map(|at| operations.matched.get(*at));
            ops.map(of_both).collect()
        }
        GapSubject::Unmatched(places) => {
            let ops = places
                .iter()
                .filter_map(|at| operations.unmatched.target.get(*at));
            ops.map(|op| of_target([&op.name, &op.shapes, "nothing"], op.family, &op.side))
                .collect()
        }
        GapSubject::ExposedCommunication | GapSubject::ExposedCopies | GapSubject::Idle => {
            Vec::new()
        }
    }
}

fn of_both(op: &MatchedOp) -> Evidence {
    let reference = format::time_ns(op.sides.reference.time_ns);
    let names = [&*op.name, &op.shapes, &reference];
    of_target(names, op.family, &op.sides.target)
}

/// An operation of the target, with its time in the reference.
fn of_target([name, shapes, reference]: [&str; 3], family: Family, side: &OpSide) -> Evidence {
    /// Longer names are shortened on a card.
    const NAME_CHARS: usize = 64;
    Evidence {
        name: format::middle_ellipsis(&format::kernel_name(name), NAME_CHARS),
        shapes: shapes.to_owned(),
        time: format!("{}, reference {reference}", format::time_ns(side.time_ns)),
        token: family.token().to_owned(),
        row: side
            .operations
            .first()
            .and_then(|at| u32::try_from(*at).ok()),
        ..Evidence::default()
    }
}
