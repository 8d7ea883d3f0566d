//! What messages have in common that makes them expensive: small ones, wider types than the computation has, groups
//! that span hosts.

use super::assess::Facts;
use super::waiting;
use crate::base::format;
use crate::base::interval::sum;
use crate::names::collective::Purpose;
use crate::profile::collectives::Collectives;

/// Why communication takes long, if its messages show it. It leads the advice, and is the first reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Ranks wait for one that comes later.
    Late,
    /// Tensor parallelism in groups that span hosts.
    AcrossHosts,
    /// Small messages, whose time is latency.
    Small,
    /// FP32 messages of a computation in 16 bits or fewer.
    Wide,
}

impl Reason {
    pub(super) fn of(facts: &Facts) -> Option<Reason> {
        if waiting::most(facts).is_some() {
            return Some(Reason::Late);
        }
        let is_split = facts.collectives.purpose == Some(Purpose::Tensors);
        // Smaller buckets shorten what is left of gradients that overlap already.
        let is_last_bucket =
            facts.collectives.purpose == Some(Purpose::Gradients) && facts.is_mostly_hidden();
        let is_most = |is_it: fn(&Facts, &Collectives) -> bool| most(facts, is_it).is_some();
        if is_split && is_most(|_, group| group.key.spans_hosts) {
            Some(Reason::AcrossHosts)
        } else if is_most(is_small) {
            Some(Reason::Small)
        } else if is_most(is_wide) && !is_last_bucket {
            Some(Reason::Wide)
        } else {
            None
        }
    }

    /// A sentence about it.
    pub(super) fn sentence(self, facts: &Facts) -> Option<String> {
        match self {
            Reason::Late => waiting::sentence(facts),
            Reason::AcrossHosts => None,
            Reason::Small => small(facts),
            Reason::Wide => wide(facts),
        }
    }
}

/// The groups of equal collectives for which a condition holds, if most of the exposed time is theirs.
fn most(facts: &Facts, is_it: fn(&Facts, &Collectives) -> bool) -> Option<Vec<&Collectives>> {
    let groups = &facts.collectives.groups;
    let of_it: Vec<&Collectives> = groups.iter().filter(|group| is_it(facts, group)).collect();
    let all_ns = sum(groups.iter().map(|group| group.exposed_ns));
    (sum(of_it.iter().map(|group| group.exposed_ns)) > all_ns / 2).then_some(of_it)
}

/// The bandwidth that larger messages of the same ranks would reach, in GB/s: that of the links within a host,
/// otherwise the highest of the trace.
fn reachable_gbps(facts: &Facts, of: &Collectives) -> Option<f64> {
    let links = facts.links.filter(|_| !of.key.spans_hosts);
    let link = links.map(|links| links.gbps_among(of.key.group_size));
    let alike = |group: &&Collectives| {
        let (one, other) = (&group.key, &of.key);
        one.spans_hosts == other.spans_hosts && one.group_size == other.group_size
    };
    let alike = facts.collectives.groups.iter().filter(alike);
    let highest = || {
        alike
            .filter_map(Collectives::bus_bandwidth)
            .reduce(f64::max)
    };
    link.or_else(highest).filter(|gbps| *gbps > 0.0)
}

/// Whether equal messages are small, far below the bandwidth of their links, and take about the same time each, so that
/// it is neither transfer nor waiting.
fn is_small(facts: &Facts, of: &Collectives) -> bool {
    const SMALL_BYTES: f64 = 4e6;
    const LITTLE: f64 = 0.1;
    /// What takes longer waits for other ranks.
    const MOST_LATENCY_NS: i64 = 200_000;
    /// Waiting makes times differ: at most a quarter of the time is beyond the median.
    const LEAST_PART: i64 = 4;
    let bytes = of.message_bytes();
    let bandwidth = of.bus_bandwidth().zip(reachable_gbps(facts, of));
    of.key.kind.waits_for_all()
        && bytes.is_some_and(|bytes| bytes < SMALL_BYTES)
        && bandwidth.is_some_and(|(gbps, reachable)| gbps < LITTLE * reachable)
        && of.median_ns <= MOST_LATENCY_NS
        && of.excess_ns < of.time_ns / LEAST_PART
}

/// Whether messages are in FP32 although the GEMMs are not. A statistic or a loss is small.
fn is_wide(facts: &Facts, of: &Collectives) -> bool {
    const LEAST_BYTES: f64 = 1e6;
    let is_large = of.message_bytes().is_some_and(|bytes| bytes >= LEAST_BYTES);
    let is_of_parameters = match facts.collectives.purpose {
        Some(Purpose::Gradients | Purpose::Fsdp | Purpose::Shards) => true,
        Some(Purpose::Unknown) => facts.is_training,
        _ => false,
    };
    let is_fp32 = of.key.dtype.as_deref() == Some("Float");
    is_fp32 && is_large && is_of_parameters && facts.is_narrow
}

fn small(facts: &Facts) -> Option<String> {
    let groups = most(facts, is_small)?;
    let first = groups.first()?;
    let bytes = first.message_bytes()?;
    let reachable = reachable_gbps(facts, first)?;
    let gbps = first.bus_bandwidth().filter(|gbps| *gbps > 0.0)?;
    let transfer_ns = first.median_ns as f64 * gbps / reachable;
    let further = match groups.len() {
        1 => String::new(),
        n => format!(", and {} more kinds of small messages", n - 1),
    };
    Some(format!(
        "Latency decides: {} of {} ({}) take {} each, of which transfer at the bandwidth of the links is {}{further}. Fewer, larger messages take less.",
        format::counted(first.count, "message"),
        format::bytes(bytes as u64),
        first.key.kind.label(),
        format::time_ns(first.median_ns),
        format::time_ns(transfer_ns.round() as i64),
    ))
}

fn wide(facts: &Facts) -> Option<String> {
    let groups = most(facts, is_wide)?;
    let all_ns = facts.of_one_gpu(sum(groups.iter().map(|group| group.time_ns)));
    let (low_ns, high_ns) = saved_by_16_bits(facts)?;
    Some(format!(
        "{} of it moves FP32 although the GEMMs are in BF16, FP16 or narrower types: 16-bit messages are half as large and save {}, as far as it is transfer.",
        format::time_ns(all_ns),
        format::time_range_ns(low_ns, high_ns)
    ))
}

/// What messages of half the size save: half of their exposed time if they overlap as little as now, and at most half
/// of their whole time, if what overlaps now goes on doing so.
pub(super) fn saved_by_16_bits(facts: &Facts) -> Option<(i64, i64)> {
    let groups = most(facts, is_wide)?;
    let exposed_ns = sum(groups.iter().map(|group| group.exposed_ns));
    let all_ns = sum(groups.iter().map(|group| group.time_ns));
    let exposed_ns = facts.of_one_gpu(exposed_ns);
    let high_ns = exposed_ns.min(facts.of_one_gpu(all_ns) / 2);
    Some((exposed_ns / 2, high_ns.max(exposed_ns / 2)))
}

/// Whether groups that span hosts have most of the exposed time; otherwise their links are not those of the GPU.
pub(super) fn are_across_hosts(facts: &Facts) -> bool {
    most(facts, |_, group| group.key.spans_hosts).is_some()
}
