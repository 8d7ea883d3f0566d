//! The documents about two traces.

mod appendix;
mod checks;
mod details;
mod operation;
mod pictures;
mod summary;
mod tables;
#[cfg(test)]
pub(super) mod tests;
mod working_notes;

use super::card::Card;
use super::{Documented, Part, Picture, Shown, Words};
use crate::base::format;
use crate::base::interval::percent_or_zero;
use crate::compare::comparison::Comparison;
use crate::compare::findings::Gap;
use crate::compare::pair::Which;
use crate::output::markup::{Document, Line, line};
use crate::output::title;
use crate::report::cards::small;

/// "12.9 ms, 10.6 % of the run of the target".
fn savings(comparison: &Comparison, ns: i64) -> String {
    let percent = percent_or_zero(ns, comparison.parts.total.target);
    let (time, share) = (format::time_ns(ns), format::percent(percent));
    format!("{time}, {share} of the run of the target")
}

fn impact(comparison: &Comparison, gap: &Gap) -> String {
    let Some(saving) = gap.saving else {
        return "Not quantifiable: one of the traces has no time for it.".to_owned();
    };
    let savings = savings(comparison, saving.matching_ns);
    let when = match saving.is_predicted {
        true => "as predicted",
        false => "as on the reference",
    };
    let floor = gap
        .floor()
        .map_or(String::new(), |floor| format!(" {floor}"));
    match saving.roofline_ns.map(format::time_ns) {
        None => format!("Up to {savings}.{floor}"),
        // Less is predicted than its own roofline allows.
        Some(_) if saving.is_at_most() => {
            format!("Up to {savings}, at the roofline of the target.{floor}")
        }
        Some(roofline) => format!(
            "{savings}, when it takes as long {when}; up to {roofline} at the roofline of the target.{floor}"
        ),
    }
}

impl Documented for Comparison {
    fn words(&self) -> &'static Words {
        &Words {
            problem: "Gap",
            details: "Detailed Comparison",
            middle: "Expected and Actual",
            n_steps: 7,
        }
    }

    fn warnings(&self) -> Vec<Line> {
        self.caveats().iter().map(|caveat| line(caveat)).collect()
    }

    fn recommendations(&self) -> String {
        let target = title::called(self, Which::Target);
        format!("Recommendations for {target}")
    }

    fn lead(&self) -> Vec<String> {
        let gaps = &self.gaps;
        let lead = match gaps.ranked.len() {
            0 => self.nothing_found(),
            // The sum would be the difference between two unrelated runs.
            _ if self.has_few_partners() => {
                "Few operations of the target have a partner in the reference: savings are what \
                 other work takes longer."
                    .to_owned()
            }
            1 => return Vec::new(),
            _ => format!(
                "All together save {}{} when the target takes as long as predicted; savings assume \
                 that the run waits for the GPU.",
                if gaps.is_at_most() { "up to " } else { "" },
                savings(self, gaps.together_ns)
            ),
        };
        vec![lead]
    }

    fn cards(&self) -> Vec<Card<'_>> {
        let gaps = self.gaps.ranked.iter().zip(details::places(self));
        gaps.map(|(gap, place)| Card {
            number: gap.number,
            title: &gap.title,
            problem: gap.gap.clone(),
            model: &gap.model,
            kernel: &gap.kernel,
            reasoning: &gap.reasoning,
            impact: impact(self, gap),
            saves: gap.saving.map(|saving| format::time_ns(saving.matching_ns)),
            basis: "",
            priority: gap.priority,
            confidence: None,
            replay: gap.replay.as_ref(),
            place,
        })
        .collect()
    }

    fn small(&self) -> Option<String> {
        small(
            self.gaps.n_small,
            self.thresholds.finding_percent_of_total,
            "the run of the target",
        )
    }

    fn middle(&self) -> Vec<Part> {
        vec![working_notes::arithmetic(self)]
    }

    fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for side in Which::ALL.map(|which| self.sides.get(which)) {
            names.extend(side.model.as_deref());
            names.extend(side.platform.as_deref());
            names.extend(side.gpu.as_deref().map(|gpu| &*gpu.name));
            names.push(&side.name);
            let window = side.window.as_ref();
            names.extend(window.and_then(|of| of.window.step.as_deref()));
        }
        names
    }

    fn needs_warnings(&self) -> bool {
        !self.caveats().is_empty()
    }

    fn rows(&self) -> &'static [&'static str] {
        &summary::LABELS
    }

    fn wrong_order(&self) -> Vec<String> {
        // By what they save; those that save an unknown time come last.
        let saved_ns = |gap: &Gap| gap.saving.map_or(-1, |saving| saving.matching_ns);
        let is_in_order = |gap: &Gap| std::cmp::Reverse(saved_ns(gap));
        match self.gaps.ranked.is_sorted_by_key(is_in_order) {
            true => Vec::new(),
            false => vec!["a finding that saves more comes later".to_owned()],
        }
    }

    fn wrong_judgments(&self, _: &Document) -> Vec<String> {
        checks::wrong_judgments(self)
    }

    written_by! {
        title -> String = title::of_comparison;
        summary -> Document = summary::write;
        pictures -> Vec<Picture> = pictures::all;
        details -> Vec<Part> = details::all;
        appendix -> Vec<Part> = appendix::all;
        steps -> Vec<Part> = working_notes::steps;
        raw -> Vec<Part> = working_notes::raw;
        gaps -> Document = working_notes::gaps;
        questions -> Vec<String> = working_notes::questions;
        shown -> Vec<Shown> = checks::shown;
        wrong_sums -> Option<Vec<String>> = checks::wrong_sums;
        wrong_savings -> Vec<String> = checks::wrong_savings;
    }
}
