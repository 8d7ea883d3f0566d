//! Operations: the calls of one operator with equal arguments, with their GPU time and work.
//!
//! Everything that evaluates a trace (sheets, roofline, analyses, views) reads this one list, so results agree. Each
//! piece of linked GPU time belongs to exactly one operation, except for collectives; [`perf_rows`] defines
//! which calls become operations. GPU activity without a known call comes last, one operation per kernel name, marked
//! as unlinked.
//!
//! Independent of the hardware: [`crate::assess::Evaluation`] evaluates operations for a GPU.

pub(crate) mod autotuning;
pub mod binding;
pub(crate) mod call_order;
pub(crate) mod dataflow;
pub mod estimate;
mod grouping;
mod key;
pub(crate) mod kinds;
mod kv_cache;
pub(crate) mod measured;
pub mod op_table;
pub mod origin;
mod owner;
pub mod perf_rows;
pub(crate) mod recorded_flops;
pub mod reproducer;
pub(crate) mod slow_calls;
pub(crate) mod slowdown;
pub(crate) mod streams;
pub(crate) mod tensors;

mod tuning_calls;
mod windowed;

use crate::base::format;
use crate::base::interval::sum;
use crate::base::tally::tallied;
use crate::names::Family;
use crate::perf::{Modeled, OpInput, Tensor, Work};
use crate::profile::Profile;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::launch::{GpuId, is_launched_by_graph, is_replayed};
use crate::profile::operations::estimate::{Estimate, Source};
use crate::profile::operations::perf_rows::PerfRow;
use crate::trace::{Dims, EventId, OpArgs, StringId};

pub(crate) use grouping::{busy_us, operations};
pub use key::CallKey;
pub use owner::Owner;
pub(crate) use owner::owners;
pub(crate) use windowed::{shorter_in_turns, with_parts};

/// Calls of one operator with equal arguments.
#[derive(Debug, Clone)]
pub struct Operation {
    /// What the calls have in common.
    pub key: CallKey,
    /// The kernel family that most of its time belongs to.
    pub family: Family,
    /// Its calls, in tree order; at least one.
    pub calls: Vec<PerfRow>,
    /// The kernel time of each call in microseconds, as the reference measures it for rates.
    pub times_us: Vec<f64>,
    /// The kernel time of all calls.
    pub kernel_ns: i64,
    /// The result of the built-in perf model for a call; `None` without a model, or if the arguments are not enough.
    pub modeled: Option<Modeled>,
    /// Whether a launching call is known. Unlinked operations are grouped by kernel name.
    pub is_linked: bool,
    /// An estimate from the model's sizes, for kernels without a recorded operator.
    pub estimate: Option<Estimate>,
    /// Sliding-window attention, next to calls with full attention. The width of the window is only known from the
    /// model's configuration.
    pub sees_window: bool,
    /// Its calls are part of another operation's row in the reference's sheets.
    pub is_part: bool,
    /// GPU activity of its calls that only serves to choose the fastest of several kernels: candidates that are timed,
    /// fills that clear caches before each of them. Empty for calls that do not tune. The kernel that a library chose
    /// runs in the same call and is not among them.
    pub trials: Vec<GpuId>,
}

impl Operation {
    /// Whether its calls choose the fastest of several kernels: their time says nothing about the work of a step.
    pub(crate) fn is_tuning(&self) -> bool {
        !self.trials.is_empty()
    }

    /// Whether it runs as part of GPU graphs, so its kernels have no operators. The caller of a graph launch, such as a
    /// compiled function, is not the operator of a single kernel.
    pub(crate) fn is_in_graph(&self, profile: &Profile) -> bool {
        let mut work = self.work().peekable();
        work.peek().is_some() && work.all(|id| is_launched_by_graph(profile, id))
    }

    /// Whether it runs as part of GPU graphs, even if a capture shows which operators launch it.
    pub(crate) fn is_replayed(&self, profile: &Profile) -> bool {
        let mut work = self.work().peekable();
        work.peek().is_some() && work.all(|id| is_replayed(profile, id))
    }

    /// Where its FLOPs and bytes come from.
    pub(crate) fn source(&self, profile: &Profile) -> Source {
        if let Some(estimate) = &self.estimate {
            return estimate.source;
        }
        let call = self.first().map(|call| call.event);
        match call.is_some_and(|call| profile.trace.captured.has(call)) {
            true => Source::Captured,
            false => Source::Recorded,
        }
    }

    /// Its name in sheets.
    pub fn name(&self, profile: &Profile) -> String {
        self.key.text(profile)
    }

    /// Its name for display: the kernel, if it is a kernel without an operator of its own.
    pub fn short_name<'a>(&self, profile: &'a Profile) -> &'a str {
        let name = self.key.kernel.unwrap_or(self.key.name);
        profile.trace.strings.get(name)
    }

    /// Whether only a kernel name identifies it.
    pub fn is_kernel(&self) -> bool {
        self.key.kernel.is_some() || !self.is_linked
    }

    /// The arguments of its calls.
    pub fn args<'a>(&self, profile: &'a Profile) -> Option<&'a OpArgs> {
        profile.trace.args.get(self.key.args?)
    }

    /// The arguments of its calls, as perf models read them.
    pub(crate) fn arguments<'a>(&self, profile: &'a Profile) -> Option<OpInput<'a>> {
        let trace = &profile.trace;
        let name = trace.strings.get(self.key.name);
        Some(OpInput::new(trace, name, self.args(profile)?))
    }

    /// The tensors among its arguments, in order, excluding those in lists. Empty for kernels of GPU graphs: the caller
    /// of a graph takes the tensors of the whole graph.
    pub(crate) fn tensors<'a>(&self, profile: &'a Profile) -> Vec<Tensor<'a>> {
        let arguments = self.arguments(profile);
        let arguments = arguments.filter(|_| !self.is_in_graph(profile));
        let tensors = arguments.iter().flat_map(OpInput::tensors);
        let is_known =
            |tensor: &Tensor| !tensor.shape.is_empty() && format::dtype(tensor.dtype).is_some();
        tensors.filter(is_known).collect()
    }

    /// The strides of its tensors of two or more dimensions: "[8192, 1] and [1, 4096]"; `None` if not all are recorded.
    pub(crate) fn recorded_strides(&self, profile: &Profile) -> Option<String> {
        let tensors = self.tensors(profile);
        let matrices = tensors.iter().filter(|tensor| tensor.shape.len() > 1);
        let listed = matrices.map(|tensor| Some(format!("{:?}", tensor.strides?)));
        let listed = listed.collect::<Option<Vec<String>>>()?;
        (!listed.is_empty()).then(|| format::listed(&listed))
    }

    /// Whether it works on complex numbers, which have no replacement of 16 bits or fewer.
    pub(crate) fn is_complex(&self, profile: &Profile) -> bool {
        let mut tensors = self.tensors(profile).into_iter();
        tensors.any(|tensor| tensor.dtype.contains("complex"))
    }

    /// The shapes of its arguments; empty if not recorded.
    pub fn dims<'a>(&self, profile: &'a Profile) -> &'a [Dims] {
        let args = self.args(profile);
        args.and_then(|args| args.dims.as_deref())
            .unwrap_or_default()
    }

    /// Its first call.
    pub fn first(&self) -> Option<&PerfRow> {
        self.calls.first()
    }

    /// Position of the first call in the events of the trace; kernels with their own rows are numbered after the last
    /// event.
    pub fn uid(&self) -> u64 {
        self.first().map_or(0, |call| call.uid)
    }

    /// Number of calls.
    pub fn n_calls(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Whether it has its own row in the sheet of operations; a part is in the row of the whole.
    pub(crate) fn has_own_row(&self) -> bool {
        self.is_linked && !self.is_part
    }

    /// The FLOPs and bytes of a call: from the perf model of its operator, otherwise from that of its kernel's role.
    pub fn known(&self) -> Option<&Modeled> {
        let estimated = || self.estimate.as_ref().map(|estimate| &estimate.modeled);
        match self.sees_window {
            // The annotation of the step counts the full context, which is too much.
            true => estimated(),
            false => self.modeled.as_ref().or_else(estimated),
        }
    }

    /// The kernel time of each call, in call order. Kernels that share the work of one call, as the two GEMMs of an MoE
    /// layer do, count together: they take different times because they do different work.
    pub(crate) fn times_of_calls(&self) -> Vec<i64> {
        let mut times: Vec<(EventId, i64)> = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let is_share = call.binding.is_some_and(|binding| binding.shares > 1);
            match times.last_mut() {
                Some((event, ns)) if is_share && *event == call.event => {
                    *ns = ns.saturating_add(call.kernel_ns);
                }
                _ => times.push((call.event, call.kernel_ns)),
            }
        }
        times.into_iter().map(|(_, ns)| ns).collect()
    }

    /// Moves the calls at which `is_other` is set to an operation of their own, and measures both.
    fn split_off(&mut self, profile: &Profile, is_other: Vec<bool>) -> Operation {
        let mut other = Operation {
            calls: Vec::new(),
            times_us: Vec::new(),
            modeled: None,
            estimate: None,
            trials: Vec::new(),
            is_part: true,
            ..*self
        };
        for (call, is_other) in std::mem::take(&mut self.calls).into_iter().zip(is_other) {
            match is_other {
                true => other.calls.push(call),
                false => self.calls.push(call),
            }
        }
        self.measure(profile);
        other.measure(profile);
        other
    }

    /// All GPU activity of its calls.
    pub fn work(&self) -> impl Iterator<Item = GpuId> {
        self.calls.iter().flat_map(|call| call.work.iter().copied())
    }

    /// The same, with what is known about each.
    pub(crate) fn activity<'a>(
        &'a self,
        profile: &'a Profile,
    ) -> impl Iterator<Item = &'a GpuWork> {
        self.work().filter_map(|id| profile.gpu.get(id))
    }

    /// Kernel time that is computation, excluding collectives and copies.
    pub(crate) fn computing_ns(&self, profile: &Profile) -> i64 {
        let is_computing = |id: &GpuId| {
            let work = profile.gpu.get(*id);
            work.is_some_and(|work| work.class == GpuClass::Computation)
        };
        sum(self.calls.iter().map(|call| {
            if call.work.iter().all(is_computing) {
                return call.kernel_ns;
            }
            let computing = call.work.iter().copied().filter(is_computing);
            profile.gpu.busy_ns(&computing.collect::<Vec<GpuId>>())
        }))
    }

    /// The names of its kernels, longest first.
    pub(crate) fn kernel_names<'a>(&self, profile: &'a Profile) -> Vec<&'a str> {
        let kernels = self.kernels(profile).into_iter();
        let names = kernels.map(|(name, ..)| profile.trace.strings.get(name));
        names.collect()
    }

    /// The name of the kernel with the most time.
    pub(crate) fn longest_kernel<'a>(&self, profile: &'a Profile) -> Option<&'a str> {
        self.kernel_names(profile).first().copied()
    }

    /// Its kernels by name, longest first: name, count, total duration.
    pub fn kernels(&self, profile: &Profile) -> Vec<(StringId, u64, i64)> {
        let activity = self.activity(profile);
        tallied(activity.map(|work| (work.name, work.span.length())))
    }

    /// Whether its launching call is unknown, in a trace that records launches.
    pub fn is_unattributed(&self) -> bool {
        self.family == Family::Unattributed
    }
}

/// The perf model results for calls with equal arguments. If the work depends on more than the arguments, it is the
/// mean over the calls, and unknown if it is unknown for any call.
fn work_of_calls(profile: &Profile, calls: &[PerfRow]) -> Option<Modeled> {
    let first = calls.first()?;
    let binding = first.binding?;
    let modeled = binding.work(profile, &first.work)?;
    if !binding.reads_annotation() && !binding.takes_list(profile) {
        return Some(modeled);
    }
    let (mut flops, mut bytes, mut n) = (0.0, Some(0.0), 0.0);
    let mut their_flops = Some(0.0);
    for call in calls {
        let of_call = call.binding?.work(profile, &call.work)?;
        let work = of_call.work;
        flops += work.flops;
        their_flops = their_flops
            .zip(of_call.their_flops)
            .map(|(sum, of)| sum + of);
        bytes = bytes.zip(work.bytes).map(|(sum, bytes)| sum + bytes);
        n += 1.0;
    }
    Some(Modeled {
        work: Work {
            flops: flops / n,
            bytes: bytes.map(|bytes| bytes / n),
            ..modeled.work
        },
        their_flops: their_flops.map(|theirs| theirs / n),
        their_bytes: None,
        ..modeled
    })
}
