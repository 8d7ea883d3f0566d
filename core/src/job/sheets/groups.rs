//! Sheet `groups`: the process groups of a job and their collectives.

use super::Input;
use super::table::{Body, Col, body, bytes, columns, int, known, ms, text};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::sort::Arranged;
use crate::job::analysis::network::message_bytes;
use crate::job::analysis::roles::{RoleOf, described, stride};
use crate::job::analysis::timing::Timing;
use crate::job::groups::Group;
use crate::job::{Job, Rank};
use crate::report::sheet::Cell;

/// A group with the data of its columns.
pub(super) struct Row<'a> {
    group: &'a Group,
    role: Option<RoleOf>,
    ranks: &'a [Rank],
    kinds: Vec<&'static str>,
    n: usize,
    n_complete: usize,
    bytes: f64,
    waits_ns: i64,
    transfer_ns: i64,
    is_timed: bool,
}

impl Row<'_> {
    fn numbers(&self) -> String {
        format::joined(self.group.ranks.iter(), ", ")
    }

    fn role(&self) -> String {
        let (size, stride) = (self.group.ranks.len(), stride(self.group));
        self.role
            .map_or_else(String::new, |of| described(of.role, size, stride))
    }

    fn n_hosts(&self) -> usize {
        let members = self.group.members.iter();
        let hosts = members
            .filter_map(|at| Some(self.ranks.get(*at)?.host))
            .distinct();
        hosts.len()
    }

    fn time(&self, ns: i64) -> Cell {
        if self.is_timed { ms(ns) } else { Cell::Empty }
    }
}

pub(super) fn columns<'a>() -> Vec<Col<Row<'a>>> {
    columns![Row:
        "group", Text, |of| text(&of.group.name), "The name that PyTorch gave it; another group of the job may have it, too.";
        "group description", Text, |of| text(&of.group.description), "What the program calls it.";
        "role", Text, |of| text(&of.role()), "What it is for; if unknown, its size and stride.";
        "role is by", Text, |of| text(of.role.map_or("", |of| of.evidence.label())), "What tells that: its description, its collectives or its size.";
        "ranks", Count, |of| int(of.group.ranks.len()), "How many ranks it has.";
        "ranks read", Count, |of| int(of.group.members.len()), "How many of them were read.";
        "numbers", Text, |of| text(&of.numbers()), "The ranks, in the order of the group.";
        "stride", Count, |of| known(stride(of.group)), "The distance of its ranks by number; empty where it differs.";
        "hosts", Count, |of| int(of.n_hosts()), "On how many hosts those that were read are.";
        "collectives", Count, |of| int(of.n), "Collectives and transfers in it.";
        "complete", Count, |of| int(of.n_complete), "Those of them of which every rank was read.";
        "types", Text, |of| text(&of.kinds.join(", ")), "What they do, in order of their first start.";
        "bytes", Count, |of| bytes(Some(of.bytes).filter(|bytes| *bytes > 0.0)), "Sizes of their messages as the first rank of each tells them, summed.";
        "waiting ms", Ms, |of| of.time(of.waits_ns), "How long ranks waited in them for the last one, summed.";
        "transfer ms", Ms, |of| of.time(of.transfer_ns), "How long data moved in them, summed.";
    ]
}

pub(super) fn groups_body(input: &Input) -> Body<'static> {
    let job: &Job = input.job;
    let by_group = job.by_group();
    let groups = job.groups.iter().zip(&by_group).enumerate();
    let rows = groups.map(|(at, (group, own))| {
        let own = || {
            own.iter().filter_map(|at| {
                Some((job.collectives.get(*at)?, input.analysis.timings.get(*at)?))
            })
        };
        let mut kinds: Vec<&'static str> = Vec::new();
        for (of, _) in own() {
            let kind = of.kind.label();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let is_timed = job.clocks.are_comparable;
        let timings = || own().filter_map(|(_, timing)| timing.as_ref());
        let waits = timings().flat_map(Timing::waits).map(|(_, ns)| ns);
        let sizes = own().filter_map(|(of, _)| {
            let (rank, first) = of.rows(&job.ranks).next()?;
            message_bytes(&rank.digest, first)
        });
        Row {
            group,
            role: input.layout.roles.get(at).copied(),
            ranks: &job.ranks,
            n: own().count(),
            n_complete: own().filter(|(of, _)| of.is_complete()).count(),
            bytes: sizes.sum(),
            waits_ns: sum(waits),
            transfer_ns: sum(timings().map(|timing| timing.transfer_ns)),
            is_timed: is_timed && timings().next().is_some(),
            kinds,
        }
    });
    body(&columns(), rows)
}
