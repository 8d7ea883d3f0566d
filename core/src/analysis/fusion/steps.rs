//! What ran one after the other on a stream, with what each step takes and gives.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::super::Input;
use crate::autograd::ENGINE_CALL;
use crate::category::Family;
use crate::format::without_number;
use crate::operations::Operation;
use crate::perf::element_bytes;
use crate::profile::Profile;
use crate::report::Judged;
use crate::roofline::peak_tflops;
use crate::trace::{Category, Dims, EventId, ShapeId};
use crate::tree::NodeId;

/// What a step is for a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Each element by itself, or a reduction: what fuses.
    Fusable,
    /// A matrix product or a convolution: others fuse into its end.
    Matrix,
    /// A fused norm: it can take what comes before it in.
    Norm,
    /// Softmax and products of unfused attention: that is the attention analysis's.
    Softmax,
    /// Ends every chain.
    Other,
}

const ELEMENTWISE: [&str; 42] = [
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "pow",
    "square",
    "neg",
    "abs",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sigmoid",
    "tanh",
    "silu",
    "gelu",
    "relu",
    "mish",
    "hardswish",
    "leaky_relu",
    "elu",
    "softplus",
    "erf",
    "clamp",
    "clamp_min",
    "copy",
    "cat",
    "where",
    "masked_fill",
    "sin",
    "cos",
    "addcmul",
    "addcdiv",
    "lerp",
    "native_dropout",
    "dropout",
    "maximum",
    "minimum",
    "threshold_backward",
    "silu_backward",
];
const REDUCTIONS: [&str; 6] = ["mean", "sum", "amax", "var", "std", "norm"];

/// The shape of a tensor and its size in memory. A size of -1 fits all.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) sizes: Vec<i64>,
    pub(super) bytes: f64,
}

/// An operation as a step of chains.
#[derive(Debug, Clone)]
pub(super) struct StepKind {
    pub(super) kind: Kind,
    /// "add" of `aten::add_`.
    pub(super) name: String,
    pub(super) takes: Vec<Shape>,
    pub(super) gives: Option<Shape>,
    /// How long its arithmetic takes at least; `None` without a model or a GPU.
    pub(super) compute_us: Option<f64>,
}

/// A call, or the part of it that ran without another in between.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Position in the profile's operations.
    pub(super) operation: usize,
    pub(super) event: EventId,
    pub(super) ns: i64,
    pub(super) n_kernels: usize,
}

/// Steps in order of time, stream after stream; `None` where a chain has to end.
pub(super) fn steps(input: &Input) -> Vec<Option<Step>> {
    let profile = input.profile;
    // By GPU work: its operation and call, counted through.
    let mut call_of: Vec<Option<(usize, EventId, u32)>> = vec![None; profile.gpu.len()];
    let mut n_calls = 0_u32;
    for (at, operation, _) in input.operations().filter(|(_, one, _)| one.is_linked) {
        for call in &operation.calls {
            for work in &call.work {
                if let Some(of) = call_of.get_mut(work.index()) {
                    *of = Some((at, call.event, n_calls));
                }
            }
            n_calls = n_calls.saturating_add(1);
        }
    }
    let mut order: Vec<(i64, i64, u32)> = profile
        .gpu
        .iter()
        .map(|(id, work)| (work.stream.unwrap_or(-1), work.span.start_ns, id.0))
        .collect();
    order.sort_unstable();
    let mut steps: Vec<Option<Step>> = Vec::new();
    let (mut stream, mut last_call) = (None, None);
    for (of_stream, _, id) in order {
        if stream.replace(of_stream) != Some(of_stream) {
            steps.push(None);
            last_call = None;
        }
        let of = call_of.get(id as usize).copied().flatten();
        let ns = profile
            .gpu
            .get(crate::launch::GpuId(id))
            .map_or(0, |work| work.span.length());
        match (of, last_call) {
            (Some((.., call)), Some(last)) if call == last => {
                if let Some(Some(step)) = steps.last_mut() {
                    step.ns = step.ns.saturating_add(ns);
                    step.n_kernels += 1;
                }
            }
            (Some((operation, event, call)), _) => {
                last_call = Some(call);
                steps.push(Some(Step {
                    operation,
                    event,
                    ns,
                    n_kernels: 1,
                }));
            }
            (None, _) => {
                last_call = None;
                steps.push(None);
            }
        }
    }
    steps
}

/// By position in the profile's operations: what each is for a chain.
pub(super) fn kinds(input: &Input) -> Vec<StepKind> {
    let all = input.profile.operations().iter().zip(input.judged);
    all.map(|(operation, judged)| step_kind(input, operation, judged))
        .collect()
}

fn step_kind(input: &Input, operation: &Operation, judged: &Judged) -> StepKind {
    let full = input.profile.trace.strings.get(operation.key.name);
    let name = full.strip_prefix("aten::").unwrap_or("");
    let name = name.strip_suffix('_').unwrap_or(name);
    let shapes = Shapes::new(input.profile, operation);
    let kind = match name {
        _ if operation.key.kernel.is_some() || !operation.is_linked => Kind::Other,
        _ if operation.family == Family::MemoryCopy => Kind::Other,
        "_softmax" | "softmax" => Kind::Softmax,
        _ if ELEMENTWISE.contains(&name) || REDUCTIONS.contains(&name) => Kind::Fusable,
        "" => Kind::Other,
        _ if matches!(operation.family, Family::Gemm | Family::Convolution) => Kind::Matrix,
        "layer_norm" | "native_layer_norm" | "rms_norm" | "_fused_rms_norm" => Kind::Norm,
        _ => Kind::Other,
    };
    let compute_us = judged
        .work
        .filter(|_| kind != Kind::Other)
        .and_then(|work| {
            let gpu = input.gpu()?;
            let peak = work
                .compute
                .and_then(|spec| peak_tflops(spec, gpu, input.options.basis));
            Some(peak.map_or(0.0, |(tflops, _)| work.flops / tflops / 1e6))
        });
    StepKind {
        kind,
        name: name.to_owned(),
        takes: shapes.takes(name),
        gives: shapes.gives(name),
        compute_us,
    }
}

/// The tensors of an operation.
struct Shapes<'a> {
    profile: &'a Profile,
    operation: &'a Operation,
    /// By argument: shapes and bytes of an element.
    tensors: Vec<Vec<(&'a [i64], f64)>>,
}

impl<'a> Shapes<'a> {
    fn new(profile: &'a Profile, operation: &'a Operation) -> Shapes<'a> {
        let args = operation.args(profile);
        let types = args.and_then(|args| args.types.as_deref());
        let types = types.unwrap_or_default();
        let size_of = |at: usize| {
            let dtype = profile.trace.strings.get(*types.get(at)?);
            match dtype {
                "Scalar" | "ScalarList" | "" => None,
                // Lists have no types: two bytes are what most of today's tensors have.
                "TensorList" => Some(2.0),
                _ => element_bytes(dtype),
            }
        };
        let dims = operation.dims(profile).iter().enumerate();
        let tensors = dims.map(|(at, dims)| {
            let ids: &[ShapeId] = match dims {
                Dims::One(shape) => std::slice::from_ref(shape),
                Dims::Many(shapes) => shapes,
            };
            let shapes = ids.iter().map(|id| profile.trace.args.shape(*id));
            match size_of(at) {
                Some(bytes) => shapes
                    .filter(|sizes| !sizes.is_empty())
                    .map(|sizes| (sizes, bytes))
                    .collect(),
                None => Vec::new(),
            }
        });
        Shapes {
            profile,
            operation,
            tensors: tensors.collect(),
        }
    }

    fn at(&self, at: usize) -> Option<(&'a [i64], f64)> {
        self.tensors.get(at)?.first().copied()
    }

    fn value(&self, at: usize) -> &'a str {
        let args = self.operation.args(self.profile);
        let values = args.and_then(|args| args.concrete.as_deref());
        let value = values.and_then(|values| values.get(at));
        value.map_or("", |text| self.profile.trace.strings.get(*text))
    }

    fn takes(&self, name: &str) -> Vec<Shape> {
        let skipped = usize::from(name == "copy");
        let read = self.tensors.iter().skip(skipped).flatten();
        read.map(|(sizes, bytes)| shape(sizes.to_vec(), *bytes))
            .collect()
    }

    fn gives(&self, name: &str) -> Option<Shape> {
        if name == "copy" {
            let (sizes, bytes) = self.at(0)?;
            return Some(shape(sizes.to_vec(), bytes));
        }
        if name == "cat" {
            return self.concatenated();
        }
        if REDUCTIONS.contains(&name) {
            return self.reduced();
        }
        let (first, bytes) = self.at(0)?;
        let sizes = match name {
            "mm" => vec![*first.first()?, *self.at(1)?.0.get(1)?],
            "bmm" => vec![*first.first()?, *first.get(1)?, *self.at(1)?.0.get(2)?],
            "addmm" => vec![*self.at(1)?.0.first()?, *self.at(2)?.0.get(1)?],
            "linear" => {
                let (_, rest) = first.split_last()?;
                let mut sizes = rest.to_vec();
                sizes.push(*self.at(1)?.0.first()?);
                sizes
            }
            // The height and width do not matter: what follows has to have the channels.
            _ if name.contains("convolution") => {
                let mut sizes = vec![-1; first.len()];
                *sizes.first_mut()? = *first.first()?;
                *sizes.get_mut(1)? = *self.at(1)?.0.first()?;
                sizes
            }
            _ if ELEMENTWISE.contains(&name) => {
                let all: Vec<&[i64]> = self.tensors.iter().flatten().map(|one| one.0).collect();
                let widest = self.tensors.iter().flatten().map(|one| one.1);
                return Some(shape(broadcast(&all)?, widest.fold(bytes, f64::max)));
            }
            _ => return None,
        };
        Some(shape(sizes, bytes))
    }

    fn concatenated(&self) -> Option<Shape> {
        let parts = self.tensors.first()?;
        let (first, bytes) = *parts.first()?;
        let dim: i64 = self.value(1).parse().ok()?;
        let dim = usize::try_from(if dim < 0 {
            dim + first.len() as i64
        } else {
            dim
        })
        .ok()?;
        let mut sizes = first.to_vec();
        let along = parts.iter().map(|(sizes, _)| sizes.get(dim).copied());
        *sizes.get_mut(dim)? = along.sum::<Option<i64>>()?;
        Some(shape(sizes, bytes))
    }

    /// Along the dimensions of the second argument; the third says whether they stay as ones.
    fn reduced(&self) -> Option<Shape> {
        let (sizes, bytes) = self.at(0)?;
        let dims = self.value(1).strip_prefix('[')?.strip_suffix(']')?;
        let keeps = self.value(2).eq_ignore_ascii_case("true");
        let mut reduced = vec![false; sizes.len()];
        for dim in dims.split(',').map(str::trim).filter(|dim| !dim.is_empty()) {
            let dim: i64 = dim.parse().ok()?;
            let dim = if dim < 0 {
                dim + sizes.len() as i64
            } else {
                dim
            };
            *reduced.get_mut(usize::try_from(dim).ok()?)? = true;
        }
        let kept = sizes.iter().zip(reduced);
        let sizes = kept.filter_map(|(size, reduced)| match (reduced, keeps) {
            (false, _) => Some(*size),
            (true, true) => Some(1),
            (true, false) => None,
        });
        Some(shape(sizes.collect(), bytes))
    }
}

fn shape(sizes: Vec<i64>, element_bytes: f64) -> Shape {
    let n: f64 = sizes.iter().map(|size| size.abs() as f64).product();
    Shape {
        sizes,
        bytes: n * element_bytes,
    }
}

fn broadcast(shapes: &[&[i64]]) -> Option<Vec<i64>> {
    let n = shapes.iter().map(|sizes| sizes.len()).max()?;
    let mut out = vec![1; n];
    for sizes in shapes {
        for (out, size) in out.iter_mut().rev().zip(sizes.iter().rev()) {
            *out = (*out).max(*size);
        }
    }
    Some(out)
}

/// Whether what one step gives can be what another takes: the same shape, or a view of it with the
/// same rows.
pub(super) fn can_be(given: &Shape, taken: &Shape) -> bool {
    let (a, b) = (&given.sizes, &taken.sizes);
    let fits = |(a, b): (&i64, &i64)| *a == -1 || a == b;
    if a.len() == b.len() && a.iter().zip(b).all(fits) {
        return true;
    }
    let n = |sizes: &[i64]| sizes.iter().map(|size| *size as f64).product::<f64>();
    let same_rows = a.last().is_some() && a.last() == b.last();
    same_rows && !a.contains(&-1) && n(a) > 1.0 && (n(a) - n(b)).abs() < 0.5
}

/// Whether a shape can be a slice of another: smaller along one dimension alone.
pub(super) fn can_be_slice(whole: &Shape, part: &Shape) -> bool {
    let sizes = || whole.sizes.iter().zip(&part.sizes);
    whole.sizes.len() == part.sizes.len()
        && sizes().all(|(whole, part)| part <= whole)
        && sizes().filter(|(whole, part)| part < whole).count() <= 1
}

/// Where a call belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// In an instance of a module: its node in the full tree.
    Module(NodeId),
    /// In a step of automatic differentiation.
    Autograd(NodeId),
    /// Below the same outermost operator, or below none, on this thread, where no Python frames were
    /// recorded.
    Siblings(Option<NodeId>, u32),
    /// Nothing says what it belongs to.
    Nowhere,
}

/// Finds scopes; each call is looked up once.
pub(super) struct Scopes<'a> {
    profile: &'a Profile,
    has_frames: bool,
    is_module: HashMap<crate::trace::StringId, bool, FxBuildHasher>,
}

const MODULE: &str = "nn.Module: ";

impl<'a> Scopes<'a> {
    pub(super) fn new(profile: &'a Profile) -> Scopes<'a> {
        Scopes {
            profile,
            has_frames: profile.has_python_frames(),
            is_module: HashMap::default(),
        }
    }

    pub(super) fn has_frames(&self) -> bool {
        self.has_frames
    }

    pub(super) fn of(&mut self, event: EventId) -> Scope {
        let profile = self.profile;
        let trace = &profile.trace;
        let tree = match self.has_frames {
            true => profile.full_tree(),
            false => &profile.tree,
        };
        let Some(node) = tree.node_of(event) else {
            return Scope::Nowhere;
        };
        for above in tree.ancestors(node) {
            let Some(event) = tree.event(above) else {
                continue;
            };
            let name = trace.events.name(event);
            match trace.events.category(event) {
                Category::PythonFunction => {
                    let is_module = self.is_module.entry(name);
                    let is_module =
                        is_module.or_insert_with(|| trace.strings.get(name).starts_with(MODULE));
                    if *is_module {
                        return Scope::Module(above);
                    }
                }
                Category::CpuOp if trace.strings.get(name).starts_with(ENGINE_CALL.trim_end()) => {
                    return Scope::Autograd(above);
                }
                _ => {}
            }
        }
        match self.has_frames {
            true => Scope::Nowhere,
            false => {
                let track = trace.events.track(event).0;
                Scope::Siblings(tree.ancestors(node).last(), track)
            }
        }
    }

    /// The module around a module, unless that is a mere container; the thread around a call.
    pub(super) fn around(&self, scope: Scope) -> Option<Scope> {
        if let Scope::Siblings(Some(_), track) = scope {
            return Some(Scope::Siblings(None, track));
        }
        let around = self.above(scope)?;
        (!is_container(self.name(around)?)).then_some(around)
    }

    /// The module around a module, whatever it is.
    pub(super) fn above(&self, scope: Scope) -> Option<Scope> {
        let Scope::Module(node) = scope else {
            return None;
        };
        let mut above = self.profile.full_tree().ancestors(node);
        let module = above.find(|node| self.module_name(*node).is_some())?;
        Some(Scope::Module(module))
    }

    /// The class of a module or the name of a step of automatic differentiation.
    pub(super) fn name(&self, scope: Scope) -> Option<&'a str> {
        match scope {
            Scope::Module(node) => self.module_name(node),
            Scope::Autograd(node) => {
                let tree = match self.has_frames {
                    true => self.profile.full_tree(),
                    false => &self.profile.tree,
                };
                let name = self.profile.trace.events.name(tree.event(node)?);
                let name = self.profile.trace.strings.get(name);
                name.strip_prefix(ENGINE_CALL.trim_end()).map(str::trim)
            }
            Scope::Siblings(..) | Scope::Nowhere => None,
        }
    }

    fn module_name(&self, node: NodeId) -> Option<&'a str> {
        let event = self.profile.full_tree().event(node)?;
        let trace = &self.profile.trace;
        if trace.events.category(event) != Category::PythonFunction {
            return None;
        }
        let name = trace.strings.get(trace.events.name(event));
        name.strip_prefix(MODULE).map(without_number)
    }
}

/// Modules that only hold others: what stands in them side by side need not belong together.
pub(super) fn is_container(class: &str) -> bool {
    const WORDS: [&str; 9] = [
        "sequential",
        "modulelist",
        "moduledict",
        "block",
        "model",
        "encoder",
        "decoder",
        "stage",
        "stack",
    ];
    let class = class.to_ascii_lowercase();
    let is_layer = class.ends_with("layer");
    is_layer || WORDS.iter().any(|word| class.contains(word))
}
