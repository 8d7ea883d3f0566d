//! Analyzes the ranks of one job together: which rank delays the others, why, and what fixing it saves.
//!
//! ```text
//! Profile ─Digest::new→ Digest ┐
//! Profile ─Digest::new→ Digest ┼─JobFiles::new→ Window ─Job::new→ Job ─Analysis::new→ Analysis
//! Profile ─Digest::new→ Digest ┘                Window                       └→ sheets, findings, views
//! ```
//!
//! | value | what it is |
//! |---|---|
//! | [`Digest`] | the summary kept of one rank |
//! | [`JobFiles`](files::JobFiles) | which digests belong to one job, window by window of the profiler; what is excluded, and why |
//! | [`Job`] | the ranks of a window: their groups, and which collectives belong together |
//! | [`Analysis`] | which ranks delay the others, why, and what a change would save; `analysis/` has a file for each question |
//!
//! `groups`, `matching`, `clocks` and `hosts` build the [`Job`]. `findings`, `sheets`, `overview` and `strip` show the
//! [`Analysis`].
//!
//! Each rank's times are on its own clock until `clocks` has estimated the offsets between them.

pub mod alignment;
pub mod analysis;
pub mod bandwidth;
pub(crate) mod cards;
pub(crate) mod clocks;
pub mod digest;
pub mod files;
mod findings;
pub(crate) mod groups;
mod hosts;
pub(crate) mod matching;
pub mod overview;
pub mod sheets;
pub mod strip;
#[cfg(test)]
pub(crate) mod testing;

use crate::base::sort::Arrange;
use crate::job::clocks::Clocks;
use crate::job::digest::Collective;
use crate::job::files::Window;
use crate::job::groups::Group;
use crate::job::matching::{Matched, Unmatched};

pub use analysis::Analysis;
pub use analysis::network::NetworkFigures;
pub use digest::Digest;
pub use files::merged::{digests, one_rank};

/// One rank of a job.
#[derive(Debug)]
pub struct Rank {
    /// Its number in the job.
    pub number: u32,
    /// Its summary.
    pub digest: Digest,
    /// Offset to add to its times to get nanoseconds since 1970.
    pub(crate) base_ns: i64,
    /// Its host, as an index into [`Job::hosts`].
    pub(crate) host: usize,
}

/// A step of a job, as its ranks ran it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobStep {
    /// Its number, or its position where steps have none.
    pub(crate) number: u64,
    /// For each rank, the index of this step among the steps of its digest.
    pub(crate) of_rank: Vec<Option<u32>>,
}

/// The ranks of one job in one window of the profiler.
#[derive(Debug)]
pub struct Job {
    /// Sorted by number.
    pub ranks: Vec<Rank>,
    /// How many ranks the job has.
    pub world_size: u32,
    /// Names of hosts, in order of their first rank.
    pub(crate) hosts: Vec<String>,
    /// Whether the traces name the hosts, so that it is known which ranks share one.
    pub(crate) are_hosts_named: bool,
    /// Sorted by name.
    pub(crate) groups: Vec<Group>,
    /// Sorted by number.
    pub(crate) steps: Vec<JobStep>,
    /// Sorted by first start.
    pub(crate) collectives: Vec<Matched>,
    /// What could not be matched.
    pub(crate) unmatched: Unmatched,
    /// How the clocks of the ranks differ.
    pub(crate) clocks: Clocks,
}

impl Job {
    /// Builds the job from the ranks of a window.
    pub fn new(window: Window) -> Job {
        let Window { mut ranks, .. } = window;
        ranks.arrange_by_key(|rank| rank.number);
        let (mut hosts, are_hosts_named) = hosts::named_or_counted(&mut ranks);
        let groups = groups::find(&ranks);
        let steps = steps(&ranks);
        let sizes = ranks
            .iter()
            .filter_map(|rank| rank.digest.identity.world_size);
        let highest = ranks.last().map_or(0, |rank| rank.number.saturating_add(1));
        let world_size = sizes.max().unwrap_or(0).max(highest);
        let (collectives, unmatched) = matching::find(&ranks, &groups, &steps, world_size as usize);
        let clocks = Clocks::new(&ranks, &groups, &collectives);
        if let Some(regrouped) = hosts::by_clocks(&mut ranks, &clocks) {
            hosts = regrouped;
        }
        Job {
            world_size,
            ranks,
            hosts,
            are_hosts_named,
            groups,
            steps,
            collectives,
            unmatched,
            clocks,
        }
    }

    /// The number of a rank.
    pub(crate) fn number(&self, rank: usize) -> Option<u32> {
        self.ranks.get(rank).map(|rank| rank.number)
    }

    /// What a rank recorded of a collective, with its digest.
    pub(crate) fn recorded(&self, rank: usize, at: u32) -> Option<(&Digest, &Collective)> {
        let digest = &self.ranks.get(rank)?.digest;
        Some((digest, digest.collectives.get(at as usize)?))
    }

    /// Converts a time of a rank to the common clock, in nanoseconds since 1970.
    pub(crate) fn corrected_ns(&self, rank: usize, ns: i64) -> i64 {
        let base_ns = self.ranks.get(rank).map_or(0, |rank| rank.base_ns);
        self.clocks.corrected_ns(rank, ns.saturating_add(base_ns))
    }

    /// The step of the job that a rank's own step is.
    pub(crate) fn step_of(&self, rank: usize, own: u32) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.position(|step| step.of_rank.get(rank) == Some(&Some(own)))
    }

    /// For each group, the indices of its collectives.
    pub(crate) fn by_group(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.groups.len()];
        for (at, of) in self.collectives.iter().enumerate() {
            if let Some(own) = of.group.and_then(|group| all.get_mut(group)) {
                own.push(at);
            }
        }
        all
    }

    /// Whether durations come from kernels. Without a GPU they come from operators, which other work on the same cores
    /// slows down.
    pub(crate) fn has_gpu(&self) -> bool {
        self.ranks.iter().any(|rank| rank.digest.gpu.is_some())
    }

    /// Whether no trace marks steps, so that each recording is one.
    pub(crate) fn has_no_marked_steps(&self) -> bool {
        let steps = self.ranks.iter().map(|rank| &rank.digest.steps[..]);
        let mut names = self.ranks.iter().zip(steps);
        self.steps.len() == 1
            && names.all(|(rank, steps)| match steps {
                [one] => one.number.is_none() && rank.digest.text(one.name).is_empty(),
                _ => steps.is_empty(),
            })
    }

    /// The ranks that are missing.
    pub(crate) fn missing(&self) -> Vec<u32> {
        let is_there = |number: &u32| self.ranks.iter().any(|rank| rank.number == *number);
        (0..self.world_size)
            .filter(|number| !is_there(number))
            .collect()
    }
}

/// The steps of all ranks, by number where they have one, else by position.
fn steps(ranks: &[Rank]) -> Vec<JobStep> {
    let mut numbers: Vec<u64> = Vec::new();
    let numbered: Vec<Vec<u64>> = ranks
        .iter()
        .map(|rank| rank.digest.step_numbers())
        .collect();
    for number in numbered.iter().flatten() {
        if !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    numbers.arrange();
    let steps = numbers.into_iter().map(|number| {
        let of_rank = numbered
            .iter()
            .map(|of| u32::try_from(of.iter().position(|own| *own == number)?).ok());
        JobStep {
            number,
            of_rank: of_rank.collect(),
        }
    });
    steps.collect()
}
