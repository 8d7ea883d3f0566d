//! What makes two calls of an operator the same operation: name, category, thread and arguments.

use crate::profile::Profile;
use crate::profile::operations::perf_rows::leftover_name;
use crate::trace::{EventId, OpArgsId, StringId};

/// Calls with equal keys form one row. Arguments with equal values have equal ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The operator, or the runtime call if a launch is outside of operators.
    pub name: StringId,
    /// Distinguishes kernels with their own rows under the same name.
    pub kernel: Option<StringId>,
    /// The reference's label.
    pub label: &'static str,
    /// Names of process, process label and thread.
    pub place: [Option<StringId>; 3],
    /// The arguments.
    pub args: Option<OpArgsId>,
    /// Runs during activation recomputation.
    pub is_recompute: bool,
}

impl CallKey {
    /// The name in sheets.
    pub(crate) fn text(&self, profile: &Profile) -> String {
        let strings = &profile.trace.strings;
        let name = strings.get(self.name);
        match self.kernel {
            Some(kernel) => leftover_name(name, strings.get(kernel)),
            None => name.to_owned(),
        }
    }
}

impl CallKey {
    /// The key of a call.
    pub fn new(
        profile: &Profile,
        event: EventId,
        label: &'static str,
        is_recompute: bool,
    ) -> CallKey {
        let trace = &profile.trace;
        let track = trace.tracks.get(trace.events.track(event));
        CallKey {
            name: trace.events.name(event),
            kernel: None,
            label,
            place: track.map_or([None; 3], |track| {
                [track.process_name, track.process_label, track.thread_name]
            }),
            args: trace.events.op_args(event),
            is_recompute,
        }
    }
}
