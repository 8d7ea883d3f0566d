//! Who asked for copies: the operator, the line of the user, or `DistributedDataParallel`.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Direction, HostMemory};
use crate::findings::Input;
use crate::names::modules::is_framework;
use crate::profile::Profile;
use crate::profile::tree::NodeId;
use crate::trace::{Category, EventId, StringId};

/// Who asked for copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::findings::multi_kernel) struct Asker {
    pub(in crate::findings::multi_kernel) direction: Direction,
    pub(in crate::findings::multi_kernel) memory: Option<HostMemory>,
    /// Which copies of `DistributedDataParallel` they are, if any. Their `op` or `frame` says so.
    pub(in crate::findings::multi_kernel) of_ddp: Option<OfDdp>,
    /// The operator around the launch, or the launching call where there is none.
    pub(in crate::findings::multi_kernel) op: Option<StringId>,
    /// The nearest Python function of the user's own.
    pub(in crate::findings::multi_kernel) frame: Option<StringId>,
}

/// What `DistributedDataParallel` copies within the GPU of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::findings::multi_kernel) enum OfDdp {
    /// Gradients, out of the buckets that were reduced.
    Gradients,
    /// Buffers of the model, into messages and back.
    Buffers,
}

impl OfDdp {
    pub(in crate::findings::multi_kernel) const ALL: [OfDdp; 2] =
        [OfDdp::Gradients, OfDdp::Buffers];

    /// In a sentence: "copy …".
    pub(in crate::findings::multi_kernel) fn label(self) -> &'static str {
        match self {
            OfDdp::Gradients => "gradients out of the buckets of `DistributedDataParallel`",
            OfDdp::Buffers => {
                "buffers of the model, which `DistributedDataParallel` broadcasts before each forward pass"
            }
        }
    }

    /// By the name of an operator or a Python frame around a copy.
    fn of_name(name: &str) -> Option<OfDdp> {
        if name.starts_with("torch.distributed.ddp.reducer::copy_bucket_to_grad") {
            Some(OfDdp::Gradients)
        } else if name.ends_with(": _sync_module_buffers") || name.contains("_broadcast_coalesced")
        {
            Some(OfDdp::Buffers)
        } else {
            None
        }
    }
}

/// The user's Python functions above calls.
pub(super) struct Frames<'a, 'b> {
    input: &'a Input<'b>,
    has_frames: bool,
    n_left: u32,
    /// By name of a frame.
    is_user: HashMap<StringId, bool, FxBuildHasher>,
}

impl<'a, 'b> Frames<'a, 'b> {
    /// Looking further than this many copies says nothing new.
    const MOST: u32 = 20_000;

    pub(super) fn new(input: &'a Input<'b>) -> Frames<'a, 'b> {
        Frames {
            input,
            has_frames: input.profile.has_python_frames(),
            n_left: Self::MOST,
            is_user: HashMap::default(),
        }
    }

    pub(super) fn above(&mut self, call: EventId) -> Option<StringId> {
        if !self.has_frames || self.n_left == 0 {
            return None;
        }
        self.n_left -= 1;
        let profile = self.input.profile;
        let (trace, tree) = (&profile.trace, profile.full_tree());
        let node: NodeId = tree.node_of(call)?;
        tree.ancestors(node).find_map(|above| {
            let event = tree.event(above)?;
            if trace.events.category(event) != Category::PythonFunction {
                return None;
            }
            let name = trace.events.name(event);
            let is_user = *self
                .is_user
                .entry(name)
                .or_insert_with(|| !is_framework(trace.strings.get(name)));
            is_user.then_some(name)
        })
    }
}

/// The spans of `DistributedDataParallel` above calls.
pub(super) struct Ddp<'a> {
    profile: &'a Profile,
    /// By name of a span.
    names: HashMap<StringId, OfDdp, FxBuildHasher>,
}

impl<'a> Ddp<'a> {
    pub(super) fn new(input: &Input<'a>) -> Ddp<'a> {
        let strings = input.profile.trace.strings.iter();
        Ddp {
            profile: input.profile,
            names: strings
                .filter_map(|(id, name)| Some((id, OfDdp::of_name(name)?)))
                .collect(),
        }
    }

    pub(super) fn above(&self, call: EventId) -> Option<(OfDdp, EventId)> {
        if self.names.is_empty() {
            return None;
        }
        let profile = self.profile;
        let tree = match profile.has_python_frames() {
            true => profile.full_tree(),
            false => &profile.tree,
        };
        tree.ancestors(tree.node_of(call)?).find_map(|above| {
            let event = tree.event(above)?;
            let of_ddp = self.names.get(&profile.trace.events.name(event))?;
            Some((*of_ddp, event))
        })
    }
}
