//! Which node a rank is on, as a number, and whether a group spans several.

use crate::base::map::Map;
use crate::base::sort::Arranged;
use crate::job::Job;

/// The value where it is unknown whether ranks are on one node.
pub(super) const UNKNOWN_SPAN: &str = "unknown";

/// The nodes of a job.
#[derive(Debug)]
pub(super) enum Nodes {
    /// Each node has as many ranks as GPUs.
    OfSize(u32),
    /// By host name: the node of each rank that was read, by number of the rank.
    Named(Map<u32, usize>),
    /// The traces contain neither.
    Unknown,
}

impl Nodes {
    /// By the number of GPUs, as the reference counts nodes, unless that contradicts the names of hosts.
    pub(super) fn new(job: &Job) -> Nodes {
        let sizes = || job.ranks.iter().map(|rank| rank.digest.identity.n_devices);
        let size = sizes().max().filter(|size| *size > 0);
        let size = size.filter(|size| sizes().all(|of| of == *size));
        let fits = |size: u32| {
            let mut ranks = job.ranks.iter();
            let of = |host: usize| {
                let mut same = job.ranks.iter().filter(move |rank| rank.host == host);
                same.next().map(|rank| rank.number / size)
            };
            let differ = || {
                let hosts = (0..job.hosts.len()).map(of).arranged();
                hosts.windows(2).all(|pair| pair.first() != pair.last())
            };
            ranks.all(|rank| of(rank.host) == Some(rank.number / size)) && differ()
        };
        match size {
            Some(size) if !job.are_hosts_named || fits(size) => Nodes::OfSize(size),
            _ if job.are_hosts_named => {
                let ranks = job.ranks.iter();
                Nodes::Named(ranks.map(|rank| (rank.number, rank.host)).collect())
            }
            _ => Nodes::Unknown,
        }
    }

    /// The node of a rank, by its number.
    pub(super) fn of(&self, rank: u32) -> Option<i64> {
        match self {
            Nodes::OfSize(size) => Some(i64::from(rank / size)),
            Nodes::Named(hosts) => {
                let host = hosts.get(&rank);
                host.and_then(|host| i64::try_from(*host).ok())
            }
            Nodes::Unknown => None,
        }
    }

    /// Whether some ranks are on one node, in the reference's terms.
    pub(super) fn span(&self, ranks: &[u32]) -> &'static str {
        let nodes: Option<Vec<i64>> = ranks.iter().map(|rank| self.of(*rank)).collect();
        match nodes.as_deref() {
            None | Some([]) => UNKNOWN_SPAN,
            Some([first, rest @ ..]) if rest.iter().all(|node| node == first) => "intra_node",
            Some(_) => "inter_node",
        }
    }
}
