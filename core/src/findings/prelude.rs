//! Common imports of the analyses of operations: operations and their figures, rules and their savings, tables, words.

pub(super) use super::unmodeled::unmodeled;
pub(super) use super::{Docs, Input};
pub(super) use crate::base::format;
pub(super) use crate::base::group::grouped;
pub(super) use crate::base::interval::{percent_of, sum};
pub(super) use crate::base::sort::{Arrange, Arranged};
pub(super) use crate::base::value::{CellColumn, Table, Value};
pub(super) use crate::findings::engine::compute::{
    Gate, NOT_SHOWN, are_large, called_from, efficiency, few_workgroups, is_bottleneck, is_large,
    is_launch_scale, launch_scale_note, matrix_rate, memory_bandwidth, n_calls, no_gpu_note,
    shapes, short_name, time_and_share, time_ns,
};
pub(super) use crate::findings::engine::finding::{Confidence, Effect, Finding, Impact, Priority};
pub(super) use crate::findings::engine::outcome::{Note, Outcome, Row, Status, Topic};
pub(super) use crate::findings::engine::rule::{
    self, Evidence, Group, RowOf, Rule, Saves, Subject, Words,
};
pub(super) use crate::findings::engine::rule::{either, holds, times_by_operation};
