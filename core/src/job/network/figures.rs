//! What links can carry, to hold what they did carry against.
//!
//! Inside of a host the table of GPUs tells it. Between hosts nothing in a trace does: whoever knows the
//! network cards says it.

use super::{Path, ranks_of};
use crate::hardware::{Vendor, find};
use crate::job::Job;

/// AMD's GPUs of a host have a link to each of seven others; a group uses those between its ranks.
const LINKS_OF_AMD: f64 = 7.0;

/// What the user knows of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NetworkFigures {
    /// What a rank can send to other hosts, one way, in units of 10⁹ bytes a second; `None` where nobody
    /// says.
    pub between_hosts_gbps: Option<f64>,
}

/// What a path can carry one way, in units of 10⁹ bytes a second; `None` where nothing tells.
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
    let gpu = find(first)?;
    let used = match gpu.vendor {
        Some(Vendor::Amd) => ((ranks.len() as f64 - 1.0) / LINKS_OF_AMD).min(1.0),
        _ => 1.0,
    };
    // The table has both directions together.
    Some(gpu.link_gbps? / 2.0 * used).filter(|gbps| *gbps > 0.0)
}

#[cfg(test)]
mod tests {
    use crate::job::network::{Network, NetworkFigures};
    use crate::job::testing::TestJob;

    /// Ranks 0 and 1 on a host, 2 on another; all-reduces of 4 MiB of floats, which a link between two
    /// carries once, in 1 ms.
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
        // 4.19 MB in 1 ms are 4.19 GB/s. An H100 sends 450 GB/s, all of it to one other if it must;
        // an MI300X 448 GB/s over seven links, one of which goes to the other rank.
        assert_eq!(shares("H100", None), [Some(1.0), None]);
        assert_eq!(shares("MI300X", None), [Some(7.0), None]);
        // Between hosts there is a figure where someone says it: 50 GB/s for 400 Gbit/s.
        assert_eq!(shares("H100", Some(50.0)), [Some(1.0), Some(8.0)]);
        assert_eq!(shares("", Some(50.0)), [None, Some(8.0)]);
    }
}
