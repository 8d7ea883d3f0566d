//! Ranks of a job, written like a timetable: the collectives of each, in microseconds on its clock.

use std::ops::Range;

use crate::base::interval::Interval;
use crate::job::clocks::Clock;
use crate::job::digest::{Collective, Digest, OwnTime, RankFrom, SourceFile, Step, VERSION};
use crate::job::files::JobFiles;
use crate::job::sheets::{JobSheet, sheets};
use crate::job::testing::{group_id, text};
use crate::job::{Analysis, Job};

/// A process group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) ranks: &'static [u32],
}

/// Ranks under construction.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    digests: Vec<Digest>,
}

impl Ranks {
    /// All ranks of a job, two per host, with one step of a second.
    pub(super) fn new(n: u32) -> Ranks {
        let digests = (0..n).map(|rank| {
            let mut digest = Digest {
                dormer_digest: VERSION,
                file: SourceFile {
                    name: format!("rank{rank}.json"),
                    bytes: 1,
                },
                base_ns: Some(0),
                ..Digest::default()
            };
            digest.identity.rank = Some(rank);
            digest.identity.rank_from = RankFrom::Metadata;
            digest.identity.world_size = Some(n);
            digest.identity.host = format!("node{}", rank / 2);
            digest.identity.n_devices = 2;
            digest.texts.push(String::new());
            with_step(digest, 7, 0..1_000_000)
        });
        Ranks {
            digests: digests.collect(),
        }
    }

    /// Adds another step of all ranks.
    pub(super) fn step(mut self, number: u64, us: Range<i64>) -> Ranks {
        let digests = std::mem::take(&mut self.digests).into_iter();
        self.digests = digests
            .map(|digest| with_step(digest, number, us.clone()))
            .collect();
        self
    }

    /// Adds a collective of one rank: its type, elements in and out, when it ran.
    pub(super) fn ran(
        mut self,
        rank: usize,
        of: Of,
        name: &str,
        [given, got]: [u64; 2],
        us: Range<i64>,
    ) -> Ranks {
        let digest = &mut self.digests[rank];
        let group = group_id(digest, of.name, of.description, of.ranks);
        let span = Interval::new(us.start * 1000, us.end * 1000);
        let step = digest
            .steps
            .iter()
            .position(|step| step.host.contains(span.start_ns));
        let one = Collective {
            group: Some(group),
            name: text(digest, name),
            kernel: text(digest, "ncclDevKernel_Generic"),
            dtype: text(digest, "BFloat16"),
            given: Some(given),
            got: Some(got),
            splits: [text(digest, "[]"); 2],
            peer: None,
            position: None,
            seq: None,
            stream: Some(3),
            step: step.map(|at| at as u32),
            span,
            is_in_sheets: true,
            before: None,
            own: Some(OwnTime {
                total_ns: 5_000,
                work_ns: 4_000,
                ..OwnTime::default()
            }),
            late_by: 0,
            exposed_ns: span.length(),
            is_repeated: false,
        };
        digest.collectives.push(one);
        self
    }

    /// Changes the last collective of a rank.
    pub(super) fn with(mut self, rank: usize, change: impl FnOnce(&mut Collective)) -> Ranks {
        change(self.digests[rank].collectives.last_mut().unwrap());
        self
    }

    /// Sets how the elements of the last collective of a rank are split over the ranks.
    pub(super) fn splits(mut self, rank: usize, splits: [&str; 2]) -> Ranks {
        let splits = splits.map(|split| text(&mut self.digests[rank], split));
        self.with(rank, |one| one.splits = splits)
    }

    /// Gives the last collective of a rank another element type.
    pub(super) fn of_type(mut self, rank: usize, dtype: &str) -> Ranks {
        let id = text(&mut self.digests[rank], dtype);
        self.with(rank, |one| one.dtype = id)
    }

    /// Removes a rank.
    pub(super) fn without(mut self, rank: usize) -> Ranks {
        self.digests.remove(rank);
        self
    }

    /// Reverses the order of the files.
    pub(super) fn reversed(mut self) -> Ranks {
        self.digests.reverse();
        self
    }

    pub(super) fn digest(mut self, rank: usize, change: impl FnOnce(&mut Digest)) -> Ranks {
        change(&mut self.digests[rank]);
        self
    }

    /// The job, with a single clock.
    pub(super) fn job(self) -> Job {
        let mut job_files = JobFiles::new(self.digests);
        let mut job = Job::new(job_files.windows.remove(0));
        let clock = Clock {
            is_joined: true,
            ..Clock::default()
        };
        job.clocks.of_rank = vec![clock; job.ranks.len()];
        job.clocks.are_comparable = true;
        job
    }

    /// A sheet of the job as text; empty where it has no rows.
    pub(super) fn sheet(self, name: &str) -> Text {
        Text::of(&self.job(), name)
    }
}

fn with_step(mut digest: Digest, number: u64, us: Range<i64>) -> Digest {
    let name = text(&mut digest, &format!("ProfilerStep#{number}"));
    digest.steps.push(Step {
        name,
        number: Some(number),
        host: Interval::new(us.start * 1000, us.end * 1000),
        gpu: Default::default(),
        between_ns: 1_000 * i64::from(digest.identity.rank.unwrap_or(0)) + 2_000,
        loading_ns: 0,
    });
    digest
}

/// A sheet with its cells as text.
pub(super) struct Text(pub(super) JobSheet);

impl Text {
    pub(super) fn of(job: &Job, name: &str) -> Text {
        let mut sheets = sheets(job, &Analysis::new(job), &[]).into_iter();
        let empty = JobSheet {
            name: name.to_owned(),
            columns: Vec::new(),
            rows: Vec::new(),
        };
        Text(sheets.find(|sheet| sheet.name == name).unwrap_or(empty))
    }

    /// The cells of some columns, a line for each row.
    pub(super) fn columns(&self, labels: &[&str]) -> Vec<String> {
        let rows = self.0.texts(labels).into_iter();
        rows.map(|cells| cells.join(" | ")).collect()
    }
}
