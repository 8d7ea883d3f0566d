//! Small jobs for tests, built by hand.

mod examples;

use super::Job;
use super::digest::{
    Collective, Digest, GpuTime, GroupText, NamedGroup, OwnTime, RankFrom, Step, TextId, VERSION,
    Work,
};
use super::files::JobFiles;
use crate::base::interval::Interval;
use crate::base::sort::Arrange;
use crate::import::warning::{Warning, WarningKind};

pub(crate) const MS: i64 = 1_000_000;

/// A job under construction. Times are on the true clock; the ranks' clocks are applied at the end.
pub(crate) struct TestJob {
    ranks: Vec<TestRank>,
}

struct TestRank {
    digest: Digest,
    ahead_ns: i64,
    drift: f64,
    /// For collectives by start: how much of the own time before it was late, and because of what.
    late: Vec<(i64, i64, &'static str)>,
    /// The same for copies, and for time in which nothing ran although it was launched.
    copies: Vec<(i64, i64)>,
    idle: Vec<(i64, i64)>,
}

/// A kernel with its operator, shapes and category.
pub(crate) struct TestWork {
    pub(crate) kernel: &'static str,
    pub(crate) op: &'static str,
    pub(crate) shapes: &'static str,
    pub(crate) category: &'static str,
}

pub(crate) const GEMM: TestWork = TestWork {
    kernel: "gemm_kernel",
    op: "aten::mm",
    shapes: "8×8, 8×8",
    category: "GEMM",
};

pub(crate) const NORM: TestWork = TestWork {
    kernel: "norm_kernel",
    op: "aten::layer_norm",
    shapes: "8×8",
    category: "Normalization",
};

/// A collective of a group of ranks.
#[derive(Clone, Copy)]
pub(crate) struct TestCollective<'a> {
    /// Name and description of the group, "1 mesh_tp"; empty if they are unknown.
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    /// The ranks of the group.
    pub(crate) ranks: &'a [u32],
    pub(crate) elements: u64,
}

impl TestJob {
    /// A job with this many ranks on host "a".
    pub(crate) fn new(ranks: u32) -> TestJob {
        let ranks = (0..ranks).map(|rank| {
            let mut digest = Digest {
                dormer_digest: VERSION,
                base_ns: Some(0),
                texts: vec![String::new()],
                ..Digest::default()
            };
            digest.file.name = format!("rank{rank}.json");
            digest.identity.rank = Some(rank);
            digest.identity.rank_from = RankFrom::Metadata;
            digest.identity.world_size = Some(ranks);
            digest.identity.host = "a".to_owned();
            TestRank {
                digest,
                ahead_ns: 0,
                drift: 0.0,
                late: Vec::new(),
                copies: Vec::new(),
                idle: Vec::new(),
            }
        });
        TestJob {
            ranks: ranks.collect(),
        }
    }

    /// Puts a rank on a host whose clock is ahead.
    pub(crate) fn host(mut self, rank: usize, host: &str, ahead_ns: i64, drift: f64) -> TestJob {
        let rank = &mut self.ranks[rank];
        rank.digest.identity.host = host.to_owned();
        (rank.ahead_ns, rank.drift) = (ahead_ns, drift);
        self
    }

    /// Sets the GPU of all ranks, by its name in the table.
    pub(crate) fn gpu(mut self, gpu: &str) -> TestJob {
        for rank in &mut self.ranks {
            rank.digest.identity.gpu = gpu.to_owned();
        }
        self
    }

    /// Gives all ranks GPU activity, from the first start of what exists so far to its last end.
    pub(crate) fn on_gpus(mut self) -> TestJob {
        for rank in &mut self.ranks {
            let span = rank.digest.span(0);
            rank.digest.gpu = Some(GpuTime {
                span,
                ..GpuTime::default()
            });
        }
        self
    }

    /// Adds a step of all ranks.
    pub(crate) fn step(&mut self, number: u64, start_ns: i64, end_ns: i64) {
        for rank in &mut self.ranks {
            let name = text(&mut rank.digest, &format!("ProfilerStep#{number}"));
            rank.digest.steps.push(Step {
                name,
                number: Some(number),
                host: Interval::new(start_ns, end_ns),
                gpu: Default::default(),
                between_ns: 0,
                loading_ns: 0,
            });
        }
    }

    /// Adds a collective of a group, "1 mesh_tp", with the times at which some ranks ran it.
    pub(crate) fn run(&mut self, group: &str, name: &str, ranks: &[u32], spans: &[(i64, i64)]) {
        let of = TestCollective {
            group,
            name,
            ranks,
            elements: 1 << 20,
        };
        self.run_sized(of, spans);
    }

    /// The same with a number of elements.
    pub(crate) fn run_sized(&mut self, of: TestCollective, spans: &[(i64, i64)]) {
        for (rank, span) in of.ranks.iter().zip(spans) {
            self.run_of(of, *rank, *span);
        }
    }

    /// Adds one rank's part in a collective.
    pub(crate) fn run_of(&mut self, of: TestCollective, rank: u32, span: (i64, i64)) {
        self.add(of, rank, span, None);
    }

    /// Sets the sequence number of the collective that each rank added last.
    pub(crate) fn seq(&mut self, seq: u64) {
        for rank in &mut self.ranks {
            if let Some(of) = rank.digest.collectives.last_mut() {
                of.seq = Some(seq);
            }
        }
    }

    /// Adds a transfer from one rank of a group to another: when the first sent and when the other received.
    pub(crate) fn send(
        &mut self,
        group: &str,
        ranks: &[u32],
        pair: [u32; 2],
        spans: [(i64, i64); 2],
    ) {
        let [from, to] = pair;
        let position = |rank| ranks.iter().position(|of| *of == rank).unwrap() as u32;
        let [send, receive] = spans;
        let of = |name| TestCollective {
            group,
            name,
            ranks,
            elements: 1 << 20,
        };
        self.add(of("send"), from, send, Some(position(to)));
        self.add(of("recv"), to, receive, Some(position(from)));
    }

    /// Adds one rank's part; `peer` is the position in the group of the other rank of a transfer.
    fn add(
        &mut self,
        of: TestCollective,
        rank: u32,
        (start_ns, end_ns): (i64, i64),
        peer: Option<u32>,
    ) {
        let TestCollective {
            group,
            name,
            ranks,
            elements,
        } = of;
        let digest = &mut self.ranks[rank as usize].digest;
        let id = group
            .split_once(' ')
            .map(|(group, description)| group_id(digest, group, description, ranks));
        let name = text(digest, name);
        let dtype = text(digest, "Float");
        digest.collectives.push(Collective {
            group: id,
            name,
            kernel: name,
            dtype,
            given: Some(elements),
            got: Some(elements),
            splits: [0, 0],
            peer,
            position: None,
            seq: None,
            stream: Some(1),
            step: None,
            span: Interval::new(start_ns, end_ns),
            is_in_sheets: true,
            before: None,
            own: None,
            late_by: 0,
            exposed_ns: end_ns - start_ns,
            is_repeated: false,
        });
    }

    /// Makes this much of the own time before the collective of a rank that starts at `start_ns` late.
    pub(crate) fn late(&mut self, rank: usize, start_ns: i64, late_ns: i64, by: &'static str) {
        self.ranks[rank].late.push((start_ns, late_ns, by));
    }

    /// Lets the CPU of a rank load data for this long in its first step.
    pub(crate) fn loading(&mut self, rank: usize, loading_ns: i64) {
        self.ranks[rank].digest.steps[0].loading_ns = loading_ns;
    }

    /// Makes this much of it copies.
    pub(crate) fn copies(&mut self, rank: usize, start_ns: i64, copies_ns: i64) {
        self.ranks[rank].copies.push((start_ns, copies_ns));
    }

    /// Makes this much of it idle although the next activity was launched.
    pub(crate) fn idle(&mut self, rank: usize, start_ns: i64, idle_ns: i64) {
        self.ranks[rank].idle.push((start_ns, idle_ns));
    }

    /// Adds work of a rank in its nth step.
    pub(crate) fn work(
        &mut self,
        rank: usize,
        step: u32,
        of: &TestWork,
        calls: u32,
        total_ns: i64,
    ) {
        let digest = &mut self.ranks[rank].digest;
        let work = Work {
            step: Some(step),
            kernel: text(digest, of.kernel),
            op: text(digest, of.op),
            shapes: text(digest, of.shapes),
            category: text(digest, of.category),
            calls,
            total_ns,
        };
        digest.work.push(work);
    }

    /// Adds ten calls to the nth step of each rank: those of a rank take this many milliseconds together.
    pub(crate) fn same_calls(&mut self, step: u32, of: &TestWork, ms: &[i64]) {
        for (rank, ms) in ms.iter().enumerate() {
            self.work(rank, step, of, 10, ms * MS);
        }
    }

    /// Adds calls of 1 ms to the nth step of each rank: this many.
    pub(crate) fn more_calls(&mut self, step: u32, of: &TestWork, ms: &[i64]) {
        for (rank, ms) in ms.iter().enumerate() {
            self.work(rank, step, of, *ms as u32, ms * MS);
        }
    }

    /// Gives the collective that a rank added last uneven parts: what it sends to each rank of the group, and what it
    /// receives from each.
    pub(crate) fn splits(&mut self, rank: usize, sends: &[u64], gets: &[u64]) {
        let digest = &mut self.ranks[rank].digest;
        let splits = [sends, gets].map(|sizes| text(digest, &format!("{sizes:?}")));
        if let Some(of) = digest.collectives.last_mut() {
            of.splits = splits;
            (of.given, of.got) = (Some(sends.iter().sum()), Some(gets.iter().sum()));
        }
    }

    /// Cuts off the trace of a rank before the end of its last step.
    pub(crate) fn cut(&mut self, rank: usize) {
        self.ranks[rank].digest.warnings.push(Warning {
            kind: WarningKind::CutJson,
            count: 1,
            first_offset: None,
            detail: String::new(),
        });
    }

    /// The digests of these ranks.
    pub(crate) fn digests(self) -> Vec<Digest> {
        self.ranks.into_iter().map(TestRank::digest).collect()
    }

    /// The job without the ranks with these numbers.
    pub(crate) fn without(self, missing: &[u32]) -> Job {
        let mut digests = self.digests();
        digests.retain(|digest| !missing.contains(&digest.identity.rank.unwrap()));
        let job_files = JobFiles::new(digests);
        assert_eq!(job_files.excluded, []);
        Job::new(job_files.windows.into_iter().next().unwrap())
    }

    /// The job.
    pub(crate) fn job(self) -> Job {
        self.without(&[])
    }
}

impl TestRank {
    /// Finds what precedes each collective, and applies the clock.
    fn digest(self) -> Digest {
        let TestRank {
            mut digest,
            ahead_ns,
            drift,
            late,
            copies,
            idle,
        } = self;
        digest.collectives.arrange_by_key(|of| of.span);
        let ends: Vec<i64> = digest.collectives.iter().map(|of| of.span.end_ns).collect();
        let by: Vec<TextId> = late.iter().map(|(.., by)| text(&mut digest, by)).collect();
        let steps: Vec<Interval> = digest.steps.iter().map(|step| step.host).collect();
        for of in &mut digest.collectives {
            let start_ns = of.span.start_ns;
            let earlier = ends
                .iter()
                .zip(0_u32..)
                .filter(|(end, _)| **end <= start_ns);
            let before = earlier.max_by_key(|(end, at)| (**end, *at));
            let step = steps.iter().position(|step| step.contains(start_ns));
            of.before = before.map(|(_, at)| at);
            of.step = step.map(|step| step as u32);
            let since = before.map(|(end, _)| *end);
            let since = since.or_else(|| Some(steps.get(step?)?.start_ns));
            let entry = late.iter().zip(&by).find(|((at, ..), _)| *at == start_ns);
            let late_ns = entry.map_or(0, |((_, ns, _), _)| *ns);
            of.late_by = entry.map_or(0, |(_, by)| *by);
            let at_start = |all: &[(i64, i64)]| {
                let entry = all.iter().find(|(at, _)| *at == start_ns);
                entry.map_or(0, |(_, ns)| *ns)
            };
            let (copies_ns, idle_ns) = (at_start(&copies), at_start(&idle));
            of.own = since.map(|since| OwnTime {
                total_ns: start_ns - since,
                work_ns: start_ns - since - late_ns - copies_ns - idle_ns,
                copies_ns,
                late_ns,
            });
        }
        let ahead = |ns: i64| ns + ahead_ns + (drift * ns as f64).round() as i64;
        let collectives = digest.collectives.iter_mut().map(|of| &mut of.span);
        let steps = digest.steps.iter_mut().map(|step| &mut step.host);
        for span in collectives.chain(steps) {
            *span = Interval::new(ahead(span.start_ns), ahead(span.end_ns));
        }
        digest
    }
}

/// The id of a group of ranks, which is added to the digest if it is new.
pub(crate) fn group_id(digest: &mut Digest, name: &str, description: &str, ranks: &[u32]) -> u32 {
    let known = digest.identity.groups.iter().any(|of| of.name == name);
    if !known {
        digest.identity.groups.push(NamedGroup {
            name: name.to_owned(),
            description: description.to_owned(),
            ranks: ranks.to_vec(),
        });
    }
    let group = GroupText {
        name: text(digest, name),
        description: text(digest, description),
        ranks: text(digest, &format!("{ranks:?}")),
        size: Some(ranks.len() as u32),
        start_stride: None,
    };
    let known = digest.groups.iter().position(|of| *of == group);
    let id = known.unwrap_or_else(|| {
        digest.groups.push(group);
        digest.groups.len() - 1
    });
    id as u32
}

/// The id of a text, which is added to the digest if it is new.
pub(crate) fn text(digest: &mut Digest, text: &str) -> TextId {
    let known = digest.texts.iter().position(|of| of == text);
    let id = known.unwrap_or_else(|| {
        digest.texts.push(text.to_owned());
        digest.texts.len() - 1
    });
    id as TextId
}
