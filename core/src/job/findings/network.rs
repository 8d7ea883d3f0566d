//! Slow links, slow periods.

use super::Context;
use crate::base::format;
use crate::base::value::{Table, Value, cell_columns};
use crate::job::analysis::network::{Link, Path, ranks_of};
use crate::job::analysis::what_if::WhatIf;
use crate::job::cards::{JobCard, ShownTable};

/// Maximum number of rows of evidence.
const MOST_ROWS: usize = 10;

/// Why no rank of a slow path is named.
const ONE_OF_THEM: &str = "One slow network card, cable or port slows down all ranks of a collective alike, so the trace cannot tell which of these ranks has it.";

/// At most this many ranks of a group are listed.
const MOST_LISTED: usize = 8;

/// The display name of a path: "ranks 3 and 7", "16 ranks of mesh_dp 33".
fn path(context: &Context, path: Path) -> String {
    let ranks = ranks_of(context.job, path);
    let names: Vec<String> = ranks.iter().map(u32::to_string).collect();
    match names.len() {
        0 => String::new(),
        n if n > 2 && u32::try_from(n) == Ok(context.job.world_size) => format!("all {n} ranks"),
        n if n <= MOST_LISTED => format!("ranks {}", format::listed(&names)),
        n => {
            let group = context.job.groups.get(path.group);
            group.map_or_else(String::new, |group| {
                format!("{n} ranks of {}", group.label())
            })
        }
    }
}

/// The same in a sentence, with the group as code: "ranks 3 and 7 (`mesh_dp 33`)".
pub(super) fn prose(context: &Context, of: Path) -> String {
    let ranks = path(context, of);
    let group = context
        .job
        .groups
        .get(of.group)
        .filter(|_| of.pair.is_none());
    match group.map(|group| group.label()) {
        Some(group) => match ranks.strip_suffix(&format!(" of {group}")) {
            Some(ranks) => format!("{ranks} of `{group}`"),
            None => format!("{ranks} (`{group}`)"),
        },
        None => ranks,
    }
}

pub(super) fn slow_link(context: &Context) -> Option<JobCard> {
    let network = &context.analysis.network;
    let first = network.slow_paths.first()?;
    let table = Table::of(
        "slow_paths",
        "Slow paths",
        &network.slow_paths,
        cell_columns![
            "between", "Between", |of| Value::Text(path(context, of.path));
            "ratio", "vs. similar groups", |of| Value::Number(of.ratio);
        ],
    );
    let (saving_ns, steps) = context.gain(WhatIf::Paths);
    let (title, issue) = match network.culprits.as_slice() {
        [rank] if network.slow_paths.len() > 1 => (
            format!("Slow network at rank {rank}"),
            format!(
                "All {} paths of rank {rank} between hosts take up to {:.2} times as long as those of other ranks for the same messages.",
                network.slow_paths.len(),
                first.ratio
            ),
        ),
        _ => (
            format!("Slow link between {}", path(context, first.path)),
            format!(
                "Messages between {} take {:.2} times as long as the same ones of other groups.",
                prose(context, first.path),
                first.ratio
            ),
        ),
    };
    let ranks = match network.culprits.is_empty() {
        true => ranks_of(context.job, first.path),
        false => network.culprits.clone(),
    };
    let card = JobCard {
        title,
        issue,
        action:
            "Check NIC, cable, switch port and routing of these ranks, and which NIC each GPU uses."
                .to_owned(),
        reasoning: std::iter::once(
            "Compared with groups of the same description and size, for the same messages.",
        )
        .chain((ranks.len() > 1).then_some(ONE_OF_THEM))
        .map(str::to_owned)
        .collect(),
        ranks,
        tables: vec![ShownTable::from(&table)],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// Large messages that use a small part of what their link can carry.
pub(super) fn link_bandwidth(context: &Context) -> Option<JobCard> {
    let network = &context.analysis.network;
    let below = network.below_figure.iter();
    let below: Vec<&Link> = below.filter_map(|at| network.links.get(*at)).collect();
    let first = below.first()?;
    let percent = |link: &Link| {
        link.share_percent()
            .map_or_else(String::new, format::percent)
    };
    let bandwidth = |gbps: Option<f64>| gbps.map_or_else(String::new, format::bandwidth_gbps);
    let table = Table::of(
        "links_below_figure",
        "Large messages that use little of their link",
        below.iter().take(MOST_ROWS),
        cell_columns![
            "what", "Message", |link| Value::Text(link.label());
            "between", "Between", |link| Value::Text(path(context, link.path));
            "bus", "Bus bandwidth", |link| Value::gbps(link.bus_gbps);
            "link", "Link", |link| Value::gbps(link.figure_gbps);
            "share", "Share", |link| Value::percent(link.share_percent());
        ],
    );
    let (saving_ns, steps) = context.gain(WhatIf::LinksAtHalf);
    let (action, basis) = match first.spans_hosts {
        true => (
            "Check which NIC each GPU uses (NUMA, GPUDirect RDMA), the number of channels of the communication library, routing and congestion.",
            "The figure of the network is the one that was given.",
        ),
        false => (
            "Check that the GPUs reach each other over their links and not over PCIe or the CPU (topology, peer access, container settings), and the number of channels and the algorithm of the communication library.",
            "The figure of the link is that of the GPU, one way; of AMD's the links between the ranks of the group.",
        ),
    };
    let card = JobCard {
        title: format!("Large messages use {} of the link", percent(first)),
        issue: format!(
            "{} between {} runs at {}, {} of the {} that the link carries in one direction, measured after all ranks have started.",
            format::capitalized(&first.label()),
            prose(context, first.path),
            bandwidth(first.bus_gbps),
            percent(first),
            bandwidth(first.figure_gbps)
        ),
        action: action.to_owned(),
        reasoning: vec![
            basis.to_owned(),
            "The saving assumes half of the link's bandwidth, which large messages reach."
                .to_owned(),
        ],
        ranks: ranks_of(context.job, first.path),
        tables: vec![ShownTable::from(&table)],
        ..JobCard::default()
    };
    context.with_saving(card, saving_ns, &steps)
}

/// The steps in which all links are slow, in one card.
pub(super) fn slow_period(context: &Context) -> Option<JobCard> {
    let mut slow = context.analysis.slow_steps(context.job);
    slow.retain(|(slow, ns)| context.large(*ns, &[slow.step]).is_some());
    let steps: Vec<usize> = slow.iter().map(|(slow, _)| slow.step).collect();
    let most = slow.iter().map(|(slow, _)| slow.ratio).fold(1.0, f64::max);
    // Waiting for ranks that were not read looks like a long transfer.
    let missing = context.job.missing();
    let incomplete = slow.iter().any(|(slow, _)| {
        let mut collectives = slow.collectives.iter();
        collectives.any(|(at, _)| {
            let matched = context.job.collectives.get(*at);
            matched.is_some_and(|of| !of.is_complete())
        })
    });
    let n_collectives: usize = slow.iter().map(|(slow, _)| slow.collectives.len()).sum();
    let named = context.steps(&steps);
    let up_to = if steps.len() > 1 { "up to " } else { "" };
    let card = JobCard {
        title: match incomplete {
            true => format!("Collectives are slow in {named}"),
            false => format!("The network is slow in {named}"),
        },
        issue: format!(
            "{} in {named} take {up_to}{most:.2} times as long as in other steps, on all ranks alike{}.",
            format::counted(n_collectives as u64, "collective"),
            match (incomplete, missing.as_slice()) {
                (false, _) => String::new(),
                (true, [one]) => format!(": it is the network, or rank {one}, which was not read"),
                (true, _) => ": it is the network, or ranks that were not read".to_owned(),
            }
        ),
        action: "Look at what else used the network then: checkpoints, data loading, other jobs; a link that goes down and up again.".to_owned(),
        ..JobCard::default()
    };
    let saving_ns = slow.iter().map(|(_, ns)| ns).sum();
    context.with_saving(card, Some(saving_ns), &steps)
}
