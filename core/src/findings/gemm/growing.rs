//! Generation without a cache: each step multiplies all earlier tokens by the weights again.
//!
//! ```text
//! step 1   1024 × 2048 × 6144        the same weights, and in each step as many rows more as sequences are generated
//! step 2   1025 × 2048 × 6144
//! step 3   1026 × 2048 × 6144
//! ```

use super::Observed;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::findings::prelude::*;
use crate::trace::StringId;

/// Fewer sizes in a row may be chance.
const LEAST_STEPS: usize = 8;

/// A step adds a small part of the rows; batches of requests grow, too, but from fewer rows.
const LEAST_ROWS_PER_NEW: u64 = 32;

/// A GEMM whose rows are those of the last step and some more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growing {
    /// How many rows a step has more than the last one.
    pub(super) new: u64,
}

/// The GEMMs of one step with the same weights, ordered by their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    rows: u64,
    start_ns: i64,
    /// Where they are in the list of all.
    at: usize,
}

/// Marks GEMMs that grow from step to step, where nothing is trained and no serving engine forms batches.
pub(super) fn mark(input: &Input, observed: &mut [Observed]) {
    let profile = input.profile;
    if profile.is_training() || profile.serving().is_some() {
        return;
    }
    let mut by_weights: Map<(StringId, u64, u64), Vec<Step>> = Map::default();
    for (at, one) in observed.iter().enumerate() {
        let sizes = one.sizes.filter(|sizes| sizes.batch == 1);
        if let Some((sizes, call)) = sizes.zip(one.operation.first()) {
            let key = (one.operation.key.name, sizes.n, sizes.k);
            by_weights.entry(key).or_default().push(Step {
                rows: sizes.m,
                start_ns: profile.trace.events.ts_ns(call.event),
                at,
            });
        }
    }
    for all in by_weights.values_mut() {
        all.arrange();
        for (new, steps) in series(all) {
            for step in steps {
                if let Some(one) = observed.get_mut(step.at) {
                    one.growing = Some(Growing { new });
                }
            }
        }
    }
}

/// The parts of a list, by rows, whose rows grow by one number, one after the other in time; with that number.
fn series(all: &[Step]) -> Vec<(u64, &[Step])> {
    let mut found = Vec::new();
    let mut rest = all;
    while let [first, second, ..] = rest {
        let new = second.rows - first.rows;
        let goes_on = |pair: &[Step]| match pair {
            [one, next] => new > 0 && next.rows - one.rows == new && next.start_ns > one.start_ns,
            _ => false,
        };
        let n = 1 + rest.windows(2).take_while(|pair| goes_on(pair)).count();
        let (steps, left) = rest.split_at(n);
        if n >= LEAST_STEPS && first.rows >= new.saturating_mul(LEAST_ROWS_PER_NEW) {
            found.push((new, steps));
        }
        rest = left;
    }
    found
}

pub(super) const RULE: Rule<Observed> = Rule {
    key: "no_kv_cache",
    class: "grows with each token",
    when: "the same weights are multiplied by some rows more in each of 8 or more steps, in 5 % of the computation or more",
    applies: |_, observed| observed.growing.is_some() && !observed.is_of_expert,
    takes: |group| group.is_much(),
    title: "Generation without a KV cache",
    issue: "{subject} multiplies from {fewest} to {most} rows, {new} more in each step: each step computes all earlier tokens again, {time}{at}.",
    model: "keep the keys and values of earlier tokens (`use_cache=True` in `generate`, a static KV cache): a step then multiplies only the new rows.",
    kernel: "nothing to gain in a kernel: the rows of earlier tokens need not be computed.",
    notes: &[
        "The saving is the time of these GEMMs beyond reading their weights once for each call. Attention and element-wise operations on all tokens come on top.",
    ],
    words: |group| {
        let rows = group.observed.iter().filter_map(|one| Some(one.sizes?.m));
        let new = group.first().growing.map_or(0, |growing| growing.new);
        vec![
            ("fewest", format::count(rows.clone().min().unwrap_or(0))),
            ("most", format::count(rows.max().unwrap_or(0))),
            ("new", format::count(new)),
        ]
    },
    saves: Saves::AtMost(|input, observed| {
        let tensors = observed.operation.tensors(input.profile);
        let sizes = observed.sizes?;
        let weights = sizes.n as f64 * sizes.k as f64 * tensors.first()?.element_bytes()?;
        let each_ns = weights / input.gpu()?.mem_bw_gbps;
        let least_ns = (each_ns * observed.row.n_calls as f64) as i64;
        Some(observed.row.time_ns.saturating_sub(least_ns).max(0))
    }),
    has_reproducer: false,
    ..Rule::BASE
};

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, only, patterns};

    /// 12 steps on 1 024 tokens and more, 64 µs each. The weights of 25 MB are read in 7.5 µs on an H100.
    #[test]
    fn tokens_that_are_computed_again_in_each_step_need_a_cache() {
        let steps = |rows: &dyn Fn(u32) -> u32| {
            let calls = (0..12).fold(Calls::new(), |calls, step| {
                let args = format!("{}x2048, 2048x6144", rows(step));
                calls.call("aten::mm", &args, "nvjet_tst_128x256_64x4", 64)
            });
            calls.outcome_on("H100", "gemm")
        };
        let outcome = steps(&|step| 1_024 + step);
        let finding = only(&outcome, "no_kv_cache");
        assert_contains(
            &finding.issue,
            &["from 1 024 to 1 035 rows, 1 more in each step"],
        );
        assert_contains(&finding.model, &["`use_cache=True`"]);
        let impact = finding.impact.unwrap();
        assert!((676_000..680_000).contains(&impact.high_ns), "{impact:?}");
        // Sizes that vary, few rows, and a sequence that gets shorter.
        let others: [&dyn Fn(u32) -> u32; 3] =
            [&|step| 1_024 + step * step, &|step| 8 + step, &|step| {
                1_035 - step
            }];
        for rows in others {
            assert!(!patterns(&steps(rows)).contains(&"no_kv_cache"));
        }
    }
}
