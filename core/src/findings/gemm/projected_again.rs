//! Keys and values of cross-attention that each decoded token projects again.
//!
//! ```text
//! token 1   GEMM 1500 × 1280 × 1280 (keys)   GEMM 1500 × 1280 × 1280 (values)   attention of 1 query to 1500 keys
//! token 2   the same, of the same encoder output
//! ```
//!
//! A cache of keys and values has them for all earlier tokens: a step projects as many rows as it has queries.

use super::Observed;
use crate::base::map::Map;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::trace::TrackId;

/// With fewer tokens, the first ones may fill the cache.
const LEAST_TOKENS: u64 = 3;
/// Attention to at least this many times as many keys as it has queries reads a cache.
const LEAST_KEYS_PER_QUERY: u64 = 16;
/// Nearly all calls of attention come after GEMMs on all of their keys.
const NEARLY_ALL: f64 = 0.9;

/// The part of a GEMM that projects keys and values again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProjectedAgain {
    pub(super) ns: i64,
    pub(super) tokens: u64,
}

/// An attention with few queries: how many rows its keys have, and its queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cached {
    keys: u64,
    queries: u64,
}

/// A call, in the order of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    track: TrackId,
    ts_ns: i64,
    ns: i64,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The GEMM at an index, and its rows.
    Gemm { at: usize, rows: u64 },
    /// Attention; the rows of its keys, where it has few queries.
    Attention { keys: Option<u64> },
}

/// Marks GEMMs that project all keys of an attention with few queries right before it, for several tokens.
pub(super) fn mark(input: &Input, observed: &mut [Observed]) {
    if input.profile.is_training() {
        return;
    }
    let cached: Vec<(usize, Cached)> = input
        .operations()
        .filter_map(|(at, ..)| Some((at, Cached::of(input, at)?)))
        .collect();
    if cached.is_empty() {
        return;
    }
    let calls = calls(input, observed, &cached);
    for (_, kind) in &cached {
        let Some(tokens) = tokens(observed, *kind).filter(|n| *n >= LEAST_TOKENS) else {
            continue;
        };
        for (at, ns) in before(&calls, kind.keys) {
            if let Some(one) = observed.get_mut(at) {
                // One of these projections is needed.
                let ns = ns - ns / tokens as i64;
                one.projected_again = Some(ProjectedAgain { ns, tokens });
            }
        }
    }
}

impl Cached {
    fn of(input: &Input, at: usize) -> Option<Cached> {
        let operation = input.operation(at);
        if operation.family != Family::Attention {
            return None;
        }
        let sizes = AttentionSizes::of(input.profile, operation)?;
        let is_cached = sizes.n_kv >= sizes.n_q.saturating_mul(LEAST_KEYS_PER_QUERY);
        is_cached.then_some(Cached {
            keys: sizes.batch.saturating_mul(sizes.n_kv),
            queries: sizes.batch.saturating_mul(sizes.n_q),
        })
    }
}

/// At most how many tokens were decoded: each matrix of weights is used once for each.
fn tokens(observed: &[Observed], kind: Cached) -> Option<u64> {
    let of_token = observed.iter().filter(|one| {
        let sizes = one.sizes.filter(|sizes| sizes.batch == 1);
        sizes.is_some_and(|sizes| sizes.m == kind.queries)
    });
    of_token.map(|one| one.row.n_calls).min()
}

/// The calls of GEMMs and of attention.
fn calls(input: &Input, observed: &[Observed], cached: &[(usize, Cached)]) -> Vec<Call> {
    let events = &input.profile.trace.events;
    let keys: Map<usize, u64> = cached.iter().map(|(at, kind)| (*at, kind.keys)).collect();
    let gemms = observed.iter().enumerate().filter_map(|(at, one)| {
        let sizes = one.sizes.filter(|sizes| sizes.batch == 1)?;
        Some((one.operation, What::Gemm { at, rows: sizes.m }))
    });
    let attention = input.operations().filter_map(|(at, operation, _)| {
        let keys = keys.get(&at).copied();
        (operation.family == Family::Attention).then_some((operation, What::Attention { keys }))
    });
    let calls = gemms.chain(attention).flat_map(|(operation, what)| {
        operation.calls.iter().map(move |call| Call {
            track: events.track(call.event),
            ts_ns: events.ts_ns(call.event),
            ns: call.kernel_ns,
            what,
        })
    });
    calls.arranged()
}

/// The time of the GEMMs with as many rows as attention has keys, that come between the attention before it and itself;
/// none unless that is so before nearly every call.
fn before(calls: &[Call], keys: u64) -> Vec<(usize, i64)> {
    let mut times: Map<usize, i64> = Map::default();
    let (mut n, mut n_projected) = (0_u64, 0_u64);
    let mut since: Vec<(usize, i64)> = Vec::new();
    let mut track = None;
    for call in calls {
        if track.replace(call.track) != Some(call.track) {
            since.clear();
        }
        match call.what {
            What::Gemm { at, rows } if rows == keys => since.push((at, call.ns)),
            What::Gemm { .. } => {}
            What::Attention { keys: of } => {
                if of == Some(keys) {
                    n += 1;
                    n_projected += u64::from(!since.is_empty());
                    for (at, ns) in &since {
                        let time = times.entry(*at).or_default();
                        *time = time.saturating_add(*ns);
                    }
                }
                since.clear();
            }
        }
    }
    match n_projected as f64 >= n as f64 * NEARLY_ALL {
        true => times.into_iter().collect(),
        false => Vec::new(),
    }
}

pub(super) const RULE: Rule<Observed> = Rule {
    key: "cross_attention_projected_again",
    class: "keys and values of cross-attention",
    when: "GEMMs on all keys precede attention with few queries for each of 3 or more tokens, in 5 % of the computation or more",
    applies: |_, observed| observed.projected_again.is_some(),
    takes: |group| group.is_much(),
    title: "Keys and values are projected again for each token",
    issue: "{subject} projects all keys or values of an attention with few queries, again for each of {tokens}: {time}{at}.",
    model: "project them once and keep them (`use_cache=True` with an `EncoderDecoderCache`; a static cache of cross-attention): the encoder's output does not change from token to token.",
    kernel: "nothing to gain in a kernel: the first token has computed them already.",
    notes: &[
        "The saving is the measured time of these GEMMs right before such attention, but for one token.",
        "That their operands are the same is inferred from sizes, not values.",
    ],
    words: |group| {
        let tokens = group
            .first()
            .projected_again
            .map_or(0, |again| again.tokens);
        vec![("tokens", format::counted(tokens, "token"))]
    },
    saves: Saves::Each(|_, observed| Some(Impact::measured(observed.projected_again?.ns))),
    has_reproducer: false,
    ..Rule::BASE
};

#[cfg(test)]
mod tests {
    use crate::findings::samples::{Calls, assert_contains, only, patterns};

    /// Four tokens of one layer, of which two GEMMs on 1 500 rows take 40 µs each. Three of four are not needed.
    #[test]
    fn cross_attention_needs_its_keys_once() {
        let tokens = |rows: u32| {
            let query = "1x20x1x64:c10::Half, 1x20x1500x64:c10::Half*2";
            let args = format!("{rows}x1280, 1280x1280");
            let calls = (0..4).fold(Calls::new(), |calls, _| {
                calls
                    .call("aten::mm", "1x1280, 1280x1280", "gemm", 4)
                    .call("aten::mm", &args, "gemm", 40)
                    .call("aten::mm", &args, "gemm", 40)
                    .call(
                        "aten::_scaled_dot_product_flash_attention",
                        query,
                        "flash_fwd",
                        6,
                    )
            });
            calls.outcome_on("H100", "gemm")
        };
        let outcome = tokens(1_500);
        let finding = only(&outcome, "cross_attention_projected_again");
        assert_contains(&finding.issue, &["for each of 4 tokens", "320 µs"]);
        assert_eq!(finding.impact.map(|impact| impact.mid_ns), Some(240_000));
        // Keys of the new token alone, and rows that are not those of the keys.
        for rows in [2, 1_400] {
            assert!(!patterns(&tokens(rows)).contains(&"cross_attention_projected_again"));
        }
    }
}
