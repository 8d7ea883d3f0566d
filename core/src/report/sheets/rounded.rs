//! Kernel times behind the rows of sheets, rounded like TraceLens's.
//!
//! Sheets show exact times. The difference of two short times depends on the rounding, and users compare the
//! differences with TraceLens's.

use std::cell::OnceCell;

use super::families::{self, ModeledCalls};
use super::{Rows, SHEETS, ops_summary, ops_unique_args};
use crate::perf::SheetFamily;
use crate::profile::Profile;
use crate::profile::operations::op_table::Op;
use crate::profile::operations::perf_rows::Pass;
use crate::profile::operations::{busy_us, with_parts};

/// The kernel time of the calls of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundedTime {
    /// Sum over the calls, in microseconds.
    pub(crate) sum_us: f64,
    n_calls: usize,
}

impl RoundedTime {
    fn of(times_us: &[f64]) -> RoundedTime {
        RoundedTime {
            sum_us: times_us.iter().sum(),
            n_calls: times_us.len(),
        }
    }

    fn of_ops<'a>(profile: &Profile, ops: impl Iterator<Item = &'a Op>) -> RoundedTime {
        let times_us: Vec<f64> = ops
            .map(|op| busy_us(profile, profile.ops.kernels(op)))
            .collect();
        RoundedTime::of(&times_us)
    }

    /// Average over the calls, in microseconds; a row has at least one call.
    pub(crate) fn mean_us(self) -> f64 {
        self.sum_us / self.n_calls as f64
    }
}

/// Finds the times of the rows of a report's sheets.
pub(crate) struct RoundedTimes<'a> {
    profile: &'a Profile,
    /// Computed once for all sheets that need them.
    modeled_calls: OnceCell<ModeledCalls>,
}

impl<'a> RoundedTimes<'a> {
    pub(crate) fn new(profile: &'a Profile) -> RoundedTimes<'a> {
        RoundedTimes {
            profile,
            modeled_calls: OnceCell::new(),
        }
    }

    /// The time of each row of a sheet, in order; empty for a sheet with other times.
    pub(crate) fn of_sheet(&self, name: &str) -> Vec<RoundedTime> {
        match name {
            "ops_summary" => self.of_names(),
            "ops_unique_args" => self.of_args(),
            "unified_perf_summary" => self.of_operations(),
            _ => match SHEETS
                .iter()
                .find(|kind| kind.name == name)
                .map(|kind| &kind.rows)
            {
                Some(Rows::Calls(family, pass)) => self.of_family(*family, *pass),
                _ => Vec::new(),
            },
        }
    }

    fn of_names(&self) -> Vec<RoundedTime> {
        let groups = ops_summary::groups(self.profile);
        let ops = groups.iter();
        let ops = ops.map(|(_, group)| group.calls.iter().map(|(_, op)| *op));
        ops.map(|ops| RoundedTime::of_ops(self.profile, ops))
            .collect()
    }

    fn of_args(&self) -> Vec<RoundedTime> {
        let groups = ops_unique_args::groups(self.profile);
        let ops = groups.iter().map(|group| group.calls.iter().copied());
        ops.map(|ops| RoundedTime::of_ops(self.profile, ops))
            .collect()
    }

    fn of_operations(&self) -> Vec<RoundedTime> {
        let operations = self.profile.operations().iter();
        let rows = operations.filter(|operation| operation.has_own_row());
        rows.map(|operation| RoundedTime::of(&with_parts(self.profile, operation).times_us))
            .collect()
    }

    fn of_family(&self, family: SheetFamily, pass: Pass) -> Vec<RoundedTime> {
        let calls = self
            .modeled_calls
            .get_or_init(|| ModeledCalls::new(self.profile));
        let groups = families::groups(self.profile, calls, family, pass);
        let times_us = groups.iter().map(|group| &group.times_us);
        times_us.map(|times_us| RoundedTime::of(times_us)).collect()
    }
}
