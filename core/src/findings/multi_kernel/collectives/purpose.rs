//! What communication is for: the way of sharing work among GPUs that asks for it, and what helps
//! there.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Kind;
use super::key::Group;
use crate::findings::Input;
use crate::names::Family;
use crate::profile::autograd::ENGINE_CALL;
use crate::profile::kernels::GpuWork;
use crate::trace::StringId;

/// What communication is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::findings::multi_kernel) enum Purpose {
    /// Gradients of replicas, reduced during the backward pass.
    Gradients,
    /// Parameters and gradients of which each rank keeps a part.
    Shards,
    /// The same of `FullyShardedDataParallel` or `fully_shard`.
    Fsdp,
    /// What stages of a pipeline hand on.
    Stages,
    /// Parts of layers that are split over GPUs.
    Tensors,
    /// Tokens to their experts and back.
    Experts,
    /// Heads against tokens of split sequences.
    Sequence,
    /// Statistics of norms over all ranks.
    Statistics,
    /// An exchange of all with all, nothing tells of what.
    Exchange,
    /// Nothing tells.
    Unknown,
}

impl Purpose {
    /// What to do in the model about what of it nothing hides. `is_hidden`: most of it runs beside
    /// computation.
    pub(in crate::findings::multi_kernel) fn advice(
        self,
        is_training: bool,
        is_hidden: bool,
    ) -> &'static str {
        match self {
            Purpose::Gradients if is_hidden => {
                "gradients are reduced during the backward pass already, and most of that is hidden: what is left is for the most part what the pass ends with, so let the last bucket be small (`bucket_cap_mb` of `DistributedDataParallel`); where gradients are accumulated, reduce them in the last micro-batch alone (`no_sync()`)."
            }
            Purpose::Gradients => {
                "gradients are reduced during the backward pass already: see in the traces of the other ranks whether this one waits for them; then try other sizes of buckets (`bucket_cap_mb` of `DistributedDataParallel`), reduce once for several micro-batches (`no_sync()`), and narrow what is sent (a communication hook)."
            }
            Purpose::Fsdp => {
                "gather parameters earlier: prefetch those of the next layers in the forward and the backward pass (`forward_prefetch`, `backward_prefetch`, no `limit_all_gathers`; with `fully_shard` `set_modules_to_forward_prefetch`), keep them between both where memory allows (`reshard_after_forward=False`), and shard within a node alone."
            }
            Purpose::Shards => {
                "gather parameters ahead of their use, beside the optimizer's step or the layers before, and scatter gradients during the backward pass; keep what is gathered where memory allows, and shard within a node alone."
            }
            Purpose::Stages => {
                "shorten what stages of the pipeline wait for each other: more micro-batches, or an interleaved schedule; spread layers evenly over the stages, and send and receive (`isend`, `irecv`) while another micro-batch computes."
            }
            Purpose::Tensors if is_training => {
                "run the collectives of tensor parallelism beside its products (asynchronous tensor parallelism), split norms and dropout along the sequence (sequence parallelism), and let fewer GPUs share a layer."
            }
            Purpose::Experts => {
                "run the exchange of expert parallelism beside other work (another micro-batch, shared experts), send less (narrower types, fewer copies of a token), and spread tokens evenly over the ranks."
            }
            Purpose::Sequence => {
                "run the exchange of sequence parallelism (heads against tokens) beside the projections around it, or pass keys and values round in a ring; send less: narrower types, fewer members."
            }
            Purpose::Statistics => {
                "synchronised batch norms wait for tiny messages in each layer: keep them only where the batch of a rank is too small for statistics of its own, share them among fewer ranks (`process_group`), or take a norm without them."
            }
            Purpose::Exchange => {
                "run the exchange beside other work (another micro-batch), send less (narrower types, fewer members), and see that all ranks have an equal share of it."
            }
            Purpose::Unknown if is_training => {
                "reduce gradients asynchronously during the backward pass, in buckets that fit the computation left, and pipeline micro-batches; accumulate gradients, or narrow them, to send less."
            }
            Purpose::Tensors | Purpose::Unknown => {
                "run the collectives of tensor parallelism on another stream beside other work (another micro-batch, prefill beside decode), or send less: narrower types, fewer members."
            }
        }
    }
}

/// What a name above a launch tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Backward,
    Statistics,
}

/// Tells what the collectives of a trace are for.
pub(super) struct Purposes<'a, 'b> {
    input: &'a Input<'b>,
    is_training: bool,
    has_fsdp: bool,
    has_experts: bool,
    has_attention: bool,
    /// By name of an operator.
    marks: HashMap<StringId, Option<Mark>, FxBuildHasher>,
}

impl<'a, 'b> Purposes<'a, 'b> {
    pub(super) fn new(input: &'a Input<'b>) -> Purposes<'a, 'b> {
        let has = |family: Family| {
            let mut operations = input.operations();
            operations.any(|(_, operation, _)| operation.family == family)
        };
        let mut names = input.profile.trace.strings.iter();
        Purposes {
            input,
            is_training: input.is_training(),
            has_fsdp: names
                .any(|(_, name)| name.starts_with("FSDP::") || name.starts_with("fsdp::")),
            has_experts: has(Family::Moe),
            has_attention: has(Family::Attention),
            marks: HashMap::default(),
        }
    }

    /// What a collective of a kind among a group is for.
    pub(super) fn of(&mut self, work: &GpuWork, kind: Kind, group: Group) -> Purpose {
        let trace = &self.input.profile.trace;
        let mark = self.mark(work);
        if mark == Some(Mark::Statistics) {
            return Purpose::Statistics;
        }
        let names = [group.description, group.name].into_iter().flatten();
        match names.filter_map(of_group).next() {
            // Gradients and losses are summed over these groups as well.
            Some(Purpose::Experts | Purpose::Sequence) if kind == Kind::AllReduce => {}
            Some(purpose) => return purpose,
            None => {}
        }
        match kind {
            Kind::SendReceive => Purpose::Stages,
            Kind::AllToAll if self.has_experts || is_of_experts(trace.strings.get(work.name)) => {
                Purpose::Experts
            }
            Kind::AllToAll if self.has_attention => Purpose::Sequence,
            Kind::AllToAll => Purpose::Exchange,
            Kind::AllGather | Kind::ReduceScatter if self.has_fsdp => Purpose::Fsdp,
            Kind::AllGather | Kind::ReduceScatter if self.is_training => Purpose::Shards,
            Kind::AllReduce if mark == Some(Mark::Backward) => Purpose::Gradients,
            _ => Purpose::Unknown,
        }
    }

    /// What the operators above a launch tell: a norm more than the pass that it is part of.
    fn mark(&mut self, work: &GpuWork) -> Option<Mark> {
        let profile = self.input.profile;
        let (trace, tree) = (&profile.trace, &profile.tree);
        let node = tree.node_of(work.launched_by?)?;
        let mut is_backward = false;
        for event in tree.ancestors(node).filter_map(|above| tree.event(above)) {
            let name = trace.events.name(event);
            let mark = self
                .marks
                .entry(name)
                .or_insert_with(|| of_name(trace.strings.get(name)));
            match mark {
                Some(Mark::Statistics) => return Some(Mark::Statistics),
                Some(Mark::Backward) => is_backward = true,
                None => {}
            }
        }
        is_backward.then_some(Mark::Backward)
    }
}

fn of_name(name: &str) -> Option<Mark> {
    if name.contains("SyncBatchNorm") {
        Some(Mark::Statistics)
    } else if name.starts_with(ENGINE_CALL.trim_end()) {
        Some(Mark::Backward)
    } else {
        None
    }
}

/// Kernels that are made for the exchange of experts.
fn is_of_experts(kernel: &str) -> bool {
    let kernel = kernel.to_ascii_lowercase();
    ["dispatch", "combine", "moe", "deep_ep"]
        .iter()
        .any(|word| kernel.contains(word))
}

/// What the description of a group of processes tells: `TENSOR_MODEL_PARALLEL_GROUP`, `mesh_tp`,
/// `ep:0`. Groups of data parallelism are told apart by what they do.
fn of_group(description: &str) -> Option<Purpose> {
    const WORDS: &[(&[&str], Option<Purpose>)] = &[
        (&["data", "dp", "ddp", "fsdp", "shard", "replicate"], None),
        (&["tensor", "tp"], Some(Purpose::Tensors)),
        (&["pipeline", "pp"], Some(Purpose::Stages)),
        (&["expert", "experts", "ep"], Some(Purpose::Experts)),
        (
            &["sequence", "sp", "context", "cp", "ulysses"],
            Some(Purpose::Sequence),
        ),
    ];
    let description = description.to_ascii_lowercase();
    let words = description.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.collect();
    let known = |known: &&str| words.contains(known);
    WORDS
        .iter()
        .find(|(names, _)| names.iter().any(known))
        .and_then(|(_, purpose)| *purpose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_tells_what_it_is_for() {
        let cases = [
            ("TENSOR_MODEL_PARALLEL_GROUP", Some(Purpose::Tensors)),
            ("mesh_tp", Some(Purpose::Tensors)),
            ("PIPELINE_MODEL_PARALLEL_GROUP", Some(Purpose::Stages)),
            ("ep:0", Some(Purpose::Experts)),
            ("sp_pg", Some(Purpose::Sequence)),
            ("DATA_PARALLEL_GROUP_WITH_CP", None),
            ("mesh_dp_shard", None),
            ("default_pg", None),
            ("steps", None),
        ];
        for (description, expected) in cases {
            assert_eq!(of_group(description), expected, "{description}");
        }
    }
}
