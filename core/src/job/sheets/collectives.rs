//! Sheets `collectives` and `links`: every collective of the job on the common clock, and the speed of those with the
//! same group, type and size.

use super::Input;
use super::table::{
    Body, Col, body, bytes, columns, float, int, known, long_body, ms, ms_of, text, us, us_of,
};
use crate::base::interval::sum;
use crate::job::Job;
use crate::job::analysis::network::{Link, bus_bytes, is_uneven, message_bytes};
use crate::job::analysis::timing::Timing;
use crate::job::digest::{Collective, Digest};
use crate::job::groups::Group;
use crate::job::matching::Matched;
use crate::report::sheet::Cell;

/// A collective with the data of its columns.
pub(super) struct Row<'a> {
    job: &'a Job,
    of: &'a Matched,
    /// The record of its first rank.
    digest: &'a Digest,
    first: &'a Collective,
    group: Option<&'a Group>,
    timing: Option<&'a Timing>,
    /// When the first collective of the job started.
    origin_ns: i64,
}

impl Row<'_> {
    /// The bytes that each rank sends in an all-to-all with uneven parts.
    fn contributions(&self) -> Option<Vec<f64>> {
        let rows = self.of.rows(&self.job.ranks);
        let rows = rows.map(|(rank, of)| message_bytes(&rank.digest, of));
        is_uneven(self.digest, self.first).then(|| rows.collect())?
    }

    fn bytes(&self) -> Option<f64> {
        match is_uneven(self.digest, self.first) {
            true => Some(self.contributions()?.iter().sum()),
            false => message_bytes(self.digest, self.first),
        }
    }

    fn imbalance(&self) -> Option<f64> {
        let all = self.contributions()?;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Some(all.into_iter().reduce(f64::max)? / mean)
    }

    /// Bytes divided by transfer time; a byte per nanosecond is 10⁹ bytes per second.
    fn gbps(&self, bytes: Option<f64>) -> Option<f64> {
        let ns = self.transfer_ns().filter(|ns| *ns > 0)?;
        // Without a group the number of participating ranks is unknown.
        self.group?;
        Some(bytes? / ns as f64)
    }

    fn start_ns(&self) -> Option<i64> {
        let starts = self.timing?.spans.iter().map(|(_, span)| span.start_ns);
        Some(starts.min()?.saturating_sub(self.origin_ns))
    }

    /// How long its data moved, where known.
    fn transfer_ns(&self) -> Option<i64> {
        let timing = self.timing.filter(|timing| !timing.is_impossible)?;
        Some(timing.transfer_ns)
    }

    fn waits_ns(&self) -> Option<i64> {
        Some(sum(self.timing?.waits().map(|(_, ns)| ns)))
    }

    fn last(&self) -> Option<u32> {
        let last = self.timing?.last.rank;
        self.job.number(last)
    }

    fn step(&self) -> Option<u64> {
        Some(self.job.steps.get(self.of.step?)?.number)
    }

    fn name(&self) -> &str {
        match self.digest.text(self.first.name) {
            "" => self.digest.text(self.first.kernel),
            name => name,
        }
    }
}

pub(super) fn collectives<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row:
        "start ms", Ms, |of| ms_of(of.start_ns()), "When the first rank started it, after the first collective of the job; clocks corrected.";
        "step", Count, |of| known(of.step()), "The number of the step.";
        "type", Text, |of| text(of.of.kind.label()), "What it does.";
        "name", Text, |of| text(of.name()), "What PyTorch calls it, or else its kernel.";
        "group", Text, |of| text(of.group.map_or("", |group| &group.name)), "Its process group; empty where the traces do not tell it.";
        "group description", Text, |of| text(of.group.map_or("", |group| &group.description)), "What the program calls that.";
        "pair", Text, |of| of.of.pair.map_or(Cell::Empty, |(from, to)| Cell::Text(format!("{from} to {to}"))), "Of a transfer between two ranks: from which to which.";
        "ranks", Count, |of| int(of.of.expected), "How many ranks took part.";
        "ranks read", Count, |of| int(of.of.members.len()), "How many of them were read. Of fewer than all, skew and waits are lower bounds.";
        "dtype", Text, |of| text(of.digest.text(of.first.dtype)), "Type of the elements.";
        "bytes", Count, |of| bytes(of.bytes()), "Size of the message: what a rank contributes, or receives of an all-gather; of an uneven all-to-all what all ranks contribute.";
        "imbalance", Number, |of| float(of.imbalance()), "Of an uneven all-to-all: the largest contribution over the mean one.";
        "last rank", Count, |of| known(of.last()), "The rank that started last.";
        "start skew µs", Us, |of| us_of(of.timing.map(Timing::start_skew_ns)), "From the first start to the last one.";
        "end skew µs", Us, |of| us_of(of.timing.map(Timing::end_skew_ns)), "From the first end to the last one.";
        "waiting µs", Us, |of| us_of(of.waits_ns()), "How long ranks waited for the last one, summed.";
        "transfer µs", Us, |of| us_of(of.transfer_ns()), "From the last start to the first end: when data moved. Empty where a rank ended before the last one started, which no collective can: clocks differ by more than is corrected.";
        "algorithm bandwidth GB/s", Number, |of| float(of.gbps(of.bytes())), "Bytes over transfer, in units of 10⁹ bytes a second.";
        "bus bandwidth GB/s", Number, |of| float(of.gbps(bus_bytes(of.job, of.of))), "What a link carries, comparable with its figure: algorithm bandwidth times 2 (n - 1) / n for an all-reduce of n ranks, (n - 1) / n for all-gather, reduce-scatter, all-to-all, gather and scatter, 1 for the others; of an uneven all-to-all the most that a rank sends to others or receives from them, over transfer.";
    ]
}

/// One row per collective of the job.
fn rows<'a>(input: &'a Input) -> Vec<Row<'a>> {
    let job = input.job;
    let starts = input.analysis.timings.iter().flatten();
    let starts = starts.flat_map(|timing| timing.spans.iter().map(|(_, span)| span.start_ns));
    let origin_ns = starts.min().unwrap_or(0);
    let timed = job.collectives.iter().zip(&input.analysis.timings);
    let rows = timed.filter_map(|(of, timing)| {
        let (rank, first) = of.rows(&job.ranks).next()?;
        Some(Row {
            job,
            of,
            digest: &rank.digest,
            first,
            group: of.group.and_then(|group| job.groups.get(group)),
            timing: timing.as_ref().filter(|_| job.clocks.are_comparable),
            origin_ns,
        })
    });
    rows.collect()
}

pub(super) fn collectives_body<'a>(input: &'a Input<'a>) -> Body<'a> {
    long_body(collectives(), rows(input))
}

/// The collectives with the same group and message.
pub(super) struct LinkRow<'a> {
    link: &'a Link,
    group: Option<&'a Group>,
    rows: &'a [Row<'a>],
    ratio: Option<f64>,
}

impl<'a> LinkRow<'a> {
    fn of(&self) -> impl Iterator<Item = &'a Row<'a>> {
        let rows = self.rows;
        self.link
            .collectives
            .iter()
            .filter_map(move |at| rows.get(*at))
    }
}

pub(super) fn links<'a>() -> Vec<Col<LinkRow<'a>>> {
    columns![LinkRow:
        "group", Text, |of| text(of.group.map_or("", |group| &group.name)), "The process group.";
        "group description", Text, |of| text(of.group.map_or("", |group| &group.description)), "What the program calls it.";
        "pair", Text, |of| of.link.path.pair.map_or(Cell::Empty, |(one, other)| Cell::Text(format!("{one}, {other}"))), "Of transfers between two ranks: which two.";
        "type", Text, |of| text(of.link.message.kind.label()), "What the collectives do.";
        "dtype", Text, |of| text(&of.link.message.dtype), "Type of the elements.";
        "bytes", Count, |of| known(of.link.message.bytes), "Size of the message; empty for exchanges of uneven sizes.";
        "ranks", Count, |of| int(of.link.n_ranks), "How many ranks take part.";
        "ranks read", Count, |of| int(of.link.n_read), "How many of them were read. Where not all were, transfers may include the waiting for the others: they are upper bounds, and the path is not called slow.";
        "spans hosts", Flag, |of| Cell::Flag(of.link.spans_hosts), "Whether they are on several hosts.";
        "count", Count, |of| int(of.link.collectives.len()), "How many collectives they are.";
        "transfer µs_min", Us, |of| us(of.link.min_ns), "From the last start to the first end, the shortest.";
        "transfer µs_median", Us, |of| us(of.link.median_ns), "Its median.";
        "transfer µs_p95", Us, |of| us(of.link.p95_ns), "What at least 95 % of them do not exceed.";
        "transfer ms", Ms, |of| ms(sum(of.of().filter_map(Row::transfer_ns))), "Sum of them.";
        "waiting ms", Ms, |of| ms(sum(of.of().filter_map(Row::waits_ns))), "How long ranks waited for the last one, summed.";
        "bus bandwidth GB/s", Number, |of| float(of.link.bus_gbps), "What a link carries at the median transfer, in units of 10⁹ bytes a second; of uneven sizes the median of all.";
        "link GB/s", Number, |of| float(of.link.figure_gbps), "What the link can carry one way: of the GPUs, by the table of GPUs; between hosts what was given. Empty if unknown.";
        "share of link (%)", Percent, |of| float(of.link.share_percent()), "Bus bandwidth in percent of that.";
        "times siblings", Number, |of| float(of.ratio), "Where it is slow: how many times as long it takes as the same messages of groups of the same kind.";
    ]
}

pub(super) fn links_body(input: &Input) -> Body<'static> {
    let rows = rows(input);
    let network = &input.analysis.network;
    let slow = |at: usize| {
        let mut slow = network.slow_paths.iter();
        slow.find(|path| path.links.contains(&at))
            .map(|path| path.ratio)
    };
    let links = network.links.iter().enumerate().map(|(at, link)| LinkRow {
        link,
        group: input.job.groups.get(link.path.group),
        rows: &rows,
        ratio: slow(at),
    });
    body(&self::links(), links.collect::<Vec<LinkRow>>())
}
