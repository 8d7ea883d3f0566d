//! Messages that are too small.

use super::Context;
use super::exposed::{self, Exposed};
use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::job::analysis::network::{Path, SMALL_BYTES, message_bytes};
use crate::job::cards::JobCard;

/// This many small messages in a step are too many.
const MANY_SMALL: usize = 1_000;

/// Fewer are not, even where they are exposed.
const LEAST_SMALL: usize = 16;

/// Many small messages, whose latency adds up: very many on a rank, or fewer that are exposed.
pub(super) fn card(context: &Context) -> Option<JobCard> {
    let n_steps = context.job.steps.len().max(1);
    let counts = context.job.ranks.iter().enumerate().map(|(at, rank)| {
        let digest = &rank.digest;
        let small = digest.collectives.iter().filter(|of| {
            message_bytes(digest, of).is_some_and(|bytes| bytes > 0.0 && bytes < SMALL_BYTES as f64)
        });
        (small.count() / n_steps, at)
    });
    let (n, rank) = counts.max()?;
    let latency_ns = exposed_latency_ns(context);
    let saved = context.large(latency_ns, &context.all_steps());
    let is_exposed = n >= LEAST_SMALL && saved.is_some();
    if n < MANY_SMALL && !is_exposed {
        return None;
    }
    let latency = match is_exposed {
        true => format!(
            "; {} a step of that is exposed",
            format::time_ns(latency_ns / (n_steps as i64))
        ),
        false => String::new(),
    };
    let card = JobCard {
        title: "Too many small messages".to_owned(),
        issue: format!(
            "{} has {} below {} a step: each takes the latency of the network, however small it is{latency}.",
            format::capitalized(&context.rank(rank)),
            format::counted(n as u64, "collective"),
            format::bytes(SMALL_BYTES)
        ),
        action: "Put them together: larger buckets (`bucket_cap_mb`), coalesced collectives, flattened parameters.".to_owned(),
        reasoning: match is_exposed {
            true => vec!["The saving is the latency of all but one of them in a step between the same ranks, as far as they are exposed; the latency is that of the fastest.".to_owned()],
            false => Vec::new(),
        },
        ranks: vec![context.number(rank)],
        ..JobCard::default()
    };
    match is_exposed {
        true => context.with_saving(card, Some(latency_ns), &context.all_steps()),
        false => Some(card),
    }
}

/// The latency of all small messages but one in each step between the same ranks, as far as they are exposed: the
/// shortest transfer of any of them is latency alone.
fn exposed_latency_ns(context: &Context) -> i64 {
    let n_steps = context.job.steps.len().max(1);
    let messages = exposed::messages(context);
    let small = messages.iter().filter(|of| {
        let bytes = of.link.message.bytes;
        bytes.is_some_and(|bytes| bytes > 0 && bytes < SMALL_BYTES)
    });
    let by_path: Vec<(Path, Vec<&Exposed>)> =
        grouped(small.map(|of| (of.link.path, of)), Vec::push);
    let of_paths = by_path.iter().map(|(_, messages)| {
        let n: usize = messages.iter().map(|of| of.link.collectives.len()).sum();
        let shortest_ns = messages.iter().map(|of| of.link.min_ns).min().unwrap_or(0);
        let exposed_ns = sum(messages.iter().map(|of| of.ns)).saturating_mul(n_steps as i64);
        let latency_ns = shortest_ns.saturating_mul(n.saturating_sub(n_steps) as i64);
        latency_ns.clamp(0, exposed_ns)
    });
    sum(of_paths)
}
