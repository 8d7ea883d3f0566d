//! The summary that a job keeps of one rank: its collectives, its steps, its work by kernel and shape.
//!
//! A trace of 1 GB becomes at most 1 MB, so that a job of many ranks fits where one trace does: each file is read,
//! profiled, reduced to its digest and dropped. Times are on the rank's own clock, as in the trace; add `base_ns` to
//! compare ranks.

mod collectives;
pub(crate) mod coordinates;
mod file;
mod identity;
mod late;
mod on_host;
mod own_time;
mod steps;
mod unfinished;
mod work;

use serde::{Deserialize, Serialize};

use crate::base::interval::Interval;
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::import::warning::Warning;
use crate::names::collective::CollectiveKind;
use crate::perf::collective_element_bytes;
use crate::profile::Profile;
use crate::profile::cpu::ops::CpuOp;
use crate::profile::gpu::kernels::SheetEvents;
use crate::profile::gpu::timeline::GpuTimeline;
use own_time::Activity;

pub(crate) use identity::{Identity, NamedGroup, RankFrom, base_ns, of_trace};

/// The version of the file layout; other versions are not read.
pub const VERSION: u32 = 2;

/// The file that a digest was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name, with the folders below the given one.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// The summary that a job keeps of one rank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// [`VERSION`].
    pub dormer_digest: u32,
    /// The trace file.
    pub file: SourceFile,
    /// Size of the decompressed text.
    pub text_bytes: u64,
    /// Rank, host, GPU.
    pub(crate) identity: Identity,
    /// Offset to add to times to get nanoseconds since 1970; `None` where the trace does not say.
    pub(crate) base_ns: Option<i64>,
    /// Problems found in the trace.
    pub(crate) warnings: Vec<Warning>,
    /// Every text, once; the first is empty.
    pub(crate) texts: Vec<String>,
    /// Process groups as collectives name them.
    pub(crate) groups: Vec<GroupText>,
    /// Sorted by start on the CPU.
    pub(crate) steps: Vec<Step>,
    /// Sorted by start.
    pub(crate) collectives: Vec<Collective>,
    /// Collectives that were called but have no kernel, sorted by call: they had not ended when the recording did. Their
    /// time is that from the call to the end of the recording.
    #[serde(default)]
    pub(crate) unfinished: Vec<Collective>,
    /// The last operator, range or Python frame that the CPU starts; empty where none was recorded.
    #[serde(default)]
    pub(crate) ends_in: TextId,
    /// Sorted by step, then in order of appearance.
    pub(crate) work: Vec<Work>,
    /// The operators with the most calls.
    #[serde(default)]
    pub(crate) cpu_ops: Vec<CpuCalls>,
    /// How the time of all GPU activity splits; `None` without any.
    pub(crate) gpu: Option<GpuTime>,
    /// The same for GPU activity whose launching call is known, as the reference counts it.
    pub(crate) attributed: Option<GpuTime>,
}

/// Index of a text in [`Digest::texts`].
pub(crate) type TextId = u32;

/// A process group as a collective names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct GroupText {
    /// `Process Group Name`.
    pub(crate) name: TextId,
    /// `Process Group Description`.
    pub(crate) description: TextId,
    /// `Process Group Ranks`, cut after 30 of them.
    pub(crate) ranks: TextId,
    /// `Group size`.
    pub(crate) size: Option<u32>,
    /// `Global rank start` and `Global rank stride`.
    pub(crate) start_stride: Option<(u32, u32)>,
}

/// How the time of a rank's GPU splits, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GpuTime {
    /// From the first start to the last end.
    pub(crate) span: Interval,
    /// At least one kernel computes.
    pub(crate) computation_ns: i64,
    /// Communication while nothing computes.
    pub(crate) exposed_comm_ns: i64,
    /// Copies while nothing computes or communicates.
    pub(crate) exposed_copies_ns: i64,
    /// Communication, hidden or not.
    pub(crate) comm_ns: i64,
    /// Copies, hidden or not.
    pub(crate) copies_ns: i64,
    /// Nothing runs.
    pub(crate) idle_ns: i64,
}

impl From<GpuTimeline> for GpuTime {
    fn from(of: GpuTimeline) -> GpuTime {
        GpuTime {
            span: of.span,
            computation_ns: of.computation_ns,
            exposed_comm_ns: of.exposed_comm_ns,
            exposed_copies_ns: of.exposed_memcpy_ns,
            comm_ns: of.comm_ns,
            copies_ns: of.memcpy_ns,
            idle_ns: of.idle_ns,
        }
    }
}

/// A step as one rank ran it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Its name.
    pub(crate) name: TextId,
    /// Its number among the steps of the run, where its name contains one.
    pub(crate) number: Option<u64>,
    /// On the CPU.
    pub(crate) host: Interval,
    /// How the GPU time that belongs to it splits; zero without GPU activity.
    pub(crate) gpu: GpuTime,
    /// Time in which a kernel computes, or without a GPU an operator runs, between the first start and the last end of
    /// its collectives.
    pub(crate) between_ns: i64,
    /// Time in which the CPU loads data.
    pub(crate) loading_ns: i64,
}

/// The time of a rank between a collective and the previous one, in which it depends on no other rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwnTime {
    /// From the end of the last collective that ended before it to its start.
    pub(crate) total_ns: i64,
    /// Kernels compute; without a GPU, operators run.
    pub(crate) work_ns: i64,
    /// Copies run and nothing computes.
    pub(crate) copies_ns: i64,
    /// Nothing runs because the next activity has not been launched yet.
    pub(crate) late_ns: i64,
}

impl OwnTime {
    /// Time in which nothing runs although the next kernel was launched, or in which another collective runs.
    pub(crate) fn idle_ns(&self) -> i64 {
        self.total_ns - self.work_ns - self.copies_ns - self.late_ns
    }
}

/// One collective, or one end of a point-to-point transfer, as one rank ran it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Collective {
    /// Its group, as an index into [`Digest::groups`]; `None` where the trace does not name one.
    pub(crate) group: Option<u32>,
    /// `Collective name`; empty where the trace has none.
    pub(crate) name: TextId,
    /// Its kernel, or without a GPU its operator.
    pub(crate) kernel: TextId,
    /// Type of the elements.
    pub(crate) dtype: TextId,
    /// Number of elements that the rank sends.
    pub(crate) given: Option<u64>,
    /// Number of elements that the rank receives.
    pub(crate) got: Option<u64>,
    /// How the elements it sends and receives are split over the ranks.
    pub(crate) splits: [TextId; 2],
    /// The other rank of a point-to-point transfer, by its position in the group.
    pub(crate) peer: Option<u32>,
    /// The rank's own position in the group.
    pub(crate) position: Option<u32>,
    /// `Seq`, the number of the collective in its group.
    pub(crate) seq: Option<u64>,
    /// Its stream.
    pub(crate) stream: Option<i64>,
    /// Its step, as an index into [`Digest::steps`].
    pub(crate) step: Option<u32>,
    /// When it ran.
    pub(crate) span: Interval,
    /// Whether the reference counts it in its sheets.
    pub(crate) is_in_sheets: bool,
    /// The last collective that ended before this one started, as an index into [`Digest::collectives`].
    pub(crate) before: Option<u32>,
    /// The rank's own time before it; `None` where the start of that time is unknown.
    pub(crate) own: Option<OwnTime>,
    /// What the CPU did while the launch was late; empty where unknown.
    pub(crate) late_by: TextId,
    /// The part of its time during which nothing computes. Absent in version 1.
    #[serde(default)]
    pub(crate) exposed_ns: i64,
    /// Whether it reduces gradients of a micro-batch that is not the last of its step.
    #[serde(default)]
    pub(crate) is_repeated: bool,
}

/// All calls in a step that share kernel, operator and shapes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Its step, as an index into [`Digest::steps`].
    pub(crate) step: Option<u32>,
    /// Its kernel; empty without a GPU.
    pub(crate) kernel: TextId,
    /// The operator that launched it; empty where unknown.
    pub(crate) op: TextId,
    /// Shapes of the operator's arguments.
    pub(crate) shapes: TextId,
    /// The category of the kernel.
    pub(crate) category: TextId,
    /// Number of calls.
    pub(crate) calls: u32,
    /// Their total time.
    pub(crate) total_ns: i64,
}

/// The calls of an operator on the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CpuCalls {
    pub(crate) op: TextId,
    pub(crate) calls: u64,
    /// Time inside of them, without operators called from there.
    pub(crate) self_ns: i64,
}

impl CpuCalls {
    /// The operators with the most calls: a slow CPU is slower in all of them.
    fn most(profile: &Profile, texts: &mut Set<String>) -> Vec<CpuCalls> {
        const MOST: usize = 32;
        let mut ops: Vec<&CpuOp> = profile.cpu_ops.iter().collect();
        ops.arrange_by_largest(|op| op.n_calls);
        let most = ops.into_iter().take(MOST).map(|op| CpuCalls {
            op: texts.id(profile.trace.strings.get(op.name)),
            calls: op.n_calls,
            self_ns: op.self_ns,
        });
        most.collect()
    }
}

impl Digest {
    /// Reduces a profile to a digest.
    pub fn new(profile: &Profile, file: SourceFile) -> Digest {
        Digest::of(profile, file, true)
    }

    /// The same without [`Digest::work`], which takes the longest to collect.
    pub(crate) fn without_work(profile: &Profile, file: SourceFile) -> Digest {
        Digest::of(profile, file, false)
    }

    fn of(profile: &Profile, file: SourceFile, with_work: bool) -> Digest {
        let mut texts = Set::from_iter([String::new()]);
        let split = |events: SheetEvents| {
            let running = events.running(profile).map(|work| (work.class, work.span));
            GpuTimeline::new(running).map(GpuTime::from)
        };
        let steps = steps::Steps::new(profile);
        let found = match profile.has_gpu_events() {
            true => collectives::find(profile, &steps, &mut texts),
            false => on_host::find(profile, &steps, &mut texts),
        };
        Digest {
            dormer_digest: VERSION,
            identity: Identity::new(&profile.trace, &file.name),
            base_ns: identity::base_ns(&profile.trace),
            text_bytes: profile.recording.text_bytes,
            warnings: profile.warnings.iter().cloned().collect(),
            work: match with_work {
                true => work::find(profile, &steps, &mut texts),
                false => Vec::new(),
            },
            cpu_ops: CpuCalls::most(profile, &mut texts),
            steps: steps.rows(profile, &found, &mut texts),
            ends_in: texts.id(&unfinished::ends_in(profile)),
            groups: found.groups,
            collectives: found.rows,
            unfinished: found.unfinished,
            gpu: split(SheetEvents::All),
            attributed: split(SheetEvents::Attributed),
            texts: texts.into_iter().collect(),
            file,
        }
    }

    /// A text.
    pub(crate) fn text(&self, id: TextId) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    /// The number of each step, by position: its own, or its position where not all have one.
    pub(crate) fn step_numbers(&self) -> Vec<u64> {
        let own: Option<Vec<u64>> = self.steps.iter().map(|step| step.number).collect();
        own.unwrap_or_else(|| (0..self.steps.len() as u64).collect())
    }

    /// The numbers of its steps, of those that have one.
    pub(crate) fn numbered_steps(&self) -> Vec<u64> {
        self.steps.iter().filter_map(|step| step.number).collect()
    }

    /// From the first to the last known event, in nanoseconds since 1970.
    pub(crate) fn span(&self, base_ns: i64) -> Interval {
        let steps = self.steps.iter().map(|step| step.host);
        let collectives = self.collectives.iter().map(|of| of.span);
        let gpu = self.gpu.map(|gpu| gpu.span);
        let all = steps.chain(collectives).chain(gpu).reduce(Interval::hull);
        let all = all.unwrap_or_default();
        Interval {
            start_ns: all.start_ns.saturating_add(base_ns),
            end_ns: all.end_ns.saturating_add(base_ns),
        }
    }

    /// Finds the rank through its collectives where the metadata does not give it: they contain the rank's position in
    /// their group and the list of ranks of the group.
    pub(crate) fn find_rank(&mut self) {
        if matches!(
            self.identity.rank_from,
            RankFrom::Metadata | RankFrom::Merged
        ) {
            return;
        }
        let found = self.collectives.iter().find_map(|of| {
            let group = self.groups.get(of.group? as usize)?;
            let list = self.text(group.ranks).trim_matches(['[', ']']);
            let mut ranks = list.split(',').map(|rank| rank.trim().parse::<u32>());
            ranks.nth(of.position? as usize)?.ok()
        });
        if let Some(rank) = found {
            self.identity.rank = Some(rank);
            self.identity.rank_from = RankFrom::Collectives;
        }
    }

    /// The kind of a collective.
    pub(crate) fn kind(&self, of: &Collective) -> CollectiveKind {
        let name = match self.text(of.name) {
            "" => self.text(of.kernel),
            name => name,
        };
        CollectiveKind::of_name(name)
    }

    /// The group of a collective, if the trace names it.
    pub(crate) fn group_of(&self, of: &Collective) -> Option<&GroupText> {
        self.groups.get(of.group? as usize)
    }

    /// Whether a part of the trace is missing.
    pub(crate) fn is_damaged(&self) -> bool {
        self.warnings.iter().any(Warning::loses_data)
    }

    /// Size of one element of a collective; `None` for an unknown type.
    pub(crate) fn element_bytes(&self, of: &Collective) -> Option<f64> {
        collective_element_bytes(self.text(of.dtype))
    }
}

/// The collectives of a rank, and its other activity.
struct Found {
    groups: Vec<GroupText>,
    /// Sorted by start.
    rows: Vec<Collective>,
    unfinished: Vec<Collective>,
    activity: Activity,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;

    /// ```text
    /// µs         0                            600  620      720   770
    /// step       [==================================================
    /// CPU         [data loading            ) ↑ ↑610
    /// GPU                                          [gemm     )[all-reduce)
    /// ```
    #[test]
    fn a_host_that_loads_data_before_the_first_kernel_is_late() {
        let text = r#"{"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
            {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1, "tid": 1, "ts": 10, "dur": 580},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 600, "dur": 5, "args": {"correlation": 1}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 610, "dur": 5, "args": {"correlation": 2}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 620, "dur": 100, "args": {"correlation": 1, "stream": 7}},
            {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 9, "ts": 720, "dur": 50, "args": {"correlation": 2, "stream": 9}}
        ]}"#;
        let profile = Profile::new(import(text.as_bytes()).unwrap());
        let digest = Digest::new(&profile, SourceFile::default());
        let [all_reduce] = digest.collectives.as_slice() else {
            panic!("{:?}", digest.collectives);
        };
        let own = OwnTime {
            total_ns: 720_000,
            work_ns: 100_000,
            copies_ns: 0,
            late_ns: 605_000,
        };
        assert_eq!(all_reduce.own, Some(own));
        assert_eq!(digest.text(all_reduce.late_by), "Data loading");
    }
}
