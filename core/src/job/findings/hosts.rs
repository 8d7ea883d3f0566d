//! Hosts on which all ranks delay the others, and why.

use super::Context;
use super::ranks::{late_by, most_times, times};
use crate::base::format;
use crate::job::analysis::cause::{self, Cause, Why};
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::JobCard;

/// A host on which all ranks delay the others.
pub(super) struct SlowHost {
    /// As an index into the hosts of the job.
    host: usize,
    /// Its ranks, as indices into those of the job.
    pub(super) ranks: Vec<usize>,
    saving_ns: i64,
    /// The steps in which they do.
    steps: Vec<usize>,
}

/// The hosts on which all ranks delay the others, with what fixing each would save.
pub(super) fn find(context: &Context) -> Vec<SlowHost> {
    let hosts = cause::slow_hosts(context.job, &context.analysis.causes).into_iter();
    let hosts = hosts.filter_map(|(host, ranks)| {
        let (saving_ns, steps) = context.gain(WhatIf::HostKeepsUp(host));
        let saving_ns = saving_ns?;
        context.large(saving_ns, &steps)?;
        Some(SlowHost {
            host,
            ranks,
            saving_ns,
            steps,
        })
    });
    hosts.collect()
}

/// If all ranks of a host delay the others, the host is the cause.
pub(super) fn slow_host(context: &Context) -> Vec<JobCard> {
    let cards = context.slow_hosts.iter().filter_map(|of| {
        let name = context.job.hosts.get(of.host)?;
        let Causes { reasoning, what, are_late } = of_host(context, of);
        let action = match are_late {
            true => "Look at this node before its ranks: storage, data loading, CPU load, other processes; take it out of service if it stays.",
            false => "Look at this node before its GPUs: power limit, cooling, CPU load, storage, network card; take it out of service if it stays.",
        };
        let card = JobCard {
            title: format!("All ranks of {name}{what}"),
            issue: format!("All {} ranks on {name} take longer than those of other hosts in {}.", of.ranks.len(), context.steps(&of.steps)),
            action: action.to_owned(),
            reasoning,
            ranks: of.ranks.iter().map(|at| context.number(*at)).collect(),
            ..JobCard::default()
        };
        context.with_saving(card, Some(of.saving_ns), &of.steps)
    });
    cards.collect()
}

/// Why the ranks of a host delay others.
struct Causes {
    /// In sentences.
    reasoning: Vec<String>,
    /// What is true of all of them, to follow their name: " launch kernels late".
    what: String,
    /// Whether all of them launch late.
    are_late: bool,
}

/// The causes of one kind on a host.
struct OfKind<'a> {
    causes: Vec<&'a Cause>,
    n_ranks: usize,
    /// Whether all ranks of the host have such a cause.
    are_all: bool,
}

impl<'a> OfKind<'a> {
    fn new(host: &SlowHost, all: &[&'a Cause], is: fn(&Why) -> bool) -> OfKind<'a> {
        let causes = all.iter().copied().filter(|cause| is(&cause.why));
        let causes: Vec<&Cause> = causes.collect();
        let mut ranks: Vec<usize> = causes.iter().map(|cause| cause.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        OfKind {
            causes,
            n_ranks: ranks.len(),
            are_all: ranks.len() == host.ranks.len(),
        }
    }

    fn of_them(&self) -> String {
        match self.are_all {
            true => "all of them".to_owned(),
            false => format!("{} of them", self.n_ranks),
        }
    }
}

fn of_host(context: &Context, host: &SlowHost) -> Causes {
    let causes = context.analysis.causes.iter();
    let own = causes.filter(|cause| host.ranks.contains(&cause.rank));
    let own: Vec<&Cause> = own.collect();
    let of = |is: fn(&Why) -> bool| OfKind::new(host, &own, is);
    let mut sentences = Vec::new();
    let mut what = " are slow".to_owned();
    let slow = of(|why| matches!(why, Why::SlowerKernels { .. }));
    if !slow.causes.is_empty() {
        let most = times(most_times(&slow.causes));
        if slow.are_all {
            what = format!(": the same kernels take up to {most}");
        }
        sentences.push(format!(
            "On {} the same kernels take longer than elsewhere, up to {most}.",
            slow.of_them()
        ));
    }
    let late = of(|why| matches!(why, Why::HostLate { .. }));
    let are_late = slow.causes.is_empty() && late.are_all;
    if !late.causes.is_empty() {
        let by = late_by(&late.causes);
        let by = by.map(|by| format!("; meanwhile most are in {}", by.in_sentence()));
        let by = by.unwrap_or_default();
        let of_them = late.of_them();
        sentences.push(format!("On {of_them} kernels are launched late{by}."));
    }
    if are_late {
        what = " launch kernels late".to_owned();
    }
    let copying = of(|why| matches!(why, Why::Copies { .. }));
    if !copying.causes.is_empty() {
        if slow.causes.is_empty() && late.causes.is_empty() && copying.are_all {
            what = " wait for copies".to_owned();
        }
        let times = copying.causes.iter().filter_map(|cause| match cause.why {
            Why::Copies { copies_ns } => Some(copies_ns / cause.steps.len().max(1) as i64),
            _ => None,
        });
        let most = times.max().map(format::time_ns).unwrap_or_default();
        sentences.push(format!(
            "On {} memory copies are exposed for longer than elsewhere, by up to {most} a step: check pinned memory, PCIe links and NUMA placement.",
            copying.of_them()
        ));
    }
    Causes {
        reasoning: sentences,
        what,
        are_late,
    }
}
