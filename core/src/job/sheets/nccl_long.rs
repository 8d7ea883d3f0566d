//! Sheets `nccl_long` and `nccl_summary_long`: every collective of every rank, and their totals.

use super::Input;
use super::calls::Call;
use super::table::{self, Body, Col, body, columns, float, int, known, text, us};
use crate::base::group::grouped;
use crate::base::sort::{Arrange, Arranged};
use crate::base::stats::Stats;

pub(super) fn long<'a>() -> Vec<Col<Call<'a>>> {
    columns![Call:
        "collective_id", Text, |of| text(&of.id()), "Process group and position in it; what several ranks did together has one.";
        "index_in_group", Count, |of| int(of.index), "Position among the collectives of the process group, from 0.";
        "rank", Count, |of| int(of.rank.number), "The rank, by its number in the job.";
        "Process Group Name", Text, |of| text(of.group), "The group of ranks that took part; Unknown_Group where the trace does not tell it, all where no rank's trace tells any.";
        "Process Group Ranks", Text, |of| text(&of.ranks_text()), "Its ranks.";
        "Collective name", Text, |of| text(of.name), "Kind of collective.";
        "Group size", Number, |of| known(of.group_size()), "Number of ranks.";
        "dtype", Text, |of| text(of.dtype()), "Type of the elements.";
        "In msg nelems", Number, |of| known(of.of.given), "Elements that the rank contributes.";
        "In msg size (MB)", Number, |of| float(of.mib(of.of.given)), "Size of that, in units of 1024² bytes; empty for an unknown type.";
        "Out msg nelems", Number, |of| known(of.of.got), "Elements that the rank receives.";
        "Out msg size (MB)", Number, |of| float(of.mib(of.of.got)), "Size of that, in units of 1024² bytes; empty for an unknown type.";
        "In split size", Text, |of| text(of.split(0)), "How the contribution is split over the ranks.";
        "Out split size", Text, |of| text(of.split(1)), "How what is received is split over the ranks.";
        "stream", Number, |of| known(of.of.stream), "The stream of the kernel.";
        "ts", Us, |of| us(of.of.span.start_ns), "Start of the kernel on the rank's own clock, as in its trace.";
        "dur", Us, |of| us(of.dur_ns()), "Its duration, waiting for other ranks included.";
        "node_id", Number, |of| known(of.node), "The node of the rank; empty where the traces do not tell.";
        "node_span", Text, |of| text(of.node_span), "Whether the group is of one node (intra_node) or several (inter_node).";
    ]
}

pub(super) fn long_body<'a>(input: &'a Input<'a>) -> Body<'a> {
    table::long_body(long(), input.calls.all.iter().cloned())
}

/// Similar collectives of one rank.
pub(super) struct Alike<'a> {
    first: &'a Call<'a>,
    stats: Stats,
}

pub(super) fn summary<'a>() -> Vec<Col<Alike<'a>>> {
    columns![Alike:
        "rank", Count, |of| int(of.first.rank.number), "The rank, by its number in the job.";
        "Process Group Name", Text, |of| text(of.first.group), "The group of ranks that took part. Collectives of which the trace does not tell all that makes a row are not here.";
        "Process Group Ranks", Text, |of| text(&of.first.ranks_text()), "Its ranks.";
        "Collective name", Text, |of| text(of.first.name), "Kind of collective.";
        "Group size", Number, |of| known(of.first.group_size()), "Number of ranks.";
        "dtype", Text, |of| text(of.first.dtype()), "Type of the elements.";
        "In msg nelems", Number, |of| known(of.first.of.given), "Elements that the rank contributes.";
        "Out msg nelems", Number, |of| known(of.first.of.got), "Elements that the rank receives.";
        "In split size", Text, |of| text(of.first.split(0)), "How the contribution is split over the ranks.";
        "Out split size", Text, |of| text(of.first.split(1)), "How what is received is split over the ranks.";
        "stream", Number, |of| known(of.first.of.stream), "The stream of the kernels.";
        "In msg size (MB)_first", Number, |of| float(of.first.mib(of.first.of.given)), "Size of the contribution, in units of 1024² bytes; empty for an unknown type.";
        "Out msg size (MB)_first", Number, |of| float(of.first.mib(of.first.of.got)), "Size of what is received, in units of 1024² bytes; empty for an unknown type.";
        "dur_sum", Us, |of| float(Some(of.stats.sum)), "Durations of the kernels, waiting for other ranks included: sum.";
        "dur_mean", Us, |of| float(Some(of.stats.mean)), "Mean duration.";
        "dur_std", Us, |of| float(of.stats.std), "Sample deviation of the durations; empty for a single one.";
        "dur_min", Us, |of| float(Some(of.stats.min)), "Shortest duration.";
        "dur_max", Us, |of| float(Some(of.stats.max)), "Longest duration.";
        "operation_count", Count, |of| int(of.stats.n), "How often.";
        "node_id", Number, |of| known(of.first.node), "The node of the rank; empty where the traces do not tell.";
        "node_span", Text, |of| text(of.first.node_span), "Whether the group is of one node (intra_node) or several (inter_node).";
    ]
}

/// What all collectives of a row have in common: rank, group with its ranks, name, group size, type, elements in and
/// out, splits, stream.
type Key<'a> = (
    u32,
    &'a str,
    &'a [u32],
    &'a str,
    u32,
    &'a str,
    [u64; 2],
    [&'a str; 2],
    i64,
);

/// `None` unless the trace contains all of it.
fn key<'a>(of: &Call<'a>) -> Option<Key<'a>> {
    let is_present = |text: &&'a str| !text.is_empty();
    Some((
        of.rank.number,
        of.group,
        of.ranks?,
        Some(of.name).filter(is_present)?,
        of.group_size()?,
        Some(of.dtype()).filter(is_present)?,
        [of.of.given?, of.of.got?],
        [
            Some(of.split(0)).filter(is_present)?,
            Some(of.split(1)).filter(is_present)?,
        ],
        of.of.stream?,
    ))
}

pub(super) fn summary_body(input: &Input) -> Body<'static> {
    let keyed = input.calls.all.iter().filter_map(|of| Some((key(of)?, of)));
    let mut groups: Vec<(Key, Vec<&Call>)> = grouped(keyed, Vec::push);
    groups.arrange_by_key(|(key, _)| *key);
    let rows = groups.into_iter().filter_map(|(_, calls)| {
        let durations: Vec<i64> = calls.iter().map(|of| of.dur_ns()).collect();
        Some(Alike {
            first: calls.first()?,
            stats: Stats::of_ns(&durations)?,
        })
    });
    let rows = rows.arranged_by(|one, other| other.stats.sum.total_cmp(&one.stats.sum));
    body(&summary(), rows)
}
