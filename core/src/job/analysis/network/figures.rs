//! What links can carry, for comparison with what they did carry.
//!
//! Within a host, the table of GPUs has the bandwidth of links. Between hosts it is not in the trace; the user has to
//! give the bandwidth of the NICs.

use super::{Path, ranks_of};
use crate::hardware::find;
use crate::job::Job;

/// What the user knows of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NetworkFigures {
    /// What a rank can send to other hosts, in one direction, in 10⁹ bytes per second; `None` if not given.
    pub between_hosts_gbps: Option<f64>,
}

/// What a path can carry in one direction, in 10⁹ bytes per second; `None` if unknown.
pub(super) fn figure_gbps(
    job: &Job,
    figures: NetworkFigures,
    path: Path,
    spans_hosts: bool,
) -> Option<f64> {
    if spans_hosts {
        return figures.between_hosts_gbps;
    }
    let ranks = ranks_of(job, path);
    let mut gpus = ranks.iter().map(|number| {
        let rank = job.ranks.iter().find(|rank| rank.number == *number)?;
        Some(rank.digest.identity.gpu.as_str())
    });
    let first = gpus.next()?.filter(|gpu| !gpu.is_empty())?;
    if !gpus.all(|gpu| gpu == Some(first)) {
        return None;
    }
    Some(find(first)?.links()?.gbps_among(Some(ranks.len() as f64)))
}

#[cfg(test)]
mod tests {
    use crate::job::analysis::network::{Network, NetworkFigures};
    use crate::job::testing::{TestCollective, TestJob};

    /// Ranks 0 and 1 on one host, 2 on another; all-reduces of 4 MiB of floats, which a link between two ranks carries
    /// once, in 1 ms.
    fn shares(gpu: &str, between_hosts_gbps: Option<f64>) -> Vec<Option<f64>> {
        let mut job = TestJob::new(3).gpu(gpu).host(2, "b", 0, 0.0);
        job.step(1, 0, 100_000_000);
        for at in 0..3 {
            let start_ns = 10_000_000 * at;
            let span = |start_ns| (start_ns, start_ns + 1_000_000);
            job.run("1 mesh_tp", "allreduce", &[0, 1], &[span(start_ns); 2]);
            let start_ns = start_ns + 5_000_000;
            job.run("2 mesh_dp", "allreduce", &[0, 2], &[span(start_ns); 2]);
        }
        let job = job.job();
        let timings: Vec<_> = job.collectives.iter().map(|of| job.timing(of)).collect();
        let figures = NetworkFigures { between_hosts_gbps };
        let links = Network::new(&job, &timings, figures).links;
        let shares = links.iter().map(|link| link.share_percent());
        shares.map(|share| share.map(f64::round)).collect()
    }

    #[test]
    fn links_are_held_against_their_figures() {
        // 4.19 MB in 1 ms are 4.19 GB/s. An H100 sends 450 GB/s, all of it to a single other GPU if needed; an MI300X
        // 448 GB/s over seven links, one of which goes to the other rank.
        assert_eq!(shares("H100", None), [Some(1.0), None]);
        assert_eq!(shares("MI300X", None), [Some(7.0), None]);
        // Between hosts the bandwidth is known if given: 50 GB/s for 400 Gbit/s.
        assert_eq!(shares("H100", Some(50.0)), [Some(1.0), Some(8.0)]);
        assert_eq!(shares("", Some(50.0)), [None, Some(8.0)]);
    }

    #[test]
    fn more_than_the_link_carries_is_no_share_of_it() {
        let exceeds = |transfer_ns: i64| {
            let mut job = TestJob::new(2).gpu("MI300X");
            job.step(1, 0, 100_000_000);
            for at in 0..3 {
                let span = (10_000_000 * at, 10_000_000 * at + transfer_ns);
                job.run("1 mesh_tp", "allreduce", &[0, 1], &[span; 2]);
            }
            let job = job.job();
            let timings: Vec<_> = job.collectives.iter().map(|of| job.timing(of)).collect();
            let links = Network::new(&job, &timings, NetworkFigures::default()).links;
            (
                links[0].exceeds_figure(),
                links[0].share_percent().map(f64::round),
            )
        };
        // 4 MiB over a link of 64 GB/s.
        assert_eq!(exceeds(100_000), (false, Some(66.0)));
        assert_eq!(exceeds(20_000), (true, None));
    }

    #[test]
    fn large_messages_that_are_slow_in_some_steps_do_not_use_little_of_the_link() {
        let found = |usual_ns: i64| {
            let mut job = TestJob::new(2).gpu("H100");
            for step in 0..6 {
                let start_ns = 100_000_000 * step;
                job.step(step as u64, start_ns, start_ns + 100_000_000);
                let ns = if step < 3 { usual_ns } else { 5 * usual_ns };
                let span = (start_ns + 1_000, start_ns + 1_000 + ns);
                let of = TestCollective {
                    group: "1 mesh_tp",
                    name: "allreduce",
                    ranks: &[0, 1],
                    elements: 1 << 24,
                };
                job.run_sized(of, &[span; 2]);
            }
            let job = job.job();
            let timings: Vec<_> = job.collectives.iter().map(|of| job.timing(of)).collect();
            let network = Network::new(&job, &timings, NetworkFigures::default());
            (network.slow_steps.len(), network.below_figure.len())
        };
        // 67 MB at 336 and 67 GB/s of 450, then a third of that.
        assert_eq!(found(200_000), (3, 0));
        assert_eq!(found(600_000), (3, 1));
    }
}
