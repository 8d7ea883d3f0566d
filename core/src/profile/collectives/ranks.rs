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
    n_linked: Option<u64>,
}

/// GPUs whose links join several hosts, by their names, and how many they join.
const RACKS: [(&str, u64); 2] = [("GB200", 72), ("GB300", 72)];

/// Number of GPUs that fast links join: those of a host. `None` if the trace lists a single GPU, which may be the only
/// one that the process sees.
pub(crate) fn linked_gpus(trace: &Trace) -> Option<u64> {
    let first = trace.devices.first()?;
    let mut racks = RACKS.iter();
    let rack = racks.find(|(name, _)| first.name.contains(name));
    let of_host = trace.devices.len() as u64;
    rack.map(|(_, n)| *n).or(Some(of_host).filter(|n| *n > 1))
}

impl Ranks {
    pub(super) fn new(trace: &Trace) -> Ranks {
        let groups = groups(trace);
        Ranks {
            groups: groups.unwrap_or_default(),
            only: layer_ranks(trace).filter(|n| *n > 1).map(|n| n as f64),
            n_linked: linked_gpus(trace),
        }
    }

    /// Whether a group has ranks on several hosts: more than GPUs are linked, or with numbers of several hosts, as if
    /// each had a rank for each of its GPUs.
    pub(super) fn span_hosts(&self, size: Option<f64>, ranks: Option<&str>) -> bool {
        let Some(n_linked) = self.n_linked else {
            return false;
        };
        let numbers = ranks
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .split(',');
        let numbers = numbers.filter_map(|rank| rank.trim().parse::<u64>().ok());
        let mut hosts = numbers.map(|rank| rank / n_linked);
        let first = hosts.next();
        size.is_some_and(|size| size > n_linked as f64) || hosts.any(|host| Some(host) != first)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_spans_hosts_by_its_size_or_the_numbers_of_its_ranks() {
        let of = |n_linked, size, ranks| {
            let ranks_of = Ranks {
                n_linked,
                ..Ranks::default()
            };
            ranks_of.span_hosts(Some(size), Some(ranks))
        };
        assert!(of(Some(8), 16.0, ""));
        assert!(of(Some(8), 2.0, "[0, 8]"));
        assert!(of(Some(8), 32.0, "[0, 1, 2, ...]"));
        assert!(!of(Some(8), 8.0, "[8, 9, 10, 11, 12, 13, 14, 15]"));
        assert!(!of(Some(72), 16.0, "[0, 8]"));
        // A single visible GPU does not show how many the host has.
        assert!(!of(None, 16.0, "[0, 8]"));
    }
}
