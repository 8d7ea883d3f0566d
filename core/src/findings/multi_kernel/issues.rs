//! What rules know about copies and communication.

use super::assess::{CopyAssessment, Facts};
use super::messages::{Reason, saved_by_16_bits};
use super::{communication, copies, tables};
use crate::base::interval::percent_or_zero;
use crate::findings::Severity;
use crate::findings::engine::finding::Estimate;
use crate::findings::prelude::*;
use crate::profile::collectives::{RepeatedTime, StagedTime, Waits};
use crate::profile::gpu::copies::Direction::{
    self, DeviceToDevice, DeviceToHost, HostToDevice, PeerToPeer,
};

impl Subject for Issue<'static> {
    type Of<'a> = Issue<'a>;

    fn evidence(group: &Group<Self>, _: &Rule<Self>) -> Option<Evidence> {
        Some(group.first().evidence.clone())
    }

    fn words(group: &Group<Self>) -> Words {
        group.first().words.clone()
    }
}

/// An issue above its threshold, with the texts shared by all rules that may match it.
pub(super) struct Issue<'a> {
    pub(super) facts: &'a Facts,
    pub(super) about: About<'a>,
    pub(super) severity: Severity,
    pub(super) evidence: Evidence,
    words: Words,
}

pub(super) enum About<'a> {
    Copies(&'a CopyAssessment),
    /// Communication while nothing computes.
    Blocking,
    /// Too little communication overlaps with computation.
    Overlap,
    Uneven,
    /// Copies into and out of the buffers of collectives.
    Staging,
    /// Gradients are reduced after each micro-batch.
    Repeated,
}

pub(super) fn issues<'a>(input: &Input, facts: &'a Facts) -> Vec<Issue<'a>> {
    let copies = facts.assessed.iter().filter(|assessed| {
        assessed.is_flagged
            && match assessed.direction {
                DeviceToHost | HostToDevice => true,
                // These have a finding of their own.
                DeviceToDevice if is_mostly_staging(facts, assessed) => false,
                // Copies between GPUs block no CPU, so their number alone does not matter.
                DeviceToDevice | PeerToPeer => assessed.is_material,
                _ => false,
            }
    });
    let blocking = facts.blocking().is_flagged.then_some(About::Blocking);
    let overlap = facts.overlap().is_flagged.then_some(About::Overlap);
    let communication = blocking.into_iter().chain(overlap);
    let communication: Vec<About> = communication.filter(|_| facts.is_overlap_known).collect();
    let place = match communication.is_empty() {
        true => None,
        false => communication::mostly_in(input),
    };
    let place = place.unwrap_or_default();
    let communication = communication.into_iter();
    let uneven = facts.uneven();
    let line = facts.thresholds.gate_percent_of_total;
    let staging = facts.staging.as_ref();
    let staging = staging.filter(|staging| facts.percent(staging.exposed_ns) >= line);
    let repeated = facts.repeated();
    copies
        .map(|assessed| Issue::of_copies(input, facts, assessed))
        .chain(communication.map(|about| Issue::of_communication(facts, about, &place)))
        .chain(uneven.map(|waits| Issue::of_uneven(input, facts, waits)))
        .chain(staging.map(|staging| Issue::of_staging(facts, staging)))
        .chain(repeated.map(|repeated| Issue::of_repeated(facts, repeated)))
        .collect()
}

/// Whether most of the copies within the GPU are into and out of the buffers of collectives.
fn is_mostly_staging(facts: &Facts, assessed: &CopyAssessment) -> bool {
    let staging_ns = facts
        .staging
        .as_ref()
        .map_or(0, |staging| staging.copies_ns);
    staging_ns > assessed.copies.time_ns / 2
}

impl<'a> Issue<'a> {
    fn of_copies(input: &Input, facts: &'a Facts, assessed: &'a CopyAssessment) -> Issue<'a> {
        let (copies, severity) = (&assessed.copies, assessed.severity());
        let off_critical_path = copies::off_critical_path_share(input, assessed.direction);
        let impact = assessed.impact();
        let origins = || facts.copies.origins_of(assessed.direction);
        let longest = origins().filter_map(|(_, copies)| copies.longest);
        let copies_take = match copies.count {
            1 => "1 copy takes".to_owned(),
            count => format!("{} copies take", format::count(count)),
        };
        let combine = match copies.count {
            0 | 1 => "nothing to gain in a kernel: when the copy runs is what counts",
            _ if assessed.are_bound_by_link() => {
                "nothing to gain in a kernel: the number of bytes is what counts"
            }
            _ if assessed.are_large => {
                "nothing to gain in a kernel: when the copies run is what counts"
            }
            _ => "combine small copies into one: each has its own launch cost",
        };
        Issue {
            facts,
            about: About::Copies(assessed),
            severity,
            evidence: Evidence {
                events: longest.take(10).collect(),
                impact: Some(impact.with_uncertain_share(off_critical_path.unwrap_or(0.0))),
                reasoning: copies::reasoning(input, facts, assessed, off_critical_path),
                tables: vec![tables::origins(input, origins(), "Where they are launched")],
                ..Evidence::new(severity.priority(), copies.time_ns)
            },
            words: vec![
                ("time", format::time_ns(copies.time_ns)),
                ("copies", copies_take),
                ("share", format::percent(assessed.percent)),
                ("exposed", format::time_ns(copies.exposed_ns)),
                (
                    "place",
                    copies::mostly_in(input, origins()).unwrap_or_default(),
                ),
                ("moved", copies::moved(copies)),
                ("combine", combine.to_owned()),
                (
                    "checkpoint",
                    copies::checkpoint(input.profile, assessed.direction).unwrap_or_default(),
                ),
            ],
        }
    }

    fn of_communication(facts: &'a Facts, about: About<'a>, place: &str) -> Issue<'a> {
        let (blocking, overlap) = (facts.blocking(), facts.overlap());
        let of_overlap = overlap.severity.unwrap_or(Severity::Acceptable);
        // Poor overlap of cheap communication is at most one level above its cost.
        let together = of_overlap.min(blocking.severity.worse());
        let exposed_ns = facts.timeline.exposed_comm_ns;
        let high_ns = facts.savable_comm_ns();
        let narrower = saved_by_16_bits(facts).filter(|_| {
            Reason::of(facts) == Some(Reason::Wide) && communication::is_mostly_transfer(facts)
        });
        let low_ns = narrower.map_or(0, |(low_ns, _)| low_ns.min(high_ns));
        let low_ns = facts.to_target_ns().max(low_ns).min(high_ns);
        let longest = facts.collectives.longest.iter();
        let overlaps = overlap.percent.map(format::percent);
        let overlaps =
            overlaps.map(|percent| format!("; {percent} of it overlaps with computation"));
        Issue {
            facts,
            severity: match about {
                About::Blocking => blocking.severity,
                _ => of_overlap,
            },
            about,
            evidence: Evidence {
                events: longest.map(|longest| longest.event).collect(),
                impact: Some(Impact {
                    low_ns,
                    mid_ns: low_ns + (high_ns - low_ns) / 2,
                    high_ns,
                    estimate: Estimate::UpperBound,
                }),
                reasoning: communication::reasoning(facts),
                tables: vec![tables::kinds(facts)],
                ..Evidence::new(together.max(blocking.severity).priority(), exposed_ns)
            },
            words: vec![
                ("time", format::time_ns(exposed_ns)),
                ("all", format::time_ns(facts.timeline.comm_ns)),
                ("share", format::percent(blocking.percent)),
                ("place", place.to_owned()),
                ("overlaps", overlaps.unwrap_or_default()),
                ("bus", communication::bus_clause(facts)),
                holds("at_link", communication::are_links_full(facts)),
                ("advice", communication::advice(facts).to_owned()),
            ],
        }
    }

    fn of_uneven(input: &Input, facts: &'a Facts, waits: Waits) -> Issue<'a> {
        let percent = facts.percent(waits.mean_ns);
        let severity = facts.comm_severity(percent);
        let (last, n_last) = waits.last;
        let last = last.map(|gpu| {
            let gpu = input.profile.trace.strings.get(gpu);
            let (n_last, count) = (format::count(n_last), format::count(waits.count));
            format!(", most often GPU {gpu} ({n_last} of {count})")
        });
        let collectives = format::counted(waits.count, "collective");
        Issue {
            facts,
            about: About::Uneven,
            severity,
            evidence: Evidence {
                impact: Some(Impact::at_most(waits.mean_ns)),
                ..Evidence::new(severity.priority(), waits.mean_ns)
            },
            words: vec![
                ("time", format::time_ns(waits.mean_ns)),
                ("collectives", collectives),
                ("share", format::percent(percent)),
                ("last", last.unwrap_or_default()),
            ],
        }
    }

    fn of_staging(facts: &'a Facts, staging: &'a StagedTime) -> Issue<'a> {
        let severity = facts.comm_severity(facts.percent(staging.exposed_ns));
        let all_ns = staging.copies_ns.saturating_add(staging.collectives_ns);
        let of_all = percent_or_zero(staging.copies_ns, all_ns);
        let size = staging
            .bytes
            .map(|bytes| format!(" of {}", format::bytes(bytes)));
        Issue {
            facts,
            about: About::Staging,
            severity,
            evidence: Evidence {
                events: staging.copies.iter().copied().take(10).collect(),
                impact: Some(Impact::at_most(staging.exposed_ns)),
                tables: vec![tables::kinds(facts)],
                ..Evidence::new(severity.priority(), staging.copies_ns)
            },
            words: vec![
                ("time", format::time_ns(staging.copies_ns)),
                (
                    "copies",
                    format!("{} copies", format::count(staging.n_copies)),
                ),
                ("size", size.unwrap_or_default()),
                (
                    "collectives",
                    format::counted(staging.n_collectives, "collective"),
                ),
                ("share", format::percent(facts.percent(staging.copies_ns))),
                ("of_all", format::percent(of_all)),
                ("all", format::time_ns(all_ns)),
            ],
        }
    }

    fn of_repeated(facts: &'a Facts, repeated: &'a RepeatedTime) -> Issue<'a> {
        let (time_ns, exposed_ns) = (
            facts.of_one_gpu(repeated.time_ns),
            facts.of_one_gpu(repeated.exposed_ns),
        );
        let severity = facts.comm_severity(facts.percent(exposed_ns));
        Issue {
            facts,
            about: About::Repeated,
            severity,
            evidence: Evidence {
                events: repeated.events.iter().copied().take(10).collect(),
                impact: Some(Impact::at_most(exposed_ns)),
                ..Evidence::new(severity.priority(), exposed_ns)
            },
            words: vec![
                ("n", format::count(repeated.n_micro_batches as u64)),
                ("collectives", format::counted(repeated.count, "collective")),
                ("time", format::time_ns(time_ns)),
                ("exposed", format::time_ns(exposed_ns)),
                ("share", format::percent(facts.percent(exposed_ns))),
                holds("sharded", repeated.are_sharded),
            ],
        }
    }

    /// Whether it is about copies in a direction for which a condition holds.
    pub(super) fn copies(&self, direction: Direction, holds: fn(&CopyAssessment) -> bool) -> bool {
        matches!(self.about, About::Copies(all) if all.direction == direction && holds(all))
    }

    pub(super) fn is_of_checkpoint(&self) -> bool {
        let mut words = self.words.iter();
        words.any(|(word, place)| *word == "checkpoint" && !place.is_empty())
    }

    pub(super) fn is_communication(&self) -> bool {
        matches!(self.about, About::Blocking | About::Overlap)
    }

    pub(super) fn is_blocking(&self) -> bool {
        matches!(self.about, About::Blocking)
    }

    /// Whether exposed communication has a cause that its messages show.
    pub(super) fn blocks_by(&self, reason: Reason) -> bool {
        self.is_blocking() && Reason::of(self.facts) == Some(reason)
    }

    /// Next to no communication overlaps with computation.
    pub(super) fn hardly_overlaps(&self) -> bool {
        const HARDLY_PERCENT: f64 = 30.0;
        let percent = self.facts.overlap().percent;
        percent.is_some_and(|percent| percent < HARDLY_PERCENT)
    }
}
