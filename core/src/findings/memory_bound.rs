//! What moved to `compute` and `unmodelled`, for those that look for it here.

pub(super) use super::compute::{
    NOT_SHOWN, are_large, called_from, gbps, is_launch_scale, n_calls, operations_table,
    short_name, subject, time_ns,
};
pub(super) use super::unmodelled::unmodelled;
