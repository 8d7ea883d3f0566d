//! Checks of counts and measurements.

use super::read::{numbers, table};
use super::structure::{detail, pairs, short};
use super::{Verdict, Written};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::output::markup::{Span, plain};

fn not_recorded() -> Verdict {
    Verdict::NotApplicable("no GPU activity was recorded".to_owned())
}

pub(super) fn bottlenecks(written: &Written) -> Verdict {
    let Some(expected) = written.subject.bottlenecks() else {
        return Verdict::NotApplicable("no table of GPU time".to_owned());
    };
    let table = table(written.fair.section("Top Bottlenecks").unwrap_or_default());
    let rows = table.map_or(&[][..], |table| &table.rows);
    let mut defects = Vec::new();
    if rows.len() != expected.len() {
        defects.push(format!("{} rows for {}", rows.len(), expected.len()));
    }
    for (at, (row, (name, ns))) in rows.iter().zip(&expected).enumerate() {
        let cell = |at: usize| row.get(at).map(|cell| plain(cell)).unwrap_or_default();
        let has_name = row.get(1).and_then(|cell| cell.first()) == Some(&Span::Code(name.clone()));
        if !has_name || cell(2) != format::time_ns(*ns) {
            defects.push(format!("row {} is not {}", at + 1, short(name)));
        }
        let share = numbers(&cell(3))
            .first()
            .and_then(|number| number.percent());
        if share.is_some_and(|percent| percent > 100.0) {
            defects.push(format!("row {} is more than all that computes", at + 1));
        }
    }
    defects.into()
}

pub(super) fn sums(written: &Written) -> Verdict {
    let defects = written.subject.wrong_sums();
    defects.map_or_else(not_recorded, Verdict::from)
}

/// Shares may differ by this many percentage points.
const SHARE_TOLERANCE: f64 = 1.0;

pub(super) fn shown(written: &Written) -> Verdict {
    let shown = written.subject.shown();
    if shown.is_empty() {
        return not_recorded();
    }
    let mut defects = Vec::new();
    for one in &shown {
        let table = table(written.fair.section(&one.section).unwrap_or_default());
        let mut rows = table.map_or(&[][..], |table| &table.rows).iter();
        let row = rows.find(|row| row.first().is_some_and(|cell| plain(cell) == one.label));
        for (at, (ns, whole_ns)) in one.cells.iter().enumerate() {
            let cell = row.and_then(|row| row.get(at + 1));
            let text = cell.map(|cell| plain(cell)).unwrap_or_default();
            let percent = numbers(&text).first().and_then(|number| number.percent());
            let is_right = match (percent, percent_of(*ns, *whole_ns)) {
                (Some(shown), Some(exact)) => (shown - exact).abs() <= SHARE_TOLERANCE,
                _ => text == format::time_ns(*ns),
            };
            if !is_right {
                defects.push(format!("{} is not “{text}”", one.label));
            }
        }
    }
    defects.into()
}

pub(super) fn order(written: &Written) -> Verdict {
    let cards = written.subject.cards();
    let mut defects: Vec<String> = cards
        .iter()
        .zip(1..)
        .filter(|(card, place)| card.number != *place)
        .map(|(card, place)| format!("P{} is in place {place}", card.number))
        .collect();
    defects.extend(written.subject.wrong_order());
    defects.into()
}

pub(super) fn derived(written: &Written) -> Verdict {
    let mut defects = Vec::new();
    for (part, card) in pairs(written) {
        let detail = detail(written, &card);
        let detail = detail.map(|detail| detail.text()).unwrap_or_default();
        let known = numbers(&detail).into_iter().map(|number| number.digits);
        let known: Vec<String> = known.collect();
        for name in [written.subject.words().problem, "Action", "Impact"] {
            let text = part.field(name).unwrap_or_default();
            let mut numbers = numbers(&text).into_iter();
            if let Some(number) = numbers.find(|number| !known.contains(&number.digits)) {
                let (digits, text) = (number.digits, short(&text));
                let card = card.number;
                defects.push(format!(
                    "{digits} of P{card} (“{text}”) is not in its details"
                ));
            }
        }
    }
    defects.into()
}
