//! Hosts on which every rank delays others.

use super::Cause;
use crate::job::Job;

/// The hosts with several ranks that all have a cause of their own, with these ranks.
pub(crate) fn slow_hosts(job: &Job, causes: &[Cause]) -> Vec<(usize, Vec<usize>)> {
    if job.hosts.len() < 2 || !job.are_hosts_named {
        return Vec::new();
    }
    let mut is_slow = vec![false; job.ranks.len()];
    for cause in causes.iter().filter(|cause| cause.saving_ns.is_some()) {
        if let Some(is_slow) = is_slow.get_mut(cause.rank) {
            *is_slow = true;
        }
    }
    let mut of_hosts: Vec<Vec<usize>> = vec![Vec::new(); job.hosts.len()];
    for (at, rank) in job.ranks.iter().enumerate() {
        if let Some(own) = of_hosts.get_mut(rank.host) {
            own.push(at);
        }
    }
    let hosts = of_hosts.into_iter().enumerate();
    let hosts = hosts
        .filter(|(_, own)| own.len() > 1 && own.iter().all(|at| is_slow.get(*at) == Some(&true)));
    hosts.collect()
}
