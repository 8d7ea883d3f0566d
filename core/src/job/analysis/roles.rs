//! What the process groups of a job are used for, and how its ranks are laid out.

use crate::base::format;
use crate::base::group::grouped;
use crate::base::labels::labeled;
use crate::base::sort::Arrange;
use crate::base::stats::medians_of_others;
use crate::job::Job;
use crate::job::groups::Group;

use crate::names::collective::{CollectiveKind, Purpose, purpose_of_group};

labeled! {
    /// A dimension of parallelism.
    pub(crate) enum Role {
        /// All ranks of the job.
        World => "all ranks",
        Tensor => "tensor parallel",
        Sequence => "sequence parallel",
        Expert => "expert parallel",
        Sharded => "sharded data parallel",
        Data => "data parallel",
        Pipeline => "pipeline parallel",
        Unknown => "unknown",
    }
}

labeled! {
    /// What a role was derived from.
    pub(crate) enum Evidence {
        /// The description given by the code that created the group.
        Description => "description",
        /// The kinds of its collectives.
        Collectives => "collectives",
        /// It contains all ranks of the job.
        Size => "size",
        /// Nothing.
        None => "–",
    }
}

/// What a group is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoleOf {
    pub(crate) role: Role,
    pub(crate) evidence: Evidence,
}

/// A dimension of the layout: a number of groups of the same role and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) role: Role,
    /// Number of ranks of a group.
    pub(crate) size: usize,
    /// How many groups were found.
    pub(crate) n_groups: usize,
    /// The distance between neighbors: 1 for the innermost dimension; `None` where it varies.
    pub(crate) stride: Option<u32>,
    /// Whether groups span several hosts.
    pub(crate) spans_hosts: bool,
}

/// The layout of the ranks, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Indexed like the groups of the job.
    pub(crate) roles: Vec<RoleOf>,
    /// Innermost first.
    pub(crate) dimensions: Vec<Dimension>,
    /// For each rank, its stage in its pipeline.
    pub(crate) stages: Vec<Option<usize>>,
    /// For each rank, its position in its group of each dimension, in the order of the dimensions.
    pub(crate) coordinates: Vec<Vec<Option<usize>>>,
}

impl Layout {
    pub(crate) fn new(job: &Job) -> Layout {
        let roles: Vec<RoleOf> = (job.groups.iter().zip(&job.by_group()))
            .map(|(group, own)| role(job, group, own))
            .collect();
        let stages = job.ranks.iter().map(|rank| {
            let pipelines = job.groups.iter().zip(&roles);
            let mut pipelines = pipelines.filter(|(_, of)| of.role == Role::Pipeline);
            // Ranks that were not read count as stages, too.
            pipelines.find_map(|(group, _)| group.ranks.iter().position(|of| *of == rank.number))
        });
        let dimensions = dimensions(job, &roles);
        let coordinates = (0..job.ranks.len()).map(|rank| {
            let of = |dimension: &Dimension| {
                let groups = job.groups.iter().zip(&roles);
                let mut groups = groups.filter(|(group, of)| dimension.has(group, **of));
                groups.find_map(|(group, _)| {
                    let number = job.number(rank)?;
                    group.ranks.iter().position(|of| *of == number)
                })
            };
            dimensions.iter().map(of).collect()
        });
        Layout {
            coordinates: coordinates.collect(),
            stages: stages.collect(),
            dimensions,
            roles,
        }
    }

    /// The stage of a rank; `None` without pipelines.
    pub(crate) fn stage(&self, rank: usize) -> Option<usize> {
        self.stages.get(rank).copied().flatten()
    }

    /// The coordinates of a rank in the layout: "tensor parallel 1, data parallel 0".
    pub(crate) fn place(&self, rank: usize) -> String {
        let own = self.coordinates.get(rank).into_iter().flatten();
        let parts = self.dimensions.iter().zip(own).filter_map(|(of, at)| {
            let at = (*at)?;
            Some(format!("{} {at}", described(of.role, of.size, of.stride)))
        });
        format::joined(parts, ", ")
    }

    /// For each rank's value, the median of the values of its peers: the other ranks of its stage or, if there are
    /// none, its own value.
    pub(crate) fn medians_of_peers(&self, values: &[i64]) -> Vec<i64> {
        self.of_stages(values, medians_of_others)
    }

    /// Computes values of the ranks of each stage from their values; a rank that is alone keeps its own.
    pub(crate) fn of_stages(&self, values: &[i64], of: fn(&[i64]) -> Vec<i64>) -> Vec<i64> {
        let mut found = values.to_vec();
        let stages = (0..values.len()).map(|rank| (self.stage(rank), rank));
        for (_, ranks) in grouped(stages, Vec::push) {
            let ranks: Vec<usize> = ranks;
            if ranks.len() < 2 {
                continue;
            }
            let own: Vec<i64> = ranks
                .iter()
                .filter_map(|at| values.get(*at).copied())
                .collect();
            for (at, ns) in ranks.into_iter().zip(of(&own)) {
                if let Some(known) = found.get_mut(at) {
                    *known = ns;
                }
            }
        }
        found
    }

    /// The role of a group.
    pub(crate) fn role(&self, group: usize) -> Role {
        self.roles.get(group).map_or(Role::Unknown, |of| of.role)
    }
}

/// The display name of a role; for a group of unknown role, its shape: "group of 4, stride 8".
pub(crate) fn described(role: Role, size: usize, stride: Option<u32>) -> String {
    match (role, stride) {
        (Role::Unknown, Some(stride)) => format!("group of {size}, stride {stride}"),
        (Role::Unknown, None) => format!("group of {size}"),
        (role, _) => role.label().to_owned(),
    }
}

impl Dimension {
    /// Whether a group belongs to this dimension.
    fn has(&self, group: &Group, of: RoleOf) -> bool {
        (self.role, self.size, self.stride) == (of.role, group.ranks.len(), stride(group))
    }
}

/// The distance between neighboring ranks of a group; `None` where it varies.
pub(crate) fn stride(group: &Group) -> Option<u32> {
    let mut steps = group.ranks.windows(2).map(|pair| match pair {
        [one, next] => next.checked_sub(*one),
        _ => None,
    });
    let first = steps.next()??;
    steps.all(|step| step == Some(first)).then_some(first)
}

fn dimensions(job: &Job, roles: &[RoleOf]) -> Vec<Dimension> {
    let mut found: Vec<Dimension> = Vec::new();
    for (group, of) in job.groups.iter().zip(roles) {
        let size = group.ranks.len();
        if size < 2 || of.role == Role::World {
            continue;
        }
        let spans_hosts = group.spans_hosts(&job.ranks);
        match found.iter_mut().find(|known| known.has(group, *of)) {
            Some(known) => {
                known.n_groups += 1;
                known.spans_hosts |= spans_hosts;
            }
            None => found.push(Dimension {
                role: of.role,
                size,
                n_groups: 1,
                stride: stride(group),
                spans_hosts,
            }),
        }
    }
    found.arrange_by_key(|of| (of.stride.unwrap_or(u32::MAX), of.role, of.size));
    found
}

/// Determines the role of a group from its description, collectives and size.
fn role(job: &Job, group: &Group, own: &[usize]) -> RoleOf {
    let role_by = |role, evidence| RoleOf { role, evidence };
    let counts = Counts::new(job, own);
    if let Some(role) = by_description(&group.description, &counts) {
        return role_by(role, Evidence::Description);
    }
    let is_all = group.ranks.len() == job.world_size as usize;
    let is_default = group.description == "default_pg" || group.name == "0";
    if is_all && is_default && job.groups.len() > 1 {
        return role_by(Role::World, Evidence::Size);
    }
    match counts.role() {
        Role::Unknown if is_all => role_by(Role::World, Evidence::Size),
        Role::Unknown => role_by(Role::Unknown, Evidence::None),
        role => role_by(role, Evidence::Collectives),
    }
}

/// Determines the role from words in a description: `mesh_tp`, `TENSOR_MODEL_PARALLEL_GROUP`, `mesh_dp_shard`.
fn by_description(description: &str, counts: &Counts) -> Option<Role> {
    match purpose_of_group(description) {
        Some(Purpose::Tensors) => return Some(Role::Tensor),
        Some(Purpose::Stages) => return Some(Role::Pipeline),
        Some(Purpose::Experts) => return Some(Role::Expert),
        Some(Purpose::Sequence) => return Some(Role::Sequence),
        _ => {}
    }
    let description = description.to_ascii_lowercase();
    let mut words = description.split(|letter: char| !letter.is_ascii_alphanumeric());
    if words.clone().any(|word| matches!(word, "fsdp" | "shard")) {
        return Some(Role::Sharded);
    }
    let is_data = words.any(|word| matches!(word, "dp" | "ddp" | "data" | "replicate"));
    is_data.then(|| match counts.role() {
        Role::Sharded => Role::Sharded,
        _ => Role::Data,
    })
}

/// The collectives of a group, counted by kind.
#[derive(Debug, Default)]
struct Counts {
    transfers: usize,
    all_to_alls: usize,
    all_gathers: usize,
    reduce_scatters: usize,
    all_reduces: usize,
    others: usize,
    /// All-reduces of the most frequent size.
    of_one_size: usize,
    /// The same for all-gathers (by output size) and reduce-scatters (by input size).
    parts_of_one_size: usize,
    /// The longest run of all-gathers without a reduce-scatter in between, or the other way around.
    longest_run: usize,
    steps: usize,
}

impl Counts {
    fn new(job: &Job, own: &[usize]) -> Counts {
        use CollectiveKind::*;
        let mut counts = Counts {
            steps: job.steps.len().max(1),
            ..Counts::default()
        };
        let (mut sizes, mut of_parts) = (Vec::new(), Vec::new());
        let mut run = (Unknown, 0);
        for matched in own.iter().filter_map(|at| job.collectives.get(*at)) {
            let count = match matched.kind {
                SendReceive => &mut counts.transfers,
                AllToAll => &mut counts.all_to_alls,
                AllGather => &mut counts.all_gathers,
                ReduceScatter => &mut counts.reduce_scatters,
                AllReduce | AllReduceNorm => &mut counts.all_reduces,
                _ => &mut counts.others,
            };
            *count += 1;
            let mut rows = matched.rows(&job.ranks);
            match matched.kind {
                AllGather => add(&mut of_parts, rows.find_map(|(_, of)| of.got)),
                ReduceScatter => add(&mut of_parts, rows.find_map(|(_, of)| of.given)),
                kind if kind.is_all_reduce() => add(&mut sizes, rows.find_map(|(_, of)| of.given)),
                _ => {}
            }
            if matches!(matched.kind, AllGather | ReduceScatter) {
                run = (
                    matched.kind,
                    if run.0 == matched.kind { run.1 + 1 } else { 1 },
                );
                counts.longest_run = counts.longest_run.max(run.1);
            }
        }
        let most = |sizes: &[(u64, usize)]| sizes.iter().map(|(_, n)| *n).max().unwrap_or(0);
        counts.parts_of_one_size = most(&of_parts);
        counts.of_one_size = most(&sizes);
        counts
    }

    /// The role that such collectives imply.
    fn role(&self) -> Role {
        /// Split layers exchange activations of one size repeatedly.
        const LEAST_A_STEP: usize = 8;
        /// A layer gathers its input again for its weight gradients.
        const MOST_IN_A_ROW: usize = 3;
        let all = self.transfers
            + self.all_to_alls
            + self.all_gathers
            + self.reduce_scatters
            + self.all_reduces
            + self.others;
        let is_repeated =
            |n: usize, of_one_size| n >= LEAST_A_STEP * self.steps && of_one_size * 5 >= n * 4;
        let parts = self.all_gathers + self.reduce_scatters;
        // Layers alternate between gathering and scattering activations, forward and backward. Parameters are gathered
        // layer after layer in the forward pass, with nothing to scatter.
        let is_in_turn = self.longest_run <= MOST_IN_A_ROW;
        match self {
            _ if all == 0 => Role::Unknown,
            of if of.transfers == all => Role::Pipeline,
            of if of.all_to_alls * 2 > all => Role::Expert,
            of if of.all_gathers > 0 && of.reduce_scatters > 0 => {
                match is_in_turn && is_repeated(parts, of.parts_of_one_size) {
                    true => Role::Tensor,
                    false => Role::Sharded,
                }
            }
            of if is_repeated(of.all_reduces, of.of_one_size) => Role::Tensor,
            of if of.all_reduces * 2 > all => Role::Data,
            _ => Role::Unknown,
        }
    }
}

/// Counts a size.
fn add(sizes: &mut Vec<(u64, usize)>, size: Option<u64>) {
    let Some(size) = size else {
        return;
    };
    match sizes.iter_mut().find(|(known, _)| *known == size) {
        Some((_, n)) => *n += 1,
        None => sizes.push((size, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::TestJob;

    /// Two stages and two replicas: stage 0 is ranks 0 and 1, stage 1 ranks 2 and 3.
    fn pipeline() -> TestJob {
        let mut job = TestJob::new(4);
        job.step(1, 0, 1_000);
        for ranks in [[0, 1], [2, 3]] {
            let name = if ranks[0] == 0 {
                "1 mesh_dp"
            } else {
                "2 mesh_dp"
            };
            job.run(name, "allreduce", &ranks, &[(500, 600), (500, 600)]);
        }
        for (name, ranks) in [("3 mesh_pp", [0, 2]), ("4 mesh_pp", [1, 3])] {
            job.send(name, &ranks, ranks, [(100, 200), (100, 200)]);
        }
        job
    }

    #[test]
    fn a_rank_has_a_place_in_each_dimension() {
        let layout = Layout::new(&pipeline().job());
        assert_eq!(layout.stages, [Some(0), Some(0), Some(1), Some(1)]);
        let places: Vec<String> = (0..4).map(|rank| layout.place(rank)).collect();
        assert_eq!(
            places,
            [
                "data parallel 0, pipeline parallel 0",
                "data parallel 1, pipeline parallel 0",
                "data parallel 0, pipeline parallel 1",
                "data parallel 1, pipeline parallel 1",
            ]
        );
    }

    #[test]
    fn a_rank_that_is_missing_moves_no_other_to_its_stage() {
        // Rank 2 is in stage 1, whether rank 0 was read or not.
        let layout = Layout::new(&pipeline().without(&[0]));
        assert_eq!(layout.stages, [Some(0), Some(1), Some(1)]);
    }

    /// The role of a group without a description, and its evidence.
    fn role_of(names: &[&str]) -> (Role, Evidence) {
        let mut job = TestJob::new(4);
        job.step(1, 0, 10_000);
        for (name, at) in names.iter().zip(0_i64..) {
            let span = (at * 100 + 10, at * 100 + 90);
            job.run("7 undefined", name, &[0, 2], &[span; 2]);
        }
        let layout = Layout::new(&job.job());
        (layout.roles[0].role, layout.roles[0].evidence)
    }

    #[test]
    fn activations_are_gathered_and_scattered_in_turn_and_parameters_are_not() {
        let [gather, scatter] = ["_allgather_base", "_reduce_scatter_base"];
        let in_turn = [gather, scatter].repeat(6);
        assert_eq!(role_of(&in_turn), (Role::Tensor, Evidence::Collectives));
        // Six layers forward, then backward.
        let sharded = [vec![gather; 6], in_turn].concat();
        assert_eq!(role_of(&sharded), (Role::Sharded, Evidence::Collectives));
    }

    #[test]
    fn a_group_of_unknown_role_is_described() {
        assert_eq!(role_of(&["broadcast"]), (Role::Unknown, Evidence::None));
        assert_eq!(described(Role::Unknown, 4, Some(8)), "group of 4, stride 8");
        assert_eq!(described(Role::Tensor, 4, Some(1)), "tensor parallel");
    }

    #[test]
    fn peers_are_the_ranks_of_a_stage() {
        let layout = Layout::new(&pipeline().job());
        // Each is compared with the other one of its stage.
        assert_eq!(layout.medians_of_peers(&[10, 20, 70, 90]), [20, 10, 90, 70]);
        // Without a pipeline, with all others.
        let whole = Layout::default();
        assert_eq!(whole.medians_of_peers(&[10, 20, 70, 90]), [70, 70, 20, 20]);
        let alone = Layout {
            stages: vec![Some(0), Some(0), Some(0), Some(1)],
            ..Layout::default()
        };
        // The last one is alone in its stage, so there is nothing to compare it with.
        assert_eq!(alone.medians_of_peers(&[10, 20, 70, 90]), [45, 40, 15, 90]);
    }
}
