//! The evidence as tables: ranks and hosts, collectives, layout and groups, clocks.

use std::cmp::Reverse;

use super::{Context, name, steps_of};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::sort::{Arrange, Arranged, FirstMax};
use crate::base::stats::median_ns;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::cause::Cause;
use crate::job::analysis::delay::Delay;
use crate::job::analysis::network::Link;
use crate::job::analysis::roles::{described, stride};
use crate::job::analysis::timing::Timing;
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::ShownTable;
use crate::job::clocks::Clock;
use crate::job::digest::{GpuTime, Step};
use crate::job::sheets::Waits;
use crate::job::{Analysis, Job, Rank};

/// Maximum number of rows of the tables of links and of groups; the sheets have all.
const MOST_ROWS: usize = 100;

/// The saving is only computed for this many hosts, those with the slowest ranks, because each one replays the job.
const MOST_HOSTS: usize = 16;

/// All tables, most important first.
pub(super) fn of(context: &Context) -> Vec<ShownTable> {
    let Context { job, analysis, .. } = context;
    let mut tables = vec![ranks(context)];
    if job.hosts.len() > 1 {
        tables.push(hosts(context));
    }
    let others = [
        links(job, analysis),
        layout(analysis),
        groups(job, analysis),
        clocks(job),
    ];
    tables.extend(others.iter().map(ShownTable::from));
    tables
}

/// A rank with the data of its row.
struct RankRow<'a> {
    at: usize,
    rank: &'a Rank,
    delay: Option<&'a Delay>,
    /// The cause with the largest saving.
    cause: Option<&'a Cause>,
    /// Over all steps; `None` where unknown.
    waits: Option<Waits>,
}

/// Sorted so that the ranks that delay others the most come first.
fn rank_rows<'a>(context: &Context<'a>) -> Vec<RankRow<'a>> {
    let Context {
        job,
        analysis,
        waits,
    } = context;
    let rows = job.ranks.iter().enumerate().map(|(at, rank)| {
        let of_steps = (0..job.steps.len()).filter_map(|step| waits.get(&(at, step)).copied());
        RankRow {
            at,
            rank,
            delay: analysis.delays.of_ranks.get(at),
            // Causes are sorted by saving, so this is the largest.
            cause: analysis.causes.iter().find(|cause| cause.rank == at),
            waits: of_steps.reduce(Waits::and),
        }
    });
    rows.arranged_by_key(|row| {
        let saving_ns = row.cause.and_then(|cause| cause.saving_ns).unwrap_or(0);
        (Reverse(saving_ns), Reverse(row.delay_ns()), row.rank.number)
    })
}

impl RankRow<'_> {
    fn delay_ns(&self) -> i64 {
        self.delay.map_or(0, |delay| delay.excess.total_ns)
    }
}

/// One row per rank; times are averages per step.
fn ranks(context: &Context) -> ShownTable {
    let Context { job, analysis, .. } = context;
    let n_steps = job.steps.len().max(1) as i64;
    let of_step = |ns: Option<i64>| Value::ns(ns.map(|ns| ns / n_steps));
    let mean = |at: usize, of: &dyn Fn(&Step) -> i64| {
        let all: Vec<i64> = steps_of(job, at).flatten().map(of).collect();
        match i64::try_from(all.len()) {
            Ok(n) if n > 0 => Value::Ns(all.iter().sum::<i64>() / n),
            _ => Value::NO_NS,
        }
    };
    // Without a GPU there are no GPU times.
    let on_gpu = |row: &RankRow, of: &dyn Fn(&GpuTime) -> i64| match row.rank.digest.gpu {
        Some(_) => mean(row.at, &|step| of(&step.gpu)),
        None => Value::NO_NS,
    };
    let rows = rank_rows(context);
    let numbers = rows.iter().map(|row| Some(row.rank.number)).collect();
    let table = Table::of(
        "ranks",
        "Ranks, times of a step on average",
        rows,
        cell_columns![
            "rank", "Rank", |row| Value::Count(u64::from(row.rank.number));
            "host", "Host", |row| Value::Text(name(job, row.rank).host);
            "cause", "Cause", |row| match row.cause {
                Some(cause) => Value::Text(cause.why.brief(job)),
                None => Value::Text(String::new()),
            };
            "worth", "Can save", |row| of_step(row.cause.and_then(|cause| cause.saving_ns));
            "delay", "Delay caused", |row| of_step(row.delay.map(|delay| delay.excess.total_ns));
            "last", "Last to start", |row| {
                let share = row.waits.map(|of| (of.last as i64, of.waiting as i64));
                Value::percent(share.and_then(|(last, of)| percent_of(last, of)))
            };
            "caused", "Waits caused", |row| of_step(row.waits.map(|of| of.caused_ns));
            "waiting", "Waiting", |row| of_step(row.waits.map(|of| of.waited_ns));
            "same_work", "Same kernels", |row| {
                let same = analysis.same_work.of_ranks.get(row.at);
                Value::number(same.and_then(|same| same.ratio()))
            };
            "step", "Step", |row| match row.rank.digest.gpu {
                Some(_) => mean(row.at, &|step| step.gpu.span.length()),
                None => mean(row.at, &|step| step.host.length()),
            };
            "computation", "Computation", |row| on_gpu(row, &|gpu| gpu.computation_ns);
            "exposed", "Exposed communication", |row| on_gpu(row, &|gpu| gpu.exposed_comm_ns);
            "idle", "Idle", |row| on_gpu(row, &|gpu| gpu.idle_ns);
            "file", "File", |row| Value::Quoted(row.rank.digest.file.name.clone());
            "told_by", "Rank from", |row| Value::Text(row.rank.digest.identity.rank_from.label().to_owned());
        ],
    );
    ShownTable {
        ranks: numbers,
        ..ShownTable::from(&table)
    }
}

/// A host with the data of its row.
struct HostRow<'a> {
    name: &'a str,
    n_ranks: usize,
    /// Its rank that causes the most delay.
    slowest: Option<(u32, i64)>,
    /// The saving per step if all of its ranks kept up, or had no cause to delay others; `None` where unknown.
    saving_ns: Option<i64>,
}

/// One row per host, for jobs with several.
fn hosts(context: &Context) -> ShownTable {
    let rows = host_rows(context.job, context.analysis);
    let numbers = rows.iter().map(|row| Some(row.slowest?.0)).collect();
    let table = Table::of(
        "hosts",
        "Hosts, times of a step on average",
        rows,
        cell_columns![
            "host", "Host", |row| Value::Text(row.name.to_owned());
            "worth", "Can save if all its ranks keep up", |row| Value::ns(row.saving_ns);
            "slowest", "Slowest rank", |row| {
                let slowest = row.slowest;
                slowest.map_or(Value::Empty, |(rank, _)| Value::Count(u64::from(rank)))
            };
            "delay", "Delay it causes", |row| Value::ns(row.slowest.map(|(_, ns)| ns));
            "ranks", "Ranks", |row| Value::Count(row.n_ranks as u64);
        ],
    );
    ShownTable {
        ranks: numbers,
        ..ShownTable::from(&table)
    }
}

/// The rows of hosts, those that can save most first.
fn host_rows<'a>(job: &'a Job, analysis: &Analysis) -> Vec<HostRow<'a>> {
    let n_steps = job.steps.len().max(1) as i64;
    let delay_ns = |at: usize| {
        let delay = analysis.delays.of_ranks.get(at);
        delay.map_or(0, |delay| delay.excess.total_ns / n_steps)
    };
    let rows = job.hosts.iter().enumerate().map(|(host, name)| {
        let own = job.ranks.iter().enumerate();
        let own = own.filter(|(_, rank)| rank.host == host);
        let delays: Vec<(u32, i64)> = own.map(|(at, rank)| (rank.number, delay_ns(at))).collect();
        let slowest = delays.iter().copied().first_max_by_key(|one| one.1);
        let row = HostRow {
            name,
            n_ranks: delays.len(),
            slowest: slowest.filter(|(_, ns)| *ns > 0),
            saving_ns: None,
        };
        (host, row)
    });
    let by_delay = |row: &HostRow| Reverse(row.slowest.map_or(0, |(_, ns)| ns));
    let mut rows = rows.arranged_by_key(|(host, row)| (by_delay(row), *host));
    for (host, row) in rows.iter_mut().take(MOST_HOSTS) {
        row.saving_ns = saving_of_host(job, analysis, *host);
    }
    rows.arrange_by_key(|(host, row)| (Reverse(row.saving_ns), by_delay(row), *host));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What fixing a host would save in each step. Without the same work on another host there is nothing to compare with;
/// then it is the saving of fixing the causes of its ranks.
fn saving_of_host(job: &Job, analysis: &Analysis, host: usize) -> Option<i64> {
    let gain = analysis.gain(job, WhatIf::HostKeepsUp(host));
    let own = analysis.causes.iter().filter(|cause| {
        let rank = job.ranks.get(cause.rank);
        rank.is_some_and(|rank| rank.host == host)
    });
    let mut changes: Vec<WhatIf> = Vec::new();
    for change in own.filter_map(Cause::change) {
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let of_causes = analysis.gain_of_all(job, &changes);
    let gains = gain.into_iter().chain(of_causes);
    let most_ns = gains.map(|gain| gain.per_step_ns()).max();
    most_ns.filter(|ns| *ns > 0)
}

/// How fast the data moved, largest total time first.
fn links(job: &Job, analysis: &Analysis) -> Table {
    let mut links: Vec<&Link> = analysis.network.links.iter().collect();
    let all_ns = |link: &Link| link.median_ns.saturating_mul(link.collectives.len() as i64);
    links.arrange_by_largest(|link| all_ns(link));
    links.truncate(MOST_ROWS);
    Table::of(
        "links",
        "Collectives by group and size",
        links,
        cell_columns![
            "what", "Message", |link| Value::Text(link.label());
            "between", "Between", |link| Value::Text(link.ranks_label(job));
            "ranks", "Ranks", |link| Value::Count(link.n_ranks as u64);
            "read", "Ranks read", |link| Value::Count(link.n_read as u64);
            "spans_hosts", "Over hosts", |link| Value::Flag(link.spans_hosts);
            "count", "Count", |link| Value::Count(link.collectives.len() as u64);
            "median", "Transfer, median", |link| Value::Ns(link.median_ns);
            "p95", "95th percentile", |link| Value::Ns(link.p95_ns);
            "skew", "Start skew, median", |link| {
                let timings = link.collectives.iter();
                let timings = timings.filter_map(|at| analysis.timings.get(*at)?.as_ref());
                Value::ns(median_ns(timings.map(Timing::start_skew_ns).collect()))
            };
            "bus", "Bus bandwidth", |link| Value::gbps(link.bus_gbps);
            "share", "% of link", |link| Value::percent(link.share_percent());
        ],
    )
}

fn layout(analysis: &Analysis) -> Table {
    Table::of(
        "layout",
        "Layout",
        &analysis.layout.dimensions,
        cell_columns![
            "role", "Dimension", |of| Value::Text(described(of.role, of.size, of.stride));
            "size", "Ranks in a group", |of| Value::Count(of.size as u64);
            "groups", "Groups", |of| Value::Count(of.n_groups as u64);
            "stride", "Rank stride", |of| of.stride.map_or(Value::Empty, |stride| Value::Count(u64::from(stride)));
            "spans_hosts", "Over hosts", |of| Value::Flag(of.spans_hosts);
        ],
    )
}

/// The role of each process group, and what it was derived from.
fn groups(job: &Job, analysis: &Analysis) -> Table {
    let n = job.groups.len();
    let title = match n > MOST_ROWS {
        true => format!(
            "Process groups, the first {MOST_ROWS} of {}",
            format::count(n as u64)
        ),
        false => "Process groups".to_owned(),
    };
    let by_group = job.by_group();
    let groups = job.groups.iter().zip(&analysis.layout.roles).zip(&by_group);
    Table::of(
        "groups",
        title,
        groups.take(MOST_ROWS),
        cell_columns![
            "group", "Group", |((group, _), _)| Value::Text(group.label());
            "role", "Dimension", |((group, role), _)| Value::Text(described(role.role, group.ranks.len(), stride(group)));
            "told_by", "Inferred from", |((_, role), _)| Value::Text(role.evidence.label().to_owned());
            "ranks", "Ranks", |((group, _), _)| {
                let numbers = format::joined(group.ranks.iter(), ", ");
                Value::Text(format::middle_ellipsis(&numbers, 40))
            };
            "read", "Read", |((group, _), _)| Value::Text(format!("{} of {}", group.members.len(), group.ranks.len()));
            "spans_hosts", "Over hosts", |((group, _), _)| Value::Flag(group.spans_hosts(&job.ranks));
            "count", "Collectives", |(_, own)| Value::Count(own.len() as u64);
        ],
    )
}

/// One row per host: ranks of a host share a clock.
fn clocks(job: &Job) -> Table {
    let hosts = job.hosts.iter().enumerate().map(|(host, name)| {
        let ranks = job.ranks.iter().zip(&job.clocks.of_rank);
        let own = ranks.filter(move |(rank, _)| rank.host == host);
        (name, own.map(|(_, clock)| *clock).collect::<Vec<Clock>>())
    });
    let first = |clocks: &[Clock], of: fn(&Clock) -> f64| {
        Value::ns(clocks.first().map(|clock| of(clock).round() as i64))
    };
    Table::of(
        "clocks",
        "Clocks",
        hosts,
        cell_columns![
            "host", "Host", |(name, _)| Value::Text((*name).clone());
            "ranks", "Ranks", |(_, clocks)| Value::Count(clocks.len() as u64);
            "offset", "Offset (ahead of the first rank)", |(_, clocks)| first(clocks, |clock| clock.offset_ns);
            "spread", "Uncertainty (±)", |(_, clocks)| first(clocks, |clock| clock.spread_ns);
        ],
    )
}
