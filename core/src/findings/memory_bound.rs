//! What the analyses of work that the memory bounds share, in its old place.

use super::Input;
pub(crate) use super::compute::is_launch_scale;
pub(super) use super::compute::{
    NOT_SHOWN, are_large, are_many, beyond_roofline_ns, called_from, gbps, launch_scale_note,
    memory_bandwidth, n_calls, operations_table, removable, short_name, small_kernels,
    small_kernels_of, subject, subject_and_time, time_ns,
};
pub(super) use super::unmodelled::unmodelled;
use crate::perf::OpInput;
use crate::profile::operations::Operation;

/// What an operation was called with; `None` where it was not recorded.
pub(super) fn arguments<'a>(input: &Input<'a>, operation: &Operation) -> Option<OpInput<'a>> {
    let trace = &input.profile.trace;
    let name = trace.strings.get(operation.key.name);
    let args = operation.args(input.profile)?;
    Some(OpInput::new(trace, name, args))
}
