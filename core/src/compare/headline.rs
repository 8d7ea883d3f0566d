//! What a comparison says first.

use super::comparison::Comparison;
use super::pair::Pair;
use super::words;
use crate::base::format;

impl Comparison {
    /// The times of both, and those of as much work where the traces hold different amounts. `target` and `reference`
    /// are what to call them; `target` begins the sentence.
    pub fn headline(&self, target: &str, reference: &str) -> String {
        let sides = self.sides.as_ref();
        let Pair {
            reference: has_before,
            target: has_after,
        } = sides.map(|side| side.timeline.is_some());
        match (has_before, has_after) {
            (true, true) => {}
            (false, false) => {
                return "Neither trace has GPU activity: only CPU time can be compared.".to_owned();
            }
            (true, false) => return format!("{target} has no GPU activity; {reference} has."),
            (false, true) => return format!("{target} has GPU activity; {reference} has none."),
        }
        let total = self.parts.total;
        let times = total.map(format::time_ns);
        if self.is_same() {
            return format!("No difference: both traces take {}.", times.target);
        }
        let per_step = self.per_step();
        if total.difference() == 0 && per_step.is_none() {
            let time = times.target;
            return match self.is_about_same() {
                true => format!("Both traces take {time}. No notable difference."),
                false => format!("Both traces take {time}, but spend it differently."),
            };
        }
        let mut text = format!(
            "{target} takes {}, {reference} {}: {}{}.",
            times.target,
            times.reference,
            format::signed_time_ns(total.difference()),
            change(total)
        );
        if let Some((steps, step)) = per_step {
            let n = steps.map(|n| format::counted(n, "step"));
            let each = step.map(format::time_ns);
            text.push_str(&format!(
                " That is {} against {}: {} a step against {}{}.",
                n.target,
                n.reference,
                each.target,
                each.reference,
                change(step)
            ));
        }
        if let Some((ratio, times)) = self.for_as_many_calls() {
            text.push_str(&format!(
                " By its calls it does {} as much, for which {reference} would take {}{}.",
                words::times(ratio),
                format::time_ns(times.reference),
                change(times)
            ));
        }
        if self.is_about_same() {
            text.push_str(" No notable difference.");
        }
        text
    }
}

/// The change in percent, in parentheses; nothing if it is too small to be one.
fn change(times: Pair<i64>) -> String {
    const LEAST_PERCENT: f64 = 0.05;
    let change = times.change_percent();
    let change = change.filter(|change| change.abs() >= LEAST_PERCENT);
    change.map_or(String::new(), |change| {
        format!(" ({})", format::signed_percent(change))
    })
}
