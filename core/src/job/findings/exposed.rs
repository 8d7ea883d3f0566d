//! Exposed communication: how much of the run it takes, and which messages it is.

use super::Context;
use super::network::prose;
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arranged;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::network::Link;
use crate::job::cards::{JobCard, ShownTable};

/// Exposed communication without waiting is worth a finding from this share of the run on.
const LEAST_PERCENT: f64 = 10.0;

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 10;

/// A kind of message, and how long it is exposed on a rank in a step, on average.
pub(super) struct Exposed<'a> {
    pub(super) link: &'a Link,
    pub(super) ns: i64,
}

/// Exposed communication without waiting for other ranks, averaged over all ranks. If a collective is hidden in part,
/// as much as possible of its exposed part counts as waiting, so this is a lower bound.
pub(super) fn communication(context: &Context) -> Option<JobCard> {
    let ranks = context
        .job
        .ranks
        .iter()
        .zip(&context.analysis.delays.of_ranks);
    let times = ranks.filter_map(|(rank, delay)| {
        let gpu = rank.digest.gpu?;
        let moving_ns = gpu.exposed_comm_ns.saturating_sub(delay.waited_exposed_ns);
        Some((
            moving_ns.max(0),
            percent_of(moving_ns.max(0), gpu.span.length())?,
        ))
    });
    let times: Vec<(i64, f64)> = times.collect();
    let n = times.len().max(1);
    let percent = times.iter().map(|(_, percent)| percent).sum::<f64>() / n as f64;
    // In a job that hangs, it is the time until that is noticed.
    let is_stuck = !context.unfinished.is_empty();
    // Where only communication was recorded, all of it is exposed.
    if !context.has_computation()
        || percent < LEAST_PERCENT
        || !context.job.clocks.are_comparable
        || is_stuck
    {
        return None;
    }
    let mean_ns = sum(times.iter().map(|(ns, _)| *ns)) / (n as i64);
    let a_step = match context.job.steps.len() {
        0 => String::new(),
        n => format!(" ({} a step)", format::time_ns(mean_ns / (n as i64))),
    };
    let messages = messages(context);
    let most = messages.first().map(|most| {
        let at = most.link.bus_gbps.map(format::bandwidth_gbps);
        format!(
            "Most of it is the {} between {}{}: {} a step.",
            most.link.label(),
            prose(context, most.link.path),
            at.map_or_else(String::new, |at| format!(" at a bus bandwidth of {at}")),
            format::time_ns(most.ns)
        )
    });
    Some(JobCard {
        title: "Exposed communication".to_owned(),
        issue: format!(
            "Communication is exposed for {} of the run{a_step}, averaged over all ranks; waiting for slow ranks is not counted{}.",
            format::percent(percent),
            match context.job.missing().is_empty() {
                true => "",
                false => ", but waiting for ranks that were not read is",
            }
        ),
        action: "Overlap it with computation: smaller buckets earlier in the backward pass, prefetched all-gathers, asynchronous tensor parallelism; or move less: lower precision, more gradient accumulation steps.".to_owned(),
        reasoning: most.into_iter().chain(alone(context, &messages)).collect(),
        tables: vec![table(context, &messages)],
        ..JobCard::default()
    })
}

/// The messages that are exposed, longest first.
pub(super) fn messages<'a>(context: &Context<'a>) -> Vec<Exposed<'a>> {
    let Context { job, analysis, .. } = context;
    let mut of_collectives = vec![0_i64; job.collectives.len()];
    for node in &analysis.flow.nodes {
        let of_node = node.matched.and_then(|at| of_collectives.get_mut(at));
        let Some(of_node) = of_node else { continue };
        for part in analysis.flow.parts_of(node) {
            let exposed_ns = part.exposed_ns(job);
            let waited_ns = match node.waits_for_all && !node.is_loose {
                true => node.begin_ns.saturating_sub(part.span.start_ns).max(0),
                false => 0,
            };
            *of_node = of_node.saturating_add(exposed_ns.saturating_sub(waited_ns).max(0));
        }
    }
    let n = (job.ranks.len() * job.steps.len().max(1)).max(1) as i64;
    let all = analysis.network.links.iter().map(|link| {
        let own = link.collectives.iter();
        let own = own.filter_map(|at| of_collectives.get(*at).copied());
        Exposed {
            link,
            ns: sum(own) / n,
        }
    });
    all.filter(|of| of.ns > 0).arranged_by_largest(|of| of.ns)
}

fn table(context: &Context, messages: &[Exposed]) -> ShownTable {
    let table = Table::of(
        "exposed_messages",
        "Exposed messages, average of all ranks",
        messages.iter().take(MOST_ROWS),
        cell_columns![
            "what", "Message", |of| Value::Text(of.link.label());
            "between", "Between", |of| Value::Text(prose(context, of.link.path).replace('`', ""));
            "hosts", "Over hosts", |of| Value::Text(if of.link.spans_hosts { "yes" } else { "no" }.to_owned());
            "exposed", "Exposed, a step", |of| Value::Ns(of.ns);
            "transfer", "Transfer, median", |of| Value::Ns(of.link.median_ns);
            "bus", "Bus bandwidth", |of| Value::gbps(of.link.bus_gbps);
            "share", "Share of link", |of| Value::percent(of.link.share_percent());
        ],
    );
    ShownTable::from(&table)
}

/// What is unknown where messages between hosts have no like to compare them with.
fn alone(context: &Context, messages: &[Exposed]) -> Option<String> {
    let most = messages.first()?.link;
    let network = &context.analysis.network;
    let description = |link: &Link| {
        let group = context.job.groups.get(link.path.group);
        group.map(|group| group.description.clone())
    };
    let has_like = network.links.iter().any(|link| {
        link.path != most.path
            && link.message == most.message
            && description(link) == description(most)
    });
    let is_alone = most.spans_hosts && !has_like && most.figure_gbps.is_none();
    is_alone.then(|| {
        "No other group moves the same messages between hosts, so there is nothing to compare this bandwidth with: one slow network card slows down the whole group. Compare it with what the network carries (`--network-gbps`), and measure hosts in pairs.".to_owned()
    })
}
