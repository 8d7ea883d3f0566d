//! Sheets `nccl_implicit_sync`, `nccl_summary_implicit_sync` and `straggler_summary`: collectives that no rank leaves
//! before the last one has arrived, which ranks waited in them, and for how long.

use super::Input;
use super::by_rank::{self, ByRank, JointRow, identity, node_span};
use super::calls::{Clock, Joint, Part};
use super::table::{Body, Col, body, columns, float, int, joined, known, spread, text};
use crate::base::map::Map;
use crate::base::sort::{Arranged, FirstMax};
use crate::base::stats::Stats;
use crate::base::value::rounded;
use crate::job::Rank;
use crate::names::collective::CollectiveKind;

/// The names that the reference includes in these sheets.
const NAMES: [&str; 11] = [
    "allreduce",
    "allreduce_coalesced",
    "reducescatter",
    "_reduce_scatter_base",
    "reduce_scatter_tensor_coalesced",
    "allgather",
    "all_gather",
    "_allgather_base",
    "all_gather_into_tensor_coalesced",
    "allgather_into_tensor_coalesced",
    "all_to_all",
];

/// The figures of a collective.
pub(super) struct Skew {
    skew_us: f64,
    end_skew_us: f64,
    latency_us: f64,
    wait_us: f64,
    earliest: u32,
    kind: CollectiveKind,
}

/// A collective with the data of its columns.
pub(super) type Row<'a> = JointRow<'a, Skew>;

impl<'a> Row<'a> {
    fn new(joint: Joint<'a>) -> Option<Row<'a>> {
        let first = joint.first()?.call;
        let parts = joint.parts.iter();
        let earliest = parts.first_max_by_key(|part| part.wait_us)?;
        let waits: f64 = joint.parts.iter().map(|part| part.wait_us).sum();
        let durations = joint.parts.iter().map(|part| part.dur_us);
        Some(Row {
            first,
            figures: Skew {
                earliest: earliest.call.rank.number,
                skew_us: joint.start_skew_us(),
                end_skew_us: joint.end_skew_us(),
                latency_us: durations.reduce(f64::min)?,
                wait_us: waits / joint.parts.len() as f64,
                kind: CollectiveKind::of_name(first.name),
            },
            joint,
        })
    }

    /// What the reference uses as the size of the message.
    fn mib(&self) -> Option<f64> {
        self.first.mib(match self.figures.kind {
            CollectiveKind::AllGather => self.first.of.got,
            _ => self.first.of.given,
        })
    }

    /// In GiB per second, as in the reference.
    fn algorithm_bandwidth(&self) -> Option<f64> {
        let bandwidth = self.mib()? / 1024.0 / (self.figures.latency_us / 1e6);
        Some(bandwidth).filter(|bandwidth| bandwidth.is_finite())
    }

    fn bus_bandwidth(&self) -> Option<f64> {
        let size = f64::from(self.first.group_size()?);
        Some(self.algorithm_bandwidth()? * self.figures.kind.bus_factor(size)?)
    }
}

pub(super) fn columns<'a>() -> ByRank<Row<'a>, Part<'a>> {
    ByRank {
        before: joined([
            identity(),
            columns![Row:
                "In msg nelems", Number, |of| known(of.first.of.given), "Elements that each contributes.";
                "Out msg nelems", Number, |of| known(of.first.of.got), "Elements that each receives.";
                "In msg size (MB)", Number, |of| float(of.first.mib(of.first.of.given)), "Size of the contribution, in units of 1024² bytes.";
                "Out msg size (MB)", Number, |of| float(of.first.mib(of.first.of.got)), "Size of what is received, in units of 1024² bytes.";
                "Full msg size (MB)", Number, |of| float(of.mib()), "The larger of the two: what is received of an all-gather, else the contribution.";
                "comm_latency", Us, |of| float(Some(of.figures.latency_us)), "The shortest duration of all ranks: that of the rank that waited least.";
                "skew in start time", Us, |of| float(Some(of.figures.skew_us)), "From the first start to the last one.";
                "earliest arrival rank", Count, |of| int(of.figures.earliest), "The rank that started first.";
                "avg_wait_time", Us, |of| float(Some(of.figures.wait_us)), "Mean of the ranks' waits for the last one.";
                "skew in end time", Us, |of| float(Some(of.figures.end_skew_us)), "From the first end to the last one.";
                "algo bw (GB/s)", Number, |of| float(of.algorithm_bandwidth()), "Full message size over comm_latency, in units of 1024³ bytes a second.";
                "bus bw (GB/s)", Number, |of| float(of.bus_bandwidth()), "That times 2 (n - 1) / n for an all-reduce of n ranks, (n - 1) / n for the others: what the links carry.";
            ],
        ]),
        first: by_rank::times(),
        then: columns![Part:
            "rank_R_wait_time", Us, |of| float(Some(of.wait_us)), "How long rank R waited for the last one to start.";
        ],
        behind: node_span(),
    }
}

/// The rows on a clock; empty for the common clock if clocks cannot be compared.
fn rows<'a>(input: &'a Input, clock: Clock) -> Vec<Row<'a>> {
    if clock == Clock::Corrected && !input.job.clocks.are_comparable {
        return Vec::new();
    }
    let joint = input.calls.joint(clock, |name| NAMES.contains(&name));
    joint.into_iter().filter_map(Row::new).collect()
}

pub(super) fn sync_body<'a>(input: &'a Input<'a>, clock: Clock) -> Body<'a> {
    by_rank::body(columns(), rows(input, clock))
}

/// Collectives with the same name, type and size.
pub(super) struct Alike<'a> {
    rows: Vec<&'a Row<'a>>,
    first: &'a Row<'a>,
    latency: Stats,
    skew: Stats,
    end_skew: Stats,
    algorithm: Option<Stats>,
    bus: Option<Stats>,
}

impl<'a> Alike<'a> {
    fn new(rows: Vec<&'a Row<'a>>) -> Option<Alike<'a>> {
        let of = |number: fn(&Row<'a>) -> Option<f64>| by_rank::stats(&rows, number);
        Some(Alike {
            first: rows.first()?,
            latency: of(|row| Some(row.figures.latency_us))?,
            skew: of(|row| Some(row.figures.skew_us))?,
            end_skew: of(|row| Some(row.figures.end_skew_us))?,
            algorithm: of(Row::algorithm_bandwidth),
            bus: of(Row::bus_bandwidth),
            rows,
        })
    }
}

pub(super) fn summary<'a>() -> Vec<Col<Alike<'a>>> {
    let identity = columns![Alike:
        "Collective name", Text, |of| text(of.first.first.name), "What the ranks did.";
        "dtype", Text, |of| text(of.first.first.dtype()), "Type of the elements.";
        "In msg nelems", Number, |of| known(of.first.first.of.given), "Elements that each rank contributes.";
        "Process Group Name", Text, |of| text(of.first.first.group), "The group of the first of them; others of the same name, type and size count here, too. By group: links.";
        "Group size", Number, |of| known(of.first.first.group_size()), "How many ranks took part in the first of them.";
        "Full msg size (MB)", Number, |of| float(of.first.mib()), "Size of the message, in units of 1024² bytes.";
    ];
    let spreads = [
        spread![Alike: "comm_latency", Us, |of| Some(of.latency), "The shortest duration of all ranks"],
        spread![Alike: "skew in start time", Us, |of| Some(of.skew), "From the first start to the last one"],
        spread![Alike: "skew in end time", Us, |of| Some(of.end_skew), "From the first end to the last one"],
        spread![Alike: "algo bw (GB/s)", Number, |of| of.algorithm, "Full message size over comm_latency, in units of 1024³ bytes a second"],
        spread![Alike: "bus bw (GB/s)", Number, |of| of.bus, "What the links carry, in units of 1024³ bytes a second"],
    ];
    let sums = columns![Alike:
        "count", Count, |of| int(of.rows.len()), "How many collectives they are.";
        "Total comm latency (ms)", Ms, |of| float(Some(of.latency.sum / 1e3)), "Sum of comm_latency.";
    ];
    joined([identity, joined(spreads), sums])
}

pub(super) fn summary_body(input: &Input) -> Body<'static> {
    let rows = rows(input, Clock::Raw);
    let groups = by_rank::alike(&rows, |row| {
        (row.first.name, row.first.dtype(), row.first.of.given)
    });
    let alike = groups
        .into_iter()
        .filter_map(Alike::new)
        .arranged_by(|one, other| other.latency.sum.total_cmp(&one.latency.sum));
    body(&summary(), alike)
}

/// How long a rank waited in these collectives.
pub(super) struct Straggler<'a> {
    rank: &'a Rank,
    wait_us: f64,
    n_own: usize,
    n_last: usize,
    n_first: usize,
    /// Over the whole job.
    n_all: usize,
    communication_ns: i64,
    node: Option<i64>,
}

pub(super) fn stragglers<'a>() -> Vec<Col<Straggler<'a>>> {
    columns![Straggler:
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "total_wait_time_us", Us, |of| tenths(of.wait_us), "How long it waited for the last rank to start, in all collectives of nccl_implicit_sync.";
        "mean_wait_time_us", Us, |of| tenths(of.wait_us / of.n_own as f64), "That for each of those it takes part in.";
        "times_arrived_last", Count, |of| int(of.n_last), "In how many of them it started last.";
        "times_arrived_first", Count, |of| int(of.n_first), "In how many of them it started first.";
        "pct_arrived_last", Percent, |of| tenths(100.0 * of.n_last as f64 / of.n_all as f64), "Share of the collectives of the whole job in which it started last, those it takes no part in included.";
        "num_collectives", Count, |of| int(of.n_all), "Collectives of the whole job.";
        "total_nccl_dur_us", Us, |of| tenths(of.communication_ns as f64 / 1e3), "Durations of all rows of the rank in nccl_long.";
        "node_id", Number, |of| known(of.node), "Its node; empty where the traces do not tell.";
    ]
}

fn tenths(number: f64) -> crate::report::sheet::Cell {
    float(Some(rounded(number, 1)))
}

/// The ranks that waited the least and that started last the most often. The reference blames the rank that waited the
/// least; since waits propagate through other groups, that need not be the cause.
pub(super) fn straggler_body(input: &Input, clock: Clock) -> Body<'static> {
    let rows = rows(input, clock);
    let mut of_ranks: Map<usize, Waits> = Map::default();
    for row in &rows {
        let parts = row.joint.parts.iter();
        let last = parts.first_max_by_key(|part| -part.wait_us);
        for part in &row.joint.parts {
            let of_rank = of_ranks.entry(part.call.member.rank).or_default();
            let is = |other: u32| usize::from(part.call.rank.number == other);
            of_rank.us += part.wait_us;
            of_rank.n += 1;
            of_rank.n_last += last.map_or(0, |last| is(last.call.rank.number));
            of_rank.n_first += is(row.figures.earliest);
        }
    }
    let mut communication: Map<usize, i64> = Map::default();
    for call in &input.calls.all {
        let all_ns = communication.entry(call.member.rank).or_default();
        *all_ns = all_ns.saturating_add(call.dur_ns());
    }
    let stragglers = input.job.ranks.iter().enumerate().filter_map(|(at, rank)| {
        let waits = of_ranks.remove(&at)?;
        Some(Straggler {
            rank,
            wait_us: waits.us,
            n_own: waits.n,
            n_last: waits.n_last,
            n_first: waits.n_first,
            n_all: rows.len(),
            communication_ns: communication.get(&at).copied().unwrap_or(0),
            node: input.calls.nodes.of(rank.number),
        })
    });
    let stragglers = stragglers.arranged_by(|one, other| one.wait_us.total_cmp(&other.wait_us));
    body(&self::stragglers(), stragglers)
}

/// The collectives of a rank: how long it waited in all of them, how often it was last and first.
#[derive(Default)]
struct Waits {
    us: f64,
    n: usize,
    n_last: usize,
    n_first: usize,
}
