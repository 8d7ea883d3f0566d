//! The number of ranks of collectives that do not record it.

use crate::perf::OpInput;
use crate::profile::Profile;
use crate::trace::distributed::{info, layer_ranks};
use crate::trace::{EventId, Trace};

/// The process groups listed in the trace.
#[derive(Debug, Default)]
pub(super) struct Ranks {
    /// Name and size.
    groups: Vec<(String, f64)>,
    /// The size of every group with several ranks, if all have the same size: all ranks.
    pub(super) only: Option<f64>,
}

impl Ranks {
    pub(super) fn new(trace: &Trace) -> Ranks {
        let groups = groups(trace);
        Ranks {
            groups: groups.unwrap_or_default(),
            only: layer_ranks(trace).filter(|n| *n > 1).map(|n| n as f64),
        }
    }

    /// The size of the group whose name an operator received as an argument.
    pub(super) fn of_call(&self, profile: &Profile, call: EventId) -> Option<f64> {
        let input = OpInput::of_call(&profile.trace, call)?;
        let mut values = (0..input.n_args()).map(|at| input.value(at).trim_matches(['\'', '"']));
        values.find_map(|value| {
            let mut groups = self.groups.iter();
            groups
                .find(|(name, _)| !value.is_empty() && name == value)
                .map(|(_, size)| *size)
        })
    }
}

fn groups(trace: &Trace) -> Option<Vec<(String, f64)>> {
    let info = info(trace)?;
    let groups = info.get("pg_config")?.as_array()?.iter();
    let named = groups.filter_map(|group| {
        let name = group.get("pg_name")?;
        let name = name
            .as_str()
            .map_or_else(|| name.to_string(), str::to_owned);
        Some((name, group.get("pg_size")?.as_f64()?))
    });
    Some(named.collect())
}
