//! Operations: the calls of one operator with equal arguments, with the GPU time they stand for
//! and the work that is done in it.
//!
//! Everything that judges (sheets, the roofline, analyzes, views) reads this one list, so that
//! they agree. Each piece of linked GPU time is in one operation, collectives excepted; which calls
//! become operations is settled in [`crate::profile::rows`]. GPU activity whose call is not known follows
//! kernel by kernel, marked as unlinked.
//!
//! Independent of the hardware: what a GPU makes of it is [`crate::assess::Judged`].

mod key;
mod owner;
mod windowed;

use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::map::Map;
use crate::base::sort::Arrange;
use crate::names::{Family, OTHER, family_of_kernel, family_of_op};
use crate::perf::{Modelled, OpInput, Tensor, Work};
use crate::profile::Profile;
use crate::profile::estimate::{Estimate, Source};
use crate::profile::launch::{GpuId, is_launched_by_graph, is_replayed};
use crate::profile::moe_roles::MoeRoles;
use crate::profile::rows::{Pass, PerfRow, leftover_name, perf_rows};
use crate::profile::timeline::GpuClass;
use crate::trace::{Dims, OpArgs, StringId};

pub use key::CallKey;
pub use owner::Owner;
pub(crate) use owner::owners;
pub(crate) use windowed::{shorter_in_turns, with_parts};

/// Calls of one operator with equal arguments.
#[derive(Debug, Clone)]
pub struct Operation {
    /// What the calls have in common.
    pub key: CallKey,
    /// The kind of work that most of its time is.
    pub family: Family,
    /// Its calls, in the order of the tree; at least one.
    pub calls: Vec<PerfRow>,
    /// The kernel time of each call in microseconds, as the reference measures it for rates.
    pub times_us: Vec<f64>,
    /// The kernel time of all calls.
    pub kernel_ns: i64,
    /// What the built-in model says about a call; `None` without one, or where the arguments do
    /// not say.
    pub modelled: Option<Modelled>,
    /// Whether a launching call is known. Unlinked operations are kernels by name.
    pub is_linked: bool,
    /// What follows from the model's sizes, of kernels of which no operator was recorded.
    pub estimate: Option<Estimate>,
    /// Attention to a sliding window, beside calls that see all of the context. How wide it is, only the
    /// model's configuration tells.
    pub sees_window: bool,
    /// Calls of an operation that are a part of its row in the reference's sheets.
    pub is_part: bool,
}

impl Operation {
    /// Whether it runs as part of GPU graphs: its kernels have no operators. What calls the launch of a
    /// graph, as a compiled function does, is none of one kernel.
    pub(crate) fn is_in_graph(&self, profile: &Profile) -> bool {
        let mut work = self.work().peekable();
        work.peek().is_some() && work.all(|id| is_launched_by_graph(profile, id))
    }

    /// Whether it runs as part of GPU graphs, be it that a capture says which operators launch it.
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

    /// Its name as sheets write it.
    pub fn name(&self, profile: &Profile) -> String {
        let strings = &profile.trace.strings;
        let name = strings.get(self.key.name);
        match self.key.kernel {
            Some(kernel) => leftover_name(name, strings.get(kernel)),
            None => name.to_owned(),
        }
    }

    /// Its name as people say it: of a kernel that stands for itself, the kernel.
    pub fn short_name<'a>(&self, profile: &'a Profile) -> &'a str {
        let name = self.key.kernel.unwrap_or(self.key.name);
        profile.trace.strings.get(name)
    }

    /// Whether nothing but a kernel's name tells what it is.
    pub fn is_kernel(&self) -> bool {
        self.key.kernel.is_some() || !self.is_linked
    }

    /// The arguments of its calls.
    pub fn args<'a>(&self, profile: &'a Profile) -> Option<&'a OpArgs> {
        profile.trace.args.get(self.key.args?)
    }

    /// The arguments of its calls as models of work read them.
    pub(crate) fn arguments<'a>(&self, profile: &'a Profile) -> Option<OpInput<'a>> {
        let trace = &profile.trace;
        let name = trace.strings.get(self.key.name);
        Some(OpInput::new(trace, name, self.args(profile)?))
    }

    /// The tensors among its arguments, in order; those of a list are left out. None of kernels of GPU
    /// graphs: what calls a graph takes the tensors of all of it.
    pub(crate) fn tensors<'a>(&self, profile: &'a Profile) -> Vec<Tensor<'a>> {
        let arguments = self.arguments(profile);
        let arguments = arguments.filter(|_| !self.is_in_graph(profile));
        let tensors = arguments.iter().flat_map(OpInput::tensors);
        let is_known =
            |tensor: &Tensor| !tensor.shape.is_empty() && format::dtype(tensor.dtype).is_some();
        tensors.filter(is_known).collect()
    }

    /// The shapes of its arguments; empty where they were not recorded.
    pub fn dims<'a>(&self, profile: &'a Profile) -> &'a [Dims] {
        let args = self.args(profile);
        args.and_then(|args| args.dims.as_deref())
            .unwrap_or_default()
    }

    /// Its first call.
    pub fn first(&self) -> Option<&PerfRow> {
        self.calls.first()
    }

    /// Position of the first call in the events of the trace; kernels that stand for themselves
    /// are numbered after the last event.
    pub fn uid(&self) -> u64 {
        self.first().map_or(0, |call| call.uid)
    }

    /// Number of calls.
    pub fn n_calls(&self) -> u64 {
        self.calls.len() as u64
    }

    /// Whether it is a row of the sheet of operations; what is a part is in that of the whole.
    pub fn has_own_row(&self) -> bool {
        self.is_linked && !self.is_part
    }

    /// What is known of a call's work: by the model of its operator, else by that of its kernel's role.
    pub fn known(&self) -> Option<&Modelled> {
        let estimated = || self.estimate.as_ref().map(|estimate| &estimate.modelled);
        match self.sees_window {
            // The annotation of the step says too much.
            true => estimated(),
            false => self.modelled.as_ref().or_else(estimated),
        }
    }

    /// Sums up its calls.
    pub(super) fn measure(&mut self, profile: &Profile) {
        self.kernel_ns = sum(self.calls.iter().map(|call| call.kernel_ns));
        let times_us = self.calls.iter().map(|call| time_us(profile, call));
        self.times_us = times_us.collect();
        self.family = main_family(profile, self);
    }

    /// All that its calls run on the GPU.
    pub fn work(&self) -> impl Iterator<Item = GpuId> {
        self.calls.iter().flat_map(|call| call.work.iter().copied())
    }

    /// The part of its kernel time in which it computes: without collectives and copies.
    pub fn computing_ns(&self, profile: &Profile) -> i64 {
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

    /// The names of its kernels, the longest first.
    pub(crate) fn kernel_names<'a>(&self, profile: &'a Profile) -> Vec<&'a str> {
        let kernels = self.kernels(profile).into_iter();
        let names = kernels.map(|(name, ..)| profile.trace.strings.get(name));
        names.collect()
    }

    /// The name of the kernel that takes most of its time.
    pub(crate) fn longest_kernel<'a>(&self, profile: &'a Profile) -> Option<&'a str> {
        self.kernel_names(profile).first().copied()
    }

    /// Time of its kernels by name, the longest first: name, how often, sum of durations.
    pub fn kernels(&self, profile: &Profile) -> Vec<(StringId, u64, i64)> {
        let work = self.work().filter_map(|id| profile.gpu.get(id));
        let lengths = work.map(|work| (work.name, work.span.length()));
        let add = |(n, all_ns): &mut (u64, i64), ns| {
            *n += 1;
            *all_ns = all_ns.saturating_add(ns);
        };
        let kernels = grouped(lengths, add).into_iter();
        let mut kernels: Vec<_> = kernels.map(|(name, (n, ns))| (name, n, ns)).collect();
        kernels.arrange_by_key(|&(.., ns)| std::cmp::Reverse(ns));
        kernels
    }

    /// Whether nothing tells what launched it, of a trace that tells it of other kernels.
    pub fn is_unattributed(&self) -> bool {
        self.family == Family::Unattributed
    }
}

/// Finds the operations of a trace: linked ones by kernel time, those that see a window, then unlinked
/// ones by kernel time.
pub(crate) fn operations(profile: &Profile) -> Vec<Operation> {
    let mut linked = group(profile, perf_rows(profile));
    let mut unlinked = group(profile, unlinked_rows(profile));
    for operations in [&mut linked, &mut unlinked] {
        operations
            .arrange_by_key(|operation| (std::cmp::Reverse(operation.kernel_ns), operation.uid()));
    }
    let mut windowed = windowed::split(profile, &mut linked);
    linked.append(&mut windowed);
    for operation in &mut linked {
        operation.modelled = work_of_calls(profile, &operation.calls);
    }
    for operation in &mut unlinked {
        operation.is_linked = false;
        if profile.has_launches() {
            operation.family = Family::Unattributed;
        }
    }
    linked.append(&mut unlinked);
    linked
}

/// What the models say about calls with equal arguments. Where the work hangs on more than the
/// arguments, it is the mean over the calls; calls of which one does not say how much it is say
/// nothing together.
fn work_of_calls(profile: &Profile, calls: &[PerfRow]) -> Option<Modelled> {
    let first = calls.first()?;
    let binding = first.binding?;
    let modelled = binding.work(profile, &first.work)?;
    if !binding.reads_annotation() && !binding.takes_list(profile) {
        return Some(modelled);
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
    Some(Modelled {
        work: Work {
            flops: flops / n,
            bytes: bytes.map(|bytes| bytes / n),
            ..modelled.work
        },
        their_flops: their_flops.map(|theirs| theirs / n),
        ..modelled
    })
}

/// Rows by key, in order of first appearance.
fn group(profile: &Profile, rows: Vec<PerfRow>) -> Vec<Operation> {
    let mut index: Map<CallKey, usize> = Map::default();
    let mut operations: Vec<Operation> = Vec::new();
    for row in rows {
        let mut key = CallKey::new(profile, row.event, row.category, row.is_recompute);
        key.kernel = row.kernel;
        let at = *index.entry(key).or_insert(operations.len());
        if at == operations.len() {
            operations.push(Operation {
                key,
                family: Family::Other,
                calls: Vec::new(),
                times_us: Vec::new(),
                kernel_ns: 0,
                modelled: None,
                is_linked: true,
                estimate: None,
                sees_window: false,
                is_part: false,
            });
        }
        operations[at].calls.push(row);
    }
    for operation in &mut operations {
        // They are kept as long as the trace.
        operation.calls.shrink_to_fit();
        operation.measure(profile);
    }
    operations
}

/// Kernels, copies and fills whose call is not known, each a row. Collectives are no operations.
fn unlinked_rows(profile: &Profile) -> Vec<PerfRow> {
    let unlinked = profile
        .gpu
        .iter()
        .filter(|(_, work)| work.launched_by.is_none() && !work.is_collective);
    unlinked
        .map(|(id, work)| PerfRow {
            event: work.event,
            kernel: None,
            category: OTHER,
            uid: u64::from(profile.trace.events.uid(work.event)),
            work: vec![id],
            kernel_ns: work.span.length(),
            is_recompute: false,
            binding: None,
        })
        .collect()
}

/// The kernel time that rates are made with; that of a backward pass covers more than its row.
fn time_us(profile: &Profile, call: &PerfRow) -> f64 {
    match call.binding.map(|binding| binding.pass) {
        Some(Pass::Backward) => call.kernel_ns as f64 / 1e3,
        _ => busy_us(profile, &call.work),
    }
}

/// The time during which at least one of these runs, in the reference's arithmetic.
///
/// It computes with microseconds since the epoch in floating point, which are coarser than the
/// nanoseconds of the trace. Sums and means do not show it; but the deviation of rates of calls that
/// take nearly the same time does, and so does the difference of two short times, and people
/// compare both. All other times are exact.
pub(crate) fn busy_us(profile: &Profile, work: &[GpuId]) -> f64 {
    let mut spans: Vec<(f64, f64)> = work
        .iter()
        .filter_map(|id| profile.gpu.get(*id))
        .map(|work| {
            let start_us = work.span.start_ns as f64 / 1e3;
            (start_us, start_us + work.span.length() as f64 / 1e3)
        })
        .collect();
    spans.arrange_by(|a, b| a.0.total_cmp(&b.0));
    let mut busy_us = 0.0;
    let mut open: Option<(f64, f64)> = None;
    for (start, end) in spans {
        open = Some(match open {
            Some((first, last)) if start <= last => (first, last.max(end)),
            Some((first, last)) => {
                busy_us += last - first;
                (start, end)
            }
            None => (start, end),
        });
    }
    busy_us + open.map_or(0.0, |(first, last)| last - first)
}

/// The family that most of the time of an operation is of; the first of [`Family::ALL`] among
/// equals.
fn main_family(profile: &Profile, operation: &Operation) -> Family {
    let strings = &profile.trace.strings;
    let name = strings.get(operation.key.name);
    let mut times = [0_i64; Family::ALL.len()];
    for (kernel, n, ns) in operation.kernels(profile) {
        let kernel = strings.get(kernel);
        let is_event_itself = operation
            .first()
            .is_some_and(|call| call.binding.is_none() && kernel == name);
        let family = match is_event_itself {
            true => family_of_kernel(kernel),
            false => family_of_op(operation.key.label, name, Some(kernel)),
        };
        // A kernel of no length still says what it is.
        let weight = ns.max(n as i64);
        times[family as usize] = times[family as usize].saturating_add(weight);
    }
    let most = times.iter().copied().max().unwrap_or(0);
    let family = Family::ALL
        .into_iter()
        .zip(times)
        .find(|(_, time)| most > 0 && *time == most)
        .map_or(Family::Other, |(family, _)| family);
    MoeRoles::of(profile).family(family, operation.work())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    #[test]
    fn calls_with_equal_arguments_are_one_operation() {
        let mm = r#""Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]"#;
        let other = r#""Input Dims": [[9, 4], [4, 2]], "Input type": ["float", "float"]"#;
        let profile = Timetable::new()
            .call("aten::mm", mm, "gemm", 100..130)
            .call("aten::mm", mm, "gemm", 140..150)
            .call("aten::mm", other, "gemm", 160..165)
            .profile();
        let seen: Vec<(String, u64, i64, Option<f64>)> = profile
            .operations()
            .iter()
            .map(|operation| {
                let work = operation.modelled.as_ref().map(|modelled| modelled.work);
                (
                    operation.name(&profile),
                    operation.n_calls(),
                    operation.kernel_ns,
                    work.map(|work| work.flops),
                )
            })
            .collect();
        // 2·8·2·4 and 2·9·2·4 operations.
        assert_eq!(
            seen,
            [
                ("aten::mm".to_owned(), 2, 40_000, Some(128.0)),
                ("aten::mm".to_owned(), 1, 5_000, Some(144.0)),
            ]
        );
    }

    /// A list of tensors has no type in a trace: kernels tell it, call by call.
    #[test]
    fn lists_of_different_types_are_counted_call_by_call() {
        let cat = r#""Input Dims": [[[8], [8]], []], "Input type": ["TensorList", "Scalar"], "Concrete Inputs": ["", "0"]"#;
        let (four, two) = (
            "CatArrayBatchedCopy<OpaqueType<4u>, 3>",
            "CatArrayBatchedCopy<OpaqueType<2u>, 3>",
        );
        let profile = Timetable::new()
            .call("aten::cat", cat, four, 100..130)
            .call("aten::cat", cat, two, 140..150)
            .profile();
        let [cats] = profile.operations() else {
            panic!("one operation: {:?}", profile.operations());
        };
        // 16 elements read and written: 128 and 64 bytes.
        let bytes = cats
            .modelled
            .as_ref()
            .and_then(|modelled| modelled.work.bytes);
        assert_eq!((cats.n_calls(), bytes), (2, Some(96.0)));
    }

    #[test]
    fn kernels_without_a_call_come_last() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..101)
            .kernel(8, "void flash_fwd_kernel<128>()", 200..900)
            .kernel(9, "ncclDevKernel_AllReduce", 900..990)
            .profile();
        let seen: Vec<(&str, Family, bool)> = profile
            .operations()
            .iter()
            .map(|operation| {
                (
                    operation.short_name(&profile),
                    operation.family,
                    operation.is_linked,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("aten::mm", Family::Gemm, true),
                ("void flash_fwd_kernel<128>()", Family::Unattributed, false),
            ]
        );
    }

    #[test]
    fn every_piece_of_work_but_a_collective_has_a_call() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..110)
            .work("aten::mm", "gemm", 120..130)
            .work("aten::relu", "relu", 140..141)
            .kernel(9, "ncclDevKernel_AllReduce", 200..900)
            .profile();
        let owners: Vec<_> = (0..4).map(|id| profile.owner_of(GpuId(id))).collect();
        let owner = |operation, call| Some(Owner { operation, call });
        assert_eq!(owners, [owner(0, 0), owner(0, 1), owner(1, 0), None]);
    }

    #[test]
    fn overlapping_kernels_of_a_call_count_once() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launched("a", 1..2, 20..30)
            .launched("b", 3..4, 25..40)
            .launched("c", 5..6, 50..55)
            .profile();
        let [operation] = profile.operations() else {
            panic!("one operation")
        };
        assert_eq!(operation.kernel_ns, 25_000);
        assert!((operation.times_us[0] - 25.0).abs() < 1e-9);
    }
}
