//! How long the calls take that launch kernels.

use std::sync::Arc;

use crate::base::sort::Arrange;
use crate::names::runtime_calls::RuntimeCall;
use crate::profile::Profile;
use crate::trace::{ByName, Category};

/// Calls that launch single kernels, in the analyzed part of the trace.
#[derive(Debug, Default)]
pub(crate) struct LaunchCalls {
    /// `None` without any.
    pub(crate) median_ns: Option<i64>,
    /// Whether nearly all return only after their own kernel has ended, as with `CUDA_LAUNCH_BLOCKING=1`.
    pub(crate) are_blocking: bool,
}

impl LaunchCalls {
    pub(crate) fn once(profile: &Profile) -> Arc<LaunchCalls> {
        profile.once(|| LaunchCalls::of(profile))
    }

    fn of(profile: &Profile) -> LaunchCalls {
        const LEAST_COUNT: usize = 50;
        const LEAST_SHARE: f64 = 0.95;
        let (trace, mut call_of) = (&profile.trace, ByName::new(RuntimeCall::of_name));
        let kernels = profile
            .gpu
            .all()
            .filter(|work| work.category == Category::Kernel && work.span.length() > 0);
        let launched = kernels.filter_map(|work| Some((work.launched_by?, work.span.end_ns)));
        let mut lengths = Vec::new();
        let mut n_blocking = 0;
        for (call, end_ns) in launched {
            if call_of.of(trace, call) == RuntimeCall::Launch {
                let span = trace.events.span(call);
                lengths.push(span.length());
                n_blocking += usize::from(span.end_ns >= end_ns);
            }
        }
        lengths.arrange();
        LaunchCalls {
            median_ns: lengths.get(lengths.len() / 2).copied(),
            are_blocking: lengths.len() >= LEAST_COUNT
                && n_blocking as f64 >= LEAST_SHARE * lengths.len() as f64,
        }
    }
}
