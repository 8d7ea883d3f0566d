//! Which code requested copies: the operator, the line of user code, or `DistributedDataParallel`.

use super::{Direction, HostMemory};
use crate::base::map::Map;
use crate::names::frames::is_framework;
use crate::profile::Profile;
use crate::trace::{ByName, Category, EventId, StringId};

/// The code that requested copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CopyOrigin {
    pub(crate) direction: Direction,
    pub(crate) memory: Option<HostMemory>,
    /// Which kind of `DistributedDataParallel` copy it is, if any, according to `op` or `frame`.
    pub(crate) of_ddp: Option<DdpCopy>,
    /// The operator around the launch, or the launching call if there is none.
    pub(crate) op: Option<StringId>,
    /// The nearest Python function in user code.
    pub(crate) frame: Option<StringId>,
}

/// Device-to-device copies that `DistributedDataParallel` makes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DdpCopy {
    /// Gradients, out of the reduced buckets.
    Gradients,
    /// Module buffers, into messages and back.
    Buffers,
}

impl DdpCopy {
    pub(crate) const ALL: [DdpCopy; 2] = [DdpCopy::Gradients, DdpCopy::Buffers];

    /// From the name of an operator or Python frame around a copy.
    fn of_name(name: &str) -> Option<DdpCopy> {
        if name.starts_with("torch.distributed.ddp.reducer::copy_bucket_to_grad") {
            Some(DdpCopy::Gradients)
        } else if name.ends_with(": _sync_module_buffers") || name.contains("_broadcast_coalesced")
        {
            Some(DdpCopy::Buffers)
        } else {
            None
        }
    }
}

/// Finds the user's Python functions above calls.
pub(crate) struct Frames<'a> {
    profile: &'a Profile,
    has_frames: bool,
    n_left: u32,
    is_framework: ByName<bool>,
}

impl<'a> Frames<'a> {
    /// At most this many calls are looked up; more reveal nothing new.
    const MOST: u32 = 20_000;

    pub(crate) fn new(profile: &'a Profile) -> Frames<'a> {
        Frames {
            profile,
            has_frames: profile.has_python_frames(),
            n_left: Self::MOST,
            is_framework: ByName::new(is_framework),
        }
    }

    /// The innermost one.
    pub(crate) fn above(&mut self, call: EventId) -> Option<StringId> {
        if !self.has_frames || self.n_left == 0 {
            return None;
        }
        self.n_left -= 1;
        let trace = &self.profile.trace;
        let mut around = self.profile.full_tree().calls_around(call);
        let user_frame = around.find(|call| {
            let is_frame = trace.events.category(*call) == Category::PythonFunction;
            is_frame && !self.is_framework.of(trace, *call)
        });
        user_frame.map(|frame| trace.events.name(frame))
    }
}

/// Finds the spans of `DistributedDataParallel` above calls.
pub(super) struct Ddp<'a> {
    profile: &'a Profile,
    /// By span name.
    names: Map<StringId, DdpCopy>,
}

impl<'a> Ddp<'a> {
    pub(super) fn new(profile: &'a Profile) -> Ddp<'a> {
        let strings = profile.trace.strings.iter();
        Ddp {
            profile,
            names: strings
                .filter_map(|(id, name)| Some((id, DdpCopy::of_name(name)?)))
                .collect(),
        }
    }

    pub(super) fn above(&self, call: EventId) -> Option<(DdpCopy, EventId)> {
        if self.names.is_empty() {
            return None;
        }
        let mut around = self.profile.full_tree().calls_around(call);
        around.find_map(|call| {
            let of_ddp = self.names.get(&self.profile.trace.events.name(call))?;
            Some((*of_ddp, call))
        })
    }
}
