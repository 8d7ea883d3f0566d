//! Attention in separate operations. Its GEMMs, its softmax and its copies count in their own categories, so no
//! category shows how much of the time is attention.

use super::headline::in_sentence;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arranged;
use crate::base::value::Value;
use crate::findings::Analyses;
use crate::names::Family;
use crate::profile::Profile;

/// How much of the time is attention in separate operations.
#[derive(Debug, Clone, PartialEq)]
pub struct UnfusedAttention {
    /// The kernel time of all operations that it consists of, forward and backward.
    pub ns: i64,
    /// Its share of the time in which anything runs.
    pub percent: f64,
    /// The categories in which that time counts, longest first.
    pub families: Vec<(Family, i64)>,
}

impl UnfusedAttention {
    /// From the analyses of attention; `None` if they found nothing.
    pub(super) fn new(
        profile: &Profile,
        analyses: &Analyses,
        busy_ns: i64,
    ) -> Option<UnfusedAttention> {
        let outcomes = || {
            let keys = ["sdpa_fwd", "sdpa_bwd"].into_iter();
            keys.filter_map(|key| analyses.outcome(key))
        };
        let ns = sum(
            outcomes().filter_map(|outcome| match outcome.get("unfused_attention") {
                Some(Value::Ns(ns)) => Some(*ns),
                _ => None,
            }),
        );
        let mut families = [0_i64; Family::ALL.len()];
        for row in outcomes().flat_map(|outcome| &outcome.rows) {
            let operation = profile.operations().get(row.operation);
            let family = operation.map(|operation| operation.family);
            if let Some(family) = family.filter(|family| *family != Family::Attention) {
                let ns = &mut families[family as usize];
                *ns = ns.saturating_add(row.time_ns);
            }
        }
        let families = Family::ALL.into_iter().zip(families);
        let families = families
            .filter(|(_, ns)| *ns > 0)
            .arranged_by_largest(|(_, ns)| *ns);
        // Activity on several streams at once counts several times, but the sum is capped at the total.
        let ns = ns.min(busy_ns);
        (ns > 0 && !families.is_empty()).then_some(UnfusedAttention {
            ns,
            percent: percent_of(ns, busy_ns)?,
            families,
        })
    }

    /// For the table of categories: which part of their time is attention.
    pub fn sentence(&self) -> String {
        let names: Vec<&str> = self
            .families
            .iter()
            .map(|(family, _)| in_sentence(*family))
            .collect();
        let names = match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        };
        format!(
            "Attention in separate operations takes {} of it ({}); it counts as {names}.",
            format::time_ns(self.ns),
            format::percent(self.percent)
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Overview;
    use crate::testing::Timetable;

    /// Scores of 16 heads over 512 positions: a GEMM, a softmax, a GEMM; then a layer.
    fn overview(softmax_us: u32) -> Overview {
        let bmm = |a: &str, b: &str| {
            format!(r#""Input Dims": [{a}, {b}], "Input type": ["c10::Half", "c10::Half"]"#)
        };
        let softmax = r#""Input Dims": [[16, 512, 512], [], []], "Input type": ["c10::Half", "Scalar", "Scalar"]"#;
        let scores = bmm("[16, 512, 64]", "[16, 64, 512]");
        let values = bmm("[16, 512, 512]", "[16, 512, 64]");
        let layer = bmm("[8192, 1024]", "[1024, 1024]");
        let end = 300 + softmax_us;
        Timetable::new()
            .call("aten::bmm", &scores, "gemm", 100..200)
            .call("aten::_softmax", softmax, "softmax", 200..200 + softmax_us)
            .call("aten::bmm", &values, "gemm", 200 + softmax_us..end)
            .call("aten::mm", &layer, "gemm", end..end + 200)
            .report()
            .overview
    }

    #[test]
    fn what_is_attention_is_listed_next_to_the_categories() {
        // 100 + 400 + 100 of 800 µs.
        let overview = overview(400);
        let unfused = overview.unfused_attention.as_ref().unwrap();
        assert_eq!(
            unfused.sentence(),
            "Attention in separate operations takes 600 µs of it (75.0 %); it counts as reduction and GEMM."
        );
        // More than any category: 400 µs of GEMMs, 400 µs of softmax.
        assert_eq!(
            overview.headline,
            "The GPU is busy 100 % of 800 µs; attention in separate operations takes 75.0 % of the busy time."
        );
    }

    #[test]
    fn a_smaller_share_leaves_the_headline_to_the_largest_category() {
        // 100 + 50 + 100 of 450 µs, and 400 µs of GEMMs.
        let overview = overview(50);
        assert!(overview.unfused_attention.is_some());
        assert_eq!(
            overview.headline,
            "The GPU is busy 100 % of 450 µs; GEMM takes 88.9 % of the busy time."
        );
    }
}
