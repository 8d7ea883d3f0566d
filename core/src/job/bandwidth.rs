//! How fast data moved by message size, compared with what the links of the GPU can carry.

use serde::{Deserialize, Serialize};

use super::Job;
use super::analysis::Analysis;
use super::analysis::network::{Link, SMALL_BYTES};
use crate::base::sort::Arranged;
use crate::hardware;

/// Bus bandwidth by message size, ready to be drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BandwidthChart {
    /// Sorted by size, then in order of groups.
    pub marks: Vec<BandwidthMark>,
    /// What the links of the GPU carry in each direction, where the GPU is known.
    pub peak: Option<LinkPeak>,
    /// What a rank can send to other hosts, in GB/s, where the user gave it.
    pub between_hosts_gbps: Option<f64>,
}

/// What the links of a GPU to others on its host carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkPeak {
    /// The GPU.
    pub gpu: String,
    /// In each direction, in GB/s.
    pub gbps: f64,
}

/// The collectives of one group and message size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandwidthMark {
    /// "all-reduce of 16.8 MB".
    pub message: String,
    /// Its group, or the two ranks.
    pub between: String,
    /// How many ranks take part.
    pub n_ranks: u32,
    /// Whether they are on several hosts.
    pub spans_hosts: bool,
    /// Size of the message.
    pub bytes: u64,
    /// Number of collectives.
    pub count: u32,
    /// The median transfer time.
    pub median_ns: i64,
    /// Bus bandwidth in GB/s, computed from the median.
    pub gbps: f64,
    /// Percent of what the links between its ranks can carry; `None` where unknown.
    pub percent: Option<f64>,
}

impl BandwidthChart {
    /// Only the marks to draw: leaves out small messages, which measure latency and would stretch both axes, if there
    /// are any larger ones.
    pub fn drawn(&self) -> BandwidthChart {
        let large = self.marks.iter().filter(|mark| mark.bytes >= SMALL_BYTES);
        let large: Vec<BandwidthMark> = large.cloned().collect();
        BandwidthChart {
            marks: if large.is_empty() {
                self.marks.clone()
            } else {
                large
            },
            ..self.clone()
        }
    }

    /// One mark for each group and message size.
    pub fn new(job: &Job, analysis: &Analysis) -> BandwidthChart {
        let peak = peak(job);
        let links = || analysis.network.links.iter();
        // Transfers of incomplete links are only upper bounds.
        let complete = links().filter(|link| link.is_complete());
        let marks = complete
            .filter_map(|link| mark(job, link))
            .arranged_by_key(|mark| mark.bytes);
        let mut between_hosts = links().filter(|link| link.spans_hosts);
        BandwidthChart {
            marks,
            peak,
            between_hosts_gbps: between_hosts.find_map(|link| link.figure_gbps),
        }
    }
}

fn mark(job: &Job, link: &Link) -> Option<BandwidthMark> {
    let gbps = link.bus_gbps.filter(|gbps| *gbps > 0.0)?;
    Some(BandwidthMark {
        message: link.label(),
        between: link.ranks_label(job),
        n_ranks: link.n_ranks as u32,
        spans_hosts: link.spans_hosts,
        bytes: link.message.bytes.filter(|bytes| *bytes > 0)?,
        count: link.collectives.len() as u32,
        median_ns: link.median_ns,
        gbps,
        percent: link.share_percent(),
    })
}

/// The link peak of the GPU, if all ranks have the same one.
fn peak(job: &Job) -> Option<LinkPeak> {
    let mut gpus = job.ranks.iter().map(|rank| &*rank.digest.identity.gpu);
    let first = gpus.next()?;
    let gpu = hardware::find(first).filter(|_| gpus.all(|gpu| gpu == first))?;
    Some(LinkPeak {
        gpu: gpu.name.to_string(),
        gbps: gpu.links()?.gbps(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::NetworkFigures;
    use crate::job::testing::TestJob;

    #[test]
    fn bandwidth_is_held_against_the_link_inside_a_host() {
        let mut job = TestJob::new(4)
            .host(2, "b", 0, 0.0)
            .host(3, "b", 0, 0.0)
            .gpu("MI300X");
        job.step(1, 0, 100_000_000);
        for at in 0..3 {
            let span = |ns: i64| (1_000_000 * (4 * at + 1), 1_000_000 * (4 * at + 1) + ns);
            job.run("1 mesh_tp", "allreduce", &[0, 1], &[span(400_000); 2]);
            let span = |ns: i64| (1_000_000 * (4 * at + 2), 1_000_000 * (4 * at + 2) + ns);
            job.run("2 mesh_dp", "allreduce", &[0, 2], &[span(800_000); 2]);
        }
        let job = job.job();
        let chart = BandwidthChart::new(&job, &Analysis::new(&job));
        assert_eq!(chart.peak.as_ref().map(|peak| peak.gbps), Some(448.0));
        // 4 MiB in 0.4 ms are 10.5 GB/s, which is also the bus bandwidth of two ranks: 16 % of the one link of seven
        // between them.
        let marks: Vec<(&str, bool, String, Option<String>)> = (chart.marks.iter())
            .map(|mark| {
                let percent = mark.percent.map(|percent| format!("{percent:.1}"));
                (
                    &*mark.between,
                    mark.spans_hosts,
                    format!("{:.1}", mark.gbps),
                    percent,
                )
            })
            .collect();
        assert_eq!(
            marks,
            [
                (
                    "mesh_tp 1",
                    false,
                    "10.5".to_owned(),
                    Some("16.4".to_owned())
                ),
                ("mesh_dp 2", true, "5.2".to_owned(), None),
            ]
        );
        assert_eq!((chart.marks[0].count, chart.marks[0].bytes), (3, 4 << 20));
        // The bandwidth of links between hosts is only known if the user gives it.
        assert_eq!(chart.between_hosts_gbps, None);
        let figures = NetworkFigures {
            between_hosts_gbps: Some(50.0),
        };
        let with_figures = BandwidthChart::new(&job, &Analysis::with(&job, figures));
        let percent = with_figures.marks[1]
            .percent
            .map(|percent| format!("{percent:.1}"));
        assert_eq!(with_figures.between_hosts_gbps, Some(50.0));
        assert_eq!(percent.as_deref(), Some("10.5"));
        assert_eq!(chart.drawn(), chart);
        // A message of four bytes appears only in the table.
        let mut with_small = chart.clone();
        let small = BandwidthMark {
            bytes: 4,
            gbps: 1e-4,
            ..chart.marks[0].clone()
        };
        with_small.marks.insert(0, small);
        assert_eq!(with_small.drawn(), chart);
        with_small.marks.truncate(1);
        assert_eq!(with_small.drawn(), with_small);
    }
}
