//! A perf model and the call whose arguments it reads.

use crate::base::interval::Interval;
use crate::base::sort::Arranged;
use crate::names::takes_sparse_tensor;
use crate::perf::{GemmSizes, Modeled, OpInput, PerfModel, SheetFamily, Work, model};
use crate::profile::Profile;
use crate::profile::cpu::tree::NodeId;
use crate::profile::launch::GpuId;
use crate::profile::operations::kv_cache::KvCache;
use crate::trace::{Category, Dims, EventId};

/// Which formula of a model applies to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pass {
    /// The call itself.
    Forward,
    /// The backward pass of the call.
    Backward,
}

/// A perf model and the call whose arguments it reads.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The formulas.
    pub model: &'static PerfModel,
    /// The call; for a backward pass, the forward call.
    pub call: EventId,
    /// Which formula.
    pub pass: Pass,
    /// How many kernels share the work of the call evenly; 1 if the call counts as a whole.
    pub shares: u32,
}

impl Binding {
    /// A binding for a whole call.
    pub fn new(model: &'static PerfModel, call: EventId, pass: Pass) -> Binding {
        Binding {
            model,
            call,
            pass,
            shares: 1,
        }
    }

    /// The result of the formula or, if the arguments of the call are not enough, the sum over the calls below it. Some
    /// formulas read kernel names.
    pub fn work(&self, profile: &Profile, kernels: &[GpuId]) -> Option<Modeled> {
        self.own_work(profile, kernels).or_else(|| {
            let is_whole = self.pass == Pass::Forward && self.shares == 1;
            is_whole.then(|| work_below(profile, self.call)).flatten()
        })
    }

    /// The result of the formula for the call itself.
    pub(crate) fn own_work(&self, profile: &Profile, kernels: &[GpuId]) -> Option<Modeled> {
        let trace = &profile.trace;
        let text = |id| trace.strings.get(id);
        let formula = match self.pass {
            Pass::Forward => self.model.forward,
            Pass::Backward => self.model.backward?,
        };
        let in_time = kernels
            .iter()
            .filter_map(|id| profile.gpu.get(*id))
            .arranged_by_key(|work| (work.span.start_ns, work.event));
        let names: Vec<&str> = in_time.iter().map(|work| text(work.name)).collect();
        if names.iter().any(|kernel| takes_sparse_tensor(kernel)) {
            return None;
        }
        let launched: Option<Interval> = in_time.first().map(|work| work.span);
        let annotation = || profile.batches().around(trace, self.call, launched);
        let annotation = self.reads_annotation().then(annotation).flatten();
        let modeled = formula(&OpInput {
            kernels: &names,
            extra_args: trace.events.extra_args(self.call).map(text),
            annotation: annotation.map(text),
            kv_type: annotation.and_then(|_| KvCache::of(profile).dtype(trace)),
            ..OpInput::of_call(trace, self.call)?
        })?;
        Some(Modeled {
            work: modeled.work.times(1.0 / f64::from(self.shares.max(1))),
            ..modeled
        })
    }

    /// Whether the call takes a tensor list. A trace has no element types for lists; only the kernels show them, and
    /// they may differ from call to call.
    pub(crate) fn takes_list(&self, profile: &Profile) -> bool {
        let input = OpInput::of_call(&profile.trace, self.call);
        let dims = input.and_then(|input| input.args.dims.as_deref());
        let mut dims = dims.unwrap_or_default().iter();
        dims.any(|dims| matches!(dims, Dims::Many(_)))
    }

    /// The GEMM sizes of a model that does not report them as parameters.
    pub fn gemm_sizes(&self, profile: &Profile) -> Option<GemmSizes> {
        let is_whole = self.pass == Pass::Forward && self.shares == 1;
        self.model.gemm_sizes.filter(|_| is_whole)?(&OpInput::of_call(&profile.trace, self.call)?)
    }

    /// Attention of serving engines: the request lengths are in an annotation.
    pub(crate) fn reads_annotation(&self) -> bool {
        self.model.sheet == SheetFamily::InferenceAttention
            || self.model.op.contains("paged_attention")
            || self.model.op.contains("mla_attention")
    }
}

/// The sum over the outermost calls below that have a perf model; `None` unless these calls launch everything that the
/// call launches. The compute unit is that of the call with the most FLOPs.
fn work_below(profile: &Profile, call: EventId) -> Option<Modeled> {
    /// A call with more calls than this below it is not a kernel wrapper.
    const MAX_CALLS: usize = 256;
    let (trace, tree) = (&profile.trace, &profile.tree);
    let node = tree.node_of(call)?;
    let n_work = tree.gpu_work(node).len();
    let mut to_visit: Vec<NodeId> = tree.children(node).collect();
    let mut most = -1.0;
    let mut sum = Work {
        flops: 0.0,
        bytes: Some(0.0),
        compute: None,
    };
    let (mut n_counted, mut n_visited) = (0, 0);
    while let Some(node) = to_visit.pop() {
        let work = tree.gpu_work(node);
        n_visited += 1;
        if work.is_empty() {
            continue;
        }
        if n_visited > MAX_CALLS {
            return None;
        }
        let event = tree.event(node)?;
        let is_op = trace.events.category(event) == Category::CpuOp;
        let of_name = || model(trace.name(event));
        let below = is_op.then(of_name).flatten().and_then(|model| {
            let binding = Binding::new(model, event, Pass::Forward);
            binding.own_work(profile, work)
        });
        match below {
            Some(Modeled { work: below, .. }) => {
                n_counted += work.len();
                sum.flops += below.flops;
                sum.bytes = sum.bytes.zip(below.bytes).map(|(a, b)| a + b);
                if below.flops > most {
                    (most, sum.compute) = (below.flops, below.compute);
                }
            }
            None => to_visit.extend(tree.children(node)),
        }
    }
    (n_counted == n_work && n_counted > 0).then(|| crate::perf::bare(sum))
}
