//! Code that is independent of traces and GPUs: intervals, sorting, formatting of numbers, tables of values.

pub mod calendar;
pub mod file_error;
pub mod format;
pub mod group;
pub(crate) mod gzip_json;
pub mod interval;
pub(crate) mod labels;
pub mod log_scale;
pub(crate) mod map;
pub mod parallel;
pub mod periods;
pub(crate) mod row_id;
pub(crate) mod row_set;
pub(crate) mod sequence;
pub mod sort;
pub mod stats;
pub mod tally;
pub(crate) mod trend;
pub mod value;
