//! Which ranks share a host.

use super::Rank;
use super::clocks::Clocks;
use crate::base::sort::Arrange;

/// Clocks that are at most this far apart may be the same clock.
const MOST_APART_NS: f64 = 50_000.0;

/// Gives each rank its host: by name or, where some are unnamed, by the number of GPUs of a host. Also returns whether
/// they are named.
pub(super) fn named_or_counted(ranks: &mut [Rank]) -> (Vec<String>, bool) {
    let are_named = ranks
        .iter()
        .all(|rank| !rank.digest.identity.host.is_empty());
    let names = ranks.iter().map(|rank| {
        let identity = &rank.digest.identity;
        match are_named {
            true => identity.host.clone(),
            false => node(rank.number / identity.n_devices.max(1)),
        }
    });
    let names: Vec<String> = names.collect();
    (give(ranks, names), are_named)
}

/// Groups ranks into hosts by equal clocks, where traces contain neither the names of hosts nor their number of GPUs.
/// `None` where they do, or where clocks cannot be compared.
pub(super) fn by_clocks(ranks: &mut [Rank], clocks: &Clocks) -> Option<Vec<String>> {
    let has_host_info = |rank: &Rank| {
        let identity = &rank.digest.identity;
        !identity.host.is_empty() || identity.n_devices > 0
    };
    if !clocks.are_comparable || ranks.iter().any(has_host_info) {
        return None;
    }
    let offsets: Vec<f64> = clocks.of_rank.iter().map(|clock| clock.offset_ns).collect();
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    let offset = |at: usize| offsets.get(at).copied().unwrap_or(0.0);
    order.arrange_by(|one, other| offset(*one).total_cmp(&offset(*other)).then(one.cmp(other)));
    // For each rank, the rank with the lowest offset on its clock.
    let mut first = vec![0; ranks.len()];
    let mut before: Option<usize> = None;
    let mut lead = 0;
    for at in order {
        if before.is_none_or(|before| offset(at) - offset(before) > MOST_APART_NS) {
            lead = at;
        }
        if let Some(first) = first.get_mut(at) {
            *first = lead;
        }
        before = Some(at);
    }
    // Numbered by their first rank.
    let mut leads: Vec<usize> = Vec::new();
    for lead in &first {
        if !leads.contains(lead) {
            leads.push(*lead);
        }
    }
    let number = |lead: &usize| leads.iter().position(|of| of == lead).unwrap_or(0);
    let names = first.iter().map(|lead| node(number(lead) as u32)).collect();
    Some(give(ranks, names))
}

fn node(number: u32) -> String {
    format!("node {number}")
}

/// Assigns each rank its host by name; returns all names in order of their first rank.
fn give(ranks: &mut [Rank], names: Vec<String>) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for (rank, name) in ranks.iter_mut().zip(names) {
        let known = hosts.iter().position(|host| *host == name);
        rank.host = known.unwrap_or_else(|| {
            hosts.push(name);
            hosts.len() - 1
        });
    }
    hosts
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use crate::job::files::JobFiles;
    use crate::job::testing::TestJob;

    /// The hosts of each of four ranks; the last two are on another clock.
    fn hosts(n_devices: u32) -> (Vec<String>, Vec<usize>) {
        let job = TestJob::on_two_clocks();
        let digests = job.digests().into_iter().map(|mut digest| {
            digest.identity.host.clear();
            digest.identity.n_devices = n_devices;
            digest
        });
        let job_files = JobFiles::new(digests.collect());
        let job = Job::new(job_files.windows.into_iter().next().unwrap());
        (job.hosts, job.ranks.iter().map(|rank| rank.host).collect())
    }

    #[test]
    fn ranks_on_one_clock_share_a_host_where_nothing_else_is_known() {
        let nodes = ["node 0", "node 1"].map(str::to_owned).to_vec();
        assert_eq!(hosts(0), (nodes, vec![0, 0, 1, 1]));
        // The number of GPUs takes precedence over clocks, which may be synchronized between hosts.
        let one = vec!["node 0".to_owned()];
        assert_eq!(hosts(4), (one, vec![0, 0, 0, 0]));
    }
}
