//! How the thread that runs the program spends its time, where no GPU activity was recorded.
//!
//! ```text
//! thread  [ __next__ (loader) ][ forward [aten::mm][aten::relu]   ][ step [aten::add_] ]
//! parts   [ data loading      ][ forward ][ operators ][ forward  ][ optimizer         ]
//! ```
//!
//! A call whose name identifies an activity takes all of its time. So do the steps of optimizers. The rest is split
//! between operators and, by the program's functions, the time outside of them.

use std::collections::BTreeMap;

use crate::base::interval::percent_or_zero;
use crate::base::tally::Tally;
use crate::names::cpu_activity::CpuActivity;
use crate::trace::{EventId, StringId};

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Calls whose names identify what they do.
    Activity(CpuActivity),
    /// Steps of optimizers.
    Optimizer,
    Operators,
    /// A function of the program, outside of operators.
    Function(StringId),
    /// Outside of all recorded calls, or in code of libraries that no function of the program calls.
    Unknown,
}

/// The time of a part, and where most of it is spent.
#[derive(Debug, Clone, Default)]
pub(super) struct PartTime {
    pub(super) ns: i64,
    pub(super) calls: Tally,
    /// The longest of the calls, and its time.
    pub(super) longest: Option<(i64, EventId)>,
    /// In an activity, functions of the program; in a function, those of libraries that it calls: a call of each, and
    /// the time outside of inner ones.
    pub(super) inside: BTreeMap<StringId, (EventId, i64)>,
    /// In a function: the operators that it calls.
    pub(super) operators: Tally,
}

impl PartTime {
    pub(super) fn add_call(&mut self, call: EventId, ns: i64) {
        self.calls.add(ns);
        if self.longest.is_none_or(|(longest_ns, _)| longest_ns < ns) {
            self.longest = Some((ns, call));
        }
    }
}

/// How the time of a thread splits.
#[derive(Debug, Clone, Default)]
pub(super) struct Split {
    pub(super) run_ns: i64,
    pub(super) parts: BTreeMap<Part, PartTime>,
    /// Operators on FP64 values.
    pub(super) double: PartTime,
    /// Attention that computes all scores.
    pub(super) math_attention: PartTime,
    /// The class of the optimizer, and whether one operator updates all parameters.
    pub(super) optimizer: Option<String>,
    pub(super) is_fused: bool,
    /// Compilation after the first of several steps.
    pub(super) recompiling_ns: i64,
}

impl Split {
    pub(super) fn percent(&self, ns: i64) -> f64 {
        percent_or_zero(ns, self.run_ns)
    }
}
