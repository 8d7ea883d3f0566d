//! Sheets `nccl_all2allv`, `nccl_summary_all2allv` and `nccl_all2allv_heatmap`: all-to-alls with parts of different
//! sizes.

use super::Input;
use super::by_rank::{self, ByRank, JointRow, identity, node_span};
use super::calls::{Call, Clock, Joint, Part};
use super::table::{Body, Col, body, columns, float, int, joined, known, spread, text};
use crate::base::group::grouped;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::Stats;

/// The only name that the reference includes in these sheets.
const NAME: &str = "all_to_allv";

/// The figures of an all-to-all.
pub(super) struct Exchange {
    wall_us: f64,
    durations: Stats,
    /// What ranks send, in MiB.
    given: Option<Stats>,
    throughputs: Option<Stats>,
}

/// An all-to-all with the data of its columns.
pub(super) type Row<'a> = JointRow<'a, Exchange>;

impl<'a> Row<'a> {
    fn new(joint: Joint<'a>) -> Option<Row<'a>> {
        let parts = || joint.parts.iter();
        let start_us = parts().map(|part| part.start_us).reduce(f64::min)?;
        let end_us = parts().map(|part| part.end_us).reduce(f64::max)?;
        let durations: Vec<f64> = parts().map(|part| part.dur_us).collect();
        let given = parts().map(|part| part.call.mib(part.call.of.given));
        let given: Option<Vec<f64>> = given.collect();
        let throughputs =
            parts().map(|part| per_second(part.call.mib(part.call.of.given)?, part.dur_us));
        let throughputs: Option<Vec<f64>> = throughputs.collect();
        Some(Row {
            first: joint.first()?.call,
            figures: Exchange {
                wall_us: end_us - start_us,
                durations: Stats::of(durations)?,
                given: given.and_then(Stats::of),
                throughputs: throughputs.and_then(Stats::of),
            },
            joint,
        })
    }

    fn throughput(&self) -> Option<f64> {
        per_second(self.figures.given?.sum, self.figures.wall_us)
    }

    fn imbalance(&self) -> Option<f64> {
        let given = self.figures.given?;
        Some(given.max / given.mean).filter(|of| of.is_finite())
    }

    fn elements(&self) -> Option<u64> {
        let mut given = self.joint.parts.iter().map(|part| part.call.of.given);
        given.try_fold(0_u64, |all, of| all.checked_add(of?))
    }
}

/// Converts MiB in a time to GiB per second.
fn per_second(mib: f64, us: f64) -> Option<f64> {
    let rate = mib / 1024.0 / (us / 1e6);
    Some(rate).filter(|rate| rate.is_finite())
}

pub(super) fn columns<'a>() -> ByRank<Row<'a>, Part<'a>> {
    ByRank {
        before: joined([
            identity(),
            columns![Row:
                "stream", Number, |of| known(of.first.of.stream), "The stream of the first rank's kernel.";
                "total data communicated (MB)", Number, |of| float(of.figures.given.map(|of| of.sum)), "What all ranks contribute, in units of 1024² bytes.";
                "total nelems communicated", Number, |of| known(of.elements()), "Elements that all ranks contribute.";
                "wall_time (us)", Us, |of| float(Some(of.figures.wall_us)), "From the first start to the last end.";
                "max_rank_dur (us)", Us, |of| float(Some(of.figures.durations.max)), "The longest duration of a rank.";
                "min_rank_dur (us)", Us, |of| float(Some(of.figures.durations.min)), "The shortest duration of a rank.";
                "avg_rank_dur (us)", Us, |of| float(Some(of.figures.durations.mean)), "The mean of the durations.";
                "throughput (GB/s)", Number, |of| float(of.throughput()), "What all ranks contribute over wall_time, in units of 1024³ bytes a second.";
                "max_rank_throughput (GB/s)", Number, |of| float(of.figures.throughputs.map(|of| of.max)), "What a rank contributes over its own duration, the largest of all ranks.";
                "min_rank_throughput (GB/s)", Number, |of| float(of.figures.throughputs.map(|of| of.min)), "What a rank contributes over its own duration, the smallest of all ranks.";
                "size_imbalance", Number, |of| float(of.imbalance()), "The largest contribution over the mean one.";
                "skew in start time", Us, |of| float(Some(of.joint.start_skew_us())), "From the first start to the last one.";
                "skew in end time", Us, |of| float(Some(of.joint.end_skew_us())), "From the first end to the last one.";
            ],
        ]),
        first: joined([
            by_rank::times(),
            columns![Part:
                "rank_R_In msg nelems", Number, |of| known(of.call.of.given), "Elements that rank R contributes.";
                "rank_R_Out msg nelems", Number, |of| known(of.call.of.got), "Elements that rank R receives.";
                "rank_R_In msg size (MB)", Number, |of| float(of.call.mib(of.call.of.given)), "Size of its contribution, in units of 1024² bytes.";
                "rank_R_Out msg size (MB)", Number, |of| float(of.call.mib(of.call.of.got)), "Size of what it receives, in units of 1024² bytes.";
                "rank_R_In split size", Text, |of| text(of.call.split(0)), "How its contribution is split over the ranks.";
                "rank_R_Out split size", Text, |of| text(of.call.split(1)), "How what it receives is split over the ranks.";
            ],
        ]),
        then: columns![Part:
            "rank_R_skew in start time", Us, |of| float(Some(of.since_first_us)), "How long after the first rank it started.";
            "rank_R_skew in end time", Us, |of| float(Some(of.until_last_us)), "How long before the last rank it ended.";
        ],
        behind: node_span(),
    }
}

fn rows<'a>(input: &'a Input) -> Vec<Row<'a>> {
    let joint = input.calls.joint(Clock::Raw, |name| name == NAME);
    joint.into_iter().filter_map(Row::new).collect()
}

pub(super) fn exchange_body<'a>(input: &'a Input<'a>) -> Body<'a> {
    by_rank::body(columns(), rows(input))
}

/// All-to-alls with the same group and type.
pub(super) struct Alike<'a> {
    first: &'a Call<'a>,
    n: usize,
    data: Option<Stats>,
    wall: Stats,
    throughput: Option<Stats>,
    imbalance: Option<Stats>,
    longest: Stats,
    start_skew: Stats,
    end_skew: Stats,
}

impl<'a> Alike<'a> {
    fn new(rows: &[&Row<'a>]) -> Option<Alike<'a>> {
        let of = |number: fn(&Row<'a>) -> Option<f64>| by_rank::stats(rows, number);
        Some(Alike {
            first: rows.first()?.first,
            n: rows.len(),
            data: of(|row| Some(row.figures.given?.sum)),
            wall: of(|row| Some(row.figures.wall_us))?,
            throughput: of(Row::throughput),
            imbalance: of(Row::imbalance),
            longest: of(|row| Some(row.figures.durations.max))?,
            start_skew: of(|row| Some(row.joint.start_skew_us()))?,
            end_skew: of(|row| Some(row.joint.end_skew_us()))?,
        })
    }
}

pub(super) fn summary<'a>() -> Vec<Col<Alike<'a>>> {
    let identity = columns![Alike:
        "Process Group Name", Text, |of| text(of.first.group), "The group of ranks that took part.";
        "dtype", Text, |of| text(of.first.dtype()), "Type of the elements.";
    ];
    let data = spread![Alike: "total data communicated (MB)", Number, |of| of.data, "What all ranks contribute, in units of 1024² bytes"];
    let wall = spread![Alike: "wall_time (us)", Us, |of| Some(of.wall), "From the first start to the last end"];
    let sum = columns![Alike:
        "Total wall_time (us)", Us, |of| float(Some(of.wall.sum)), "Sum of wall_time.";
    ];
    let throughput = spread![Alike: "throughput (GB/s)", Number, |of| of.throughput, "What all ranks contribute over wall_time, in units of 1024³ bytes a second"];
    let rest = columns![Alike:
        "size_imbalance_mean", Number, |of| float(of.imbalance.map(|of| of.mean)), "The largest contribution over the mean one: mean.";
        "size_imbalance_max", Number, |of| float(of.imbalance.map(|of| of.max)), "Maximum.";
        "max_rank_dur (us)_mean", Us, |of| float(Some(of.longest.mean)), "The longest duration of a rank: mean.";
        "max_rank_dur (us)_max", Us, |of| float(Some(of.longest.max)), "Maximum.";
        "skew in start time_mean", Us, |of| float(Some(of.start_skew.mean)), "From the first start to the last one: mean.";
        "skew in start time_max", Us, |of| float(Some(of.start_skew.max)), "Maximum.";
        "skew in end time_mean", Us, |of| float(Some(of.end_skew.mean)), "From the first end to the last one: mean.";
        "skew in end time_max", Us, |of| float(Some(of.end_skew.max)), "Maximum.";
        "count", Count, |of| int(of.n), "Number of exchanges.";
        "Process Group Ranks", Text, |of| text(&of.first.ranks_text()), "The ranks of the group.";
        "Collective name", Text, |of| text(of.first.name), "Kind of collective.";
        "Group size", Number, |of| known(of.first.group_size()), "How many ranks the group has.";
        "Total wall_time (ms)", Ms, |of| float(Some(of.wall.sum / 1e3)), "Sum of wall_time in milliseconds.";
        "node_span", Text, |of| text(of.first.node_span), "Whether the group is of one node (intra_node) or several (inter_node).";
    ];
    joined([identity, data, wall, sum, throughput, rest])
}

pub(super) fn summary_body(input: &Input) -> Body<'static> {
    let rows = rows(input);
    let groups = by_rank::alike(&rows, |row| {
        (row.first.group, row.first.ranks, row.first.dtype())
    });
    let alike = groups
        .iter()
        .filter_map(|rows| Alike::new(rows))
        .arranged_by(|one, other| other.wall.sum.total_cmp(&one.wall.sum));
    body(&summary(), alike)
}

/// What one rank sends to another.
pub(super) struct Sent {
    from: u32,
    to: u32,
    n: usize,
    mib: f64,
}

pub(super) fn heatmap() -> Vec<Col<Sent>> {
    columns![Sent:
        "src_rank", Count, |of| int(of.from), "The rank that sends, by its number in the job.";
        "dst_rank", Count, |of| int(of.to), "The rank that receives, by its number in the job.";
        "total_sent_MB", Number, |of| float(Some(of.mib)), "What it sends in all exchanges of nccl_all2allv, in units of 1024² bytes.";
        "avg_sent_MB", Number, |of| float(Some(of.mib / of.n as f64)), "That for each exchange.";
        "count", Count, |of| int(of.n), "In how many exchanges both take part.";
    ]
}

pub(super) fn heatmap_body(input: &Input) -> Body<'static> {
    let joint = input.calls.joint(Clock::Raw, |name| name == NAME);
    let calls = joint
        .iter()
        .flat_map(|joint| joint.parts.iter().map(|part| part.call));
    let sent = calls.flat_map(|call| {
        let pieces = pieces(call.split(0)).unwrap_or_default();
        let ranks = call.ranks.filter(|ranks| ranks.len() == pieces.len());
        let to = ranks.unwrap_or_default().iter().zip(pieces);
        to.filter_map(|(to, elements)| Some(((call.rank.number, *to), call.mib(Some(elements))?)))
    });
    let mut pairs: Vec<(Pair, Vec<f64>)> = grouped(sent, Vec::push);
    pairs.arrange_by_key(|(pair, _)| *pair);
    let rows = pairs.into_iter().map(|((from, to), sizes)| Sent {
        from,
        to,
        n: sizes.len(),
        mib: sizes.iter().sum(),
    });
    body(&heatmap(), rows)
}

/// The sending and the receiving rank.
type Pair = (u32, u32);

/// The numbers of a list, `[10, 20]`; `None` if it was truncated or is not a list.
pub(super) fn pieces(list: &str) -> Option<Vec<u64>> {
    let list = list.strip_prefix('[')?.strip_suffix(']')?.trim();
    if list.is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(|one| one.trim().parse().ok()).collect()
}
