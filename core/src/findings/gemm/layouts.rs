//! GEMMs whose operands have another layout than those of faster calls on the same sizes.
//!
//! ```text
//! mm  4096 × 4096 × 8192   strides [8192, 1], [4096, 1]   0.5 ms a call
//! mm  4096 × 4096 × 8192   strides [1, 4096], [1, 8192]   2.1 ms a call: 4.2 times as long
//! ```

use super::Observed;
use crate::base::map::Map;
use crate::findings::prelude::*;
use crate::hardware::Precision;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::trace::StringId;

/// Calls in another layout are faster if they take less than the time divided by this.
const CLEARLY: f64 = 1.5;

/// What calls on the same sizes take with other strides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FasterLayout {
    /// The time of one of them.
    pub(super) call_ns: i64,
    /// How many times as long these calls take.
    pub(super) factor: f64,
    /// The strides of these calls and of the faster ones.
    pub(super) strides: [String; 2],
}

/// One operator on one batch of sizes in one type.
type Work = (StringId, [u64; 4], Option<Precision>);

/// Marks GEMMs that are clearly slower than the same GEMM with other strides.
pub(super) fn mark(input: &Input, observed: &mut [Observed]) {
    let call_ns = |one: &Observed| one.row.time_ns / one.row.n_calls.max(1) as i64;
    let mut fastest: Map<Work, (i64, String)> = Map::default();
    for one in observed.iter().filter(|one| !one.row.is_anomaly) {
        let strides = one.operation.recorded_strides(input.profile);
        let Some((work, strides)) = work(input, one).zip(strides) else {
            continue;
        };
        let best = fastest.entry(work).or_insert((i64::MAX, String::new()));
        if call_ns(one) < best.0 {
            *best = (call_ns(one), strides);
        }
    }
    for one in observed {
        let best = work(input, one).and_then(|work| fastest.get(&work));
        let own = one.operation.recorded_strides(input.profile);
        let Some(((best_ns, best), own)) = best.zip(own) else {
            continue;
        };
        let factor = call_ns(one) as f64 / (*best_ns).max(1) as f64;
        if factor >= CLEARLY && own != *best {
            one.faster_layout = Some(FasterLayout {
                call_ns: *best_ns,
                factor,
                strides: [own, best.clone()],
            });
        }
    }
}

fn work(input: &Input, one: &Observed) -> Option<Work> {
    let GemmSizes { batch, m, n, k, .. } = one.sizes?;
    let spec = input.evaluation(one.row.operation).work?.compute;
    let precision = spec.map(|spec| spec.precision);
    Some((one.operation.key.name, [batch, m, n, k], precision))
}

pub(super) const RULE: Rule<Observed> = Rule {
    key: "slow_layout",
    class: "slow layout",
    when: "the same operator takes 1.5 times as long or more as with other strides of its operands, on the same sizes in the same type",
    applies: |_, observed| observed.faster_layout.is_some(),
    title: "Operands in a slow layout: {factor} the time",
    issue: "{subject} takes {time}{at}; its calls take {factor} the time of calls on the same sizes with other strides ({own} here, {other} there).",
    model: "give the operands the layout of the faster calls: store a weight transposed once, or make an operand contiguous where it is created.",
    kernel: "compare the kernels that run for both layouts; the one for this layout is slower on the same work.",
    notes: &["The saving is what these calls take beyond the faster ones."],
    words: |group| {
        let faster = group.first().faster_layout.as_ref();
        let [own, other] = faster
            .map(|faster| faster.strides.clone())
            .unwrap_or_default();
        let factor = faster.map_or(1.0, |faster| faster.factor);
        vec![
            ("factor", format!("{}×", format::number(factor))),
            ("own", own),
            ("other", other),
        ]
    },
    saves: Saves::AtMost(|_, observed| {
        let n_calls = i64::try_from(observed.row.n_calls).ok()?;
        let least_ns = observed
            .faster_layout
            .as_ref()?
            .call_ns
            .saturating_mul(n_calls);
        Some(observed.row.time_ns.saturating_sub(least_ns).max(0))
    }),
    ..Rule::BASE
};

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, only, patterns};

    /// 8 192 × 8 192 × 4 096 twice: the slow calls take 3 ms, those with other strides `fast_us`.
    fn twice(fast_us: i32, strides: &str) -> Vec<&'static str> {
        patterns(&outcome(fast_us, strides))
    }

    fn outcome(fast_us: i32, strides: &str) -> crate::findings::engine::outcome::Outcome {
        let args = |strides: &str| {
            format!(
                r#""Input Dims": [[8192, 4096], [4096, 8192]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [{strides}]"#
            )
        };
        let slow = args("[1, 8192], [1, 4096]");
        let calls = Calls::new().call("aten::mm", &slow, "Cijk_MT256x256x64", 3_000);
        let calls = calls.call("aten::mm", &args(strides), "Cijk_MT256x256x64", fast_us);
        calls.outcome_on("MI300X", "gemm")
    }

    #[test]
    fn the_same_sizes_in_a_faster_layout_are_compared() {
        let outcome = outcome(1_000, "[4096, 1], [8192, 1]");
        let finding = only(&outcome, "slow_layout");
        assert_eq!(finding.title, "Operands in a slow layout: 3.00× the time");
        assert_contains(
            &finding.issue,
            &["[1, 8192] and [1, 4096] here, [4096, 1] and [8192, 1] there"],
        );
        assert_eq!(finding.impact.unwrap().high_ns, 2_000_000);
    }

    #[test]
    fn layouts_that_are_about_as_fast_are_no_cause() {
        assert!(!twice(2_500, "[4096, 1], [8192, 1]").contains(&"slow_layout"));
        // The same strides: the calls differ for another reason.
        assert!(!twice(1_000, "[1, 8192], [1, 4096]").contains(&"slow_layout"));
    }
}
