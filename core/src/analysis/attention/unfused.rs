//! Attention that is computed in separate operations: two products with a softmax between them.
//!
//! Scores of N_Q × N_KV for each head are written by the first product, read and written by scaling,
//! mask, softmax and dropout, and read by the second product. Sizes prove it: the softmax works on
//! as many elements as the product before it writes and the product after it reads, along the same
//! last dimension. Where shapes were not recorded, the order of the calls has to do: batched
//! products with nothing but a softmax and element-wise work between them.
//!
//! Everything is looked for in the order in which the GPU runs it, so it makes no difference whether
//! a module, an operator or nothing at all is around it.

use super::super::Input;
use super::super::order::{Order, Placed, is_copy, keeps_type, tensors, time_ns};
use crate::category::Family;
use crate::operations::Operation;
use crate::perf::{FusedAttention, Work};

/// How far from the softmax its products are looked for, in calls. Some models work out a bias of
/// their positions in between.
const MAX_CALLS_AWAY: usize = 64;

/// How far without shapes.
const MAX_CALLS_AWAY_WITHOUT_SHAPES: usize = 6;

/// Copies and scalings of Q, K and V before the first product.
const MAX_CALLS_BEFORE: usize = 6;

/// The widest head that products without a batch may have.
const MAX_UNBATCHED_WIDTH: u64 = 256;

/// What a call does in an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Softmax,
    Product,
    Scaling,
    Mask,
    Copy,
    Dropout,
    Other,
}

impl Part {
    pub(super) const ALL: [Part; 7] = [
        Part::Softmax,
        Part::Product,
        Part::Scaling,
        Part::Mask,
        Part::Copy,
        Part::Dropout,
        Part::Other,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Part::Softmax => "softmax",
            Part::Product => "matrix products",
            Part::Scaling => "scaling",
            Part::Mask => "mask",
            Part::Copy => "copies",
            Part::Dropout => "dropout",
            Part::Other => "other element-wise work",
        }
    }

    /// In the column of types.
    pub(super) fn class(self) -> &'static str {
        match self {
            Part::Softmax => "unfused: softmax",
            Part::Product => "unfused: product",
            Part::Scaling => "unfused: scaling",
            Part::Mask => "unfused: mask",
            Part::Copy => "unfused: copy",
            Part::Dropout => "unfused: dropout",
            Part::Other => "unfused: other",
        }
    }
}

/// One attention in parts.
#[derive(Debug, Clone)]
pub(super) struct Instance<'a> {
    /// Its calls, in no order; none is in another instance.
    pub(super) calls: Vec<(Placed, Part)>,
    /// The softmax.
    pub(super) softmax: Placed,
    /// Its sizes; `None` where shapes were not recorded.
    pub(super) sizes: Option<FusedAttention>,
    /// The type of its operands.
    pub(super) dtype: &'a str,
}

impl Instance<'_> {
    /// The measured time of all its calls.
    pub(super) fn time_ns(&self, input: &Input) -> i64 {
        time_ns(input, self.calls.iter().map(|(placed, _)| placed))
    }

    /// The work of one fused call that does the same.
    pub(super) fn fused_work(&self, is_backward: bool) -> Option<Work> {
        let sizes = self.sizes?;
        Some(match is_backward {
            true => sizes.backward(self.dtype),
            false => sizes.forward(self.dtype),
        })
    }
}

/// Sizes of a product.
#[derive(Debug, Clone, Copy)]
struct Product {
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
}

impl Product {
    fn of(operation: &Operation) -> Option<Product> {
        let params = &operation.modelled.as_ref()?.params;
        let size = |wanted: &str| {
            let (_, value) = params.iter().find(|(name, _)| *name == wanted)?;
            value.parse::<u64>().ok().filter(|size| *size > 0)
        };
        Some(Product {
            batch: size("B").unwrap_or(1),
            m: size("M")?,
            n: size("N")?,
            k: size("K")?,
        })
    }

    fn elements(self, rows: u64, columns: u64) -> Option<u64> {
        self.batch.checked_mul(rows)?.checked_mul(columns)
    }

    /// Whether it writes the scores: (queries, head dimension).
    fn writes(self, scores: Scores) -> Option<(u64, u64)> {
        if self.elements(self.m, self.n) != Some(scores.elements) {
            return None;
        }
        if self.n == scores.n_kv {
            Some((self.m, self.k))
        } else if self.m == scores.n_kv {
            Some((self.n, self.k))
        } else {
            None
        }
    }

    /// Whether it reads the scores, and the size that is neither queries nor keys.
    fn reads(self, scores: Scores) -> Option<u64> {
        let is_left = self.elements(self.m, self.k) == Some(scores.elements);
        let is_right = self.elements(self.k, self.n) == Some(scores.elements);
        if is_left && (self.k == scores.n_kv || self.m == scores.n_kv) {
            Some(self.n)
        } else if is_right && (self.k == scores.n_kv || self.n == scores.n_kv) {
            Some(self.m)
        } else {
            None
        }
    }
}

/// What a softmax works on.
#[derive(Debug, Clone, Copy)]
struct Scores {
    elements: u64,
    n_kv: u64,
}

/// What an operation can be in an attention.
#[derive(Debug, Clone, Copy)]
enum Role {
    Softmax(Option<Scores>),
    SoftmaxBackward(Option<Scores>),
    /// With sizes, where they are known.
    Product(Option<Product>),
    /// A fused attention; it ends every search.
    Fused,
    Plain,
}

struct Seen {
    role: Role,
    /// Elements of its largest tensor; 0 without shapes.
    elements: u64,
    /// Of a product: of batches of matrices, as far as the name tells.
    is_batched: bool,
    part: Part,
    is_elementwise: bool,
    /// Looks up, fills or joins: what a fused kernel would not do instead.
    is_other_work: bool,
    /// Multiplies one tensor by a number.
    scales: bool,
    keeps_type: bool,
}

impl Seen {
    fn new(input: &Input, operation: &Operation) -> Seen {
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        let tensors = tensors(input, operation);
        let largest = tensors.iter().max_by_key(|tensor| tensor.elements());
        let elements = largest.map_or(0, |tensor| tensor.elements());
        let scores = largest.and_then(|tensor| {
            let n_kv = u64::try_from(*tensor.shape.last()?).ok()?;
            (tensor.shape.len() >= 2 && n_kv > 1).then_some(Scores { elements, n_kv })
        });
        let is_softmax = name.contains("softmax")
            && !["log_softmax", "logsoftmax", "topk", "gating", "sampling"]
                .iter()
                .any(|other| name.contains(other));
        // Kernels that stand for themselves: products for sure, batched or not is not known.
        let is_batched = operation.is_kernel() || name.contains("bmm") || name.contains("matmul");
        let role = match operation.family {
            Family::Attention => Role::Fused,
            Family::Gemm => {
                let product = Product::of(operation);
                match product.is_none() && !is_batched {
                    true => Role::Plain,
                    false => Role::Product(product),
                }
            }
            Family::Moe | Family::Convolution | Family::Communication => Role::Plain,
            _ if is_softmax && super::kind::is_backward(&name) => Role::SoftmaxBackward(scores),
            _ if is_softmax => Role::Softmax(scores),
            _ => Role::Plain,
        };
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let multiplies = has(&["aten::mul", "aten::div"]);
        let part = if is_copy(input, operation) {
            Part::Copy
        } else if has(&["dropout", "bernoulli"]) {
            Part::Dropout
        } else if multiplies {
            Part::Scaling
        } else if has(&["aten::add", "mask", "where", "tril", "triu", "aten::sub"]) {
            Part::Mask
        } else {
            Part::Other
        };
        let n_tensors = tensors
            .iter()
            .filter(|tensor| tensor.elements() > 1)
            .count();
        Seen {
            role,
            elements,
            is_batched,
            part,
            is_elementwise: matches!(operation.family, Family::Elementwise | Family::Triton),
            is_other_work: has(&["gather", "index", "embedding", "fill_", "arange", "::cat"]),
            scales: multiplies && n_tensors == 1,
            keeps_type: keeps_type(&tensors),
        }
    }
}

/// Whether there is any softmax that could be part of an attention.
pub(super) fn has_softmax(input: &Input) -> bool {
    input.operations().any(|(_, operation, _)| {
        let name = operation.short_name(input.profile).to_ascii_lowercase();
        name.contains("softmax") && operation.family != Family::Attention
    })
}

/// Every attention in parts, forward or backward.
pub(super) fn find<'a>(input: &Input<'a>, order: &Order, is_backward: bool) -> Vec<Instance<'a>> {
    let operations = input.profile.operations();
    let seen: Vec<Seen> = operations
        .iter()
        .map(|operation| Seen::new(input, operation))
        .collect();
    let mut instances = Vec::new();
    for lane in order.lanes() {
        let mut search = Search {
            seen: &seen,
            lane,
            is_taken: vec![false; lane.len()],
        };
        for at in 0..lane.len() {
            let Some(found) = search.around(at, is_backward) else {
                continue;
            };
            let dtype = found.product.and_then(|product| {
                let placed = lane.get(product)?;
                let operand = tensors(input, operations.get(placed.operation)?);
                Some(operand.first()?.dtype)
            });
            let calls = found.calls.iter();
            instances.push(Instance {
                calls: calls
                    .filter_map(|&(call, part)| Some((*lane.get(call)?, part)))
                    .collect(),
                softmax: lane[at],
                sizes: found.sizes,
                dtype: dtype.unwrap_or_default(),
            });
        }
    }
    instances
}

/// What was found around one softmax; positions are those in the lane.
struct Found {
    calls: Vec<(usize, Part)>,
    product: Option<usize>,
    sizes: Option<FusedAttention>,
}

struct Search<'a> {
    seen: &'a [Seen],
    lane: &'a [Placed],
    is_taken: Vec<bool>,
}

impl<'a> Search<'a> {
    fn seen(&self, at: usize) -> Option<&'a Seen> {
        self.seen.get(self.lane.get(at)?.operation)
    }

    fn around(&mut self, at: usize, is_backward: bool) -> Option<Found> {
        let found = match (self.seen(at)?.role, is_backward) {
            (Role::Softmax(Some(scores)), false) => self.forward(at, scores)?,
            (Role::SoftmaxBackward(Some(scores)), true) => self.backward(at, scores)?,
            (Role::Softmax(None), false) | (Role::SoftmaxBackward(None), true) => {
                self.without_shapes(at)?
            }
            _ => return None,
        };
        for &(call, _) in &found.calls {
            if let Some(is_taken) = self.is_taken.get_mut(call) {
                *is_taken = true;
            }
        }
        Some(found)
    }

    /// Positions before or after a call, the nearest first, up to the next softmax.
    fn away(&self, at: usize, is_before: bool, most: usize) -> Vec<usize> {
        let positions: Vec<usize> = match is_before {
            true => (at.saturating_sub(most)..at).rev().collect(),
            false => (at + 1..(at + 1 + most).min(self.lane.len())).collect(),
        };
        let is_end = |position: &usize| {
            let role = self.seen(*position).map(|seen| seen.role);
            matches!(
                role,
                None | Some(Role::Softmax(_) | Role::SoftmaxBackward(_) | Role::Fused)
            ) || self.is_taken.get(*position).copied().unwrap_or(true)
        };
        positions
            .into_iter()
            .take_while(|position| !is_end(position))
            .collect()
    }

    fn product(&self, at: usize) -> Option<Product> {
        match self.seen(at)?.role {
            Role::Product(product) => product,
            _ => None,
        }
    }

    fn forward(&self, at: usize, scores: Scores) -> Option<Found> {
        let mut before = self.away(at, true, MAX_CALLS_AWAY).into_iter();
        let (first, (n_q, d_qk)) =
            before.find_map(|at| Some((at, self.product(at)?.writes(scores)?)))?;
        let mut after = self.away(at, false, MAX_CALLS_AWAY).into_iter();
        let (last, d_v) = after.find_map(|at| Some((at, self.product(at)?.reads(scores)?)))?;
        // A layer, a softmax over classes and another layer look the same, but are wider.
        let is_batched = self.seen(first)?.is_batched && self.seen(last)?.is_batched;
        if !is_batched && d_qk.max(d_v) > MAX_UNBATCHED_WIDTH {
            return None;
        }
        let batch = scores.elements.checked_div(n_q.checked_mul(scores.n_kv)?)?;
        let sizes = FusedAttention {
            batch,
            n_q,
            n_kv: scores.n_kv,
            d_qk,
            d_v,
        };
        let mut calls = vec![
            (at, Part::Softmax),
            (first, Part::Product),
            (last, Part::Product),
        ];
        self.add_between(&mut calls, first, last, sizes);
        self.add_operands(&mut calls, first, sizes);
        self.add_result(&mut calls, last, sizes);
        Some(Found {
            calls,
            product: Some(first),
            sizes: Some(sizes),
        })
    }

    /// The gradient of the scores comes from a product (with V), goes through the softmax, and into
    /// two products (with K and Q). The gradient of V is a product with the scores themselves.
    fn backward(&self, at: usize, scores: Scores) -> Option<Found> {
        let touching = |positions: Vec<usize>| -> Vec<usize> {
            let is_it = |at: &usize| {
                self.product(*at).is_some_and(|product| {
                    product.writes(scores).is_some() || product.reads(scores).is_some()
                })
            };
            positions.into_iter().filter(is_it).take(2).collect()
        };
        let before = touching(self.away(at, true, MAX_CALLS_AWAY));
        let after = touching(self.away(at, false, MAX_CALLS_AWAY));
        let writes = |at: &usize| Some((*at, self.product(*at)?.writes(scores)?));
        let (gradient, (n_q, d_v)) = before.iter().find_map(writes)?;
        let reads = |at: &usize| self.product(*at)?.reads(scores);
        let d_qk = after.iter().find_map(reads)?;
        let batch = scores.elements.checked_div(n_q.checked_mul(scores.n_kv)?)?;
        let sizes = FusedAttention {
            batch,
            n_q,
            n_kv: scores.n_kv,
            d_qk,
            d_v,
        };
        let mut calls = vec![(at, Part::Softmax)];
        let products = before.iter().chain(&after);
        calls.extend(products.map(|product| (*product, Part::Product)));
        let first = before.iter().copied().min().unwrap_or(at);
        let last = after.iter().copied().max().unwrap_or(at);
        self.add_between(&mut calls, first, last, sizes);
        Some(Found {
            calls,
            product: Some(gradient),
            sizes: Some(sizes),
        })
    }

    /// By order alone.
    fn without_shapes(&self, at: usize) -> Option<Found> {
        let mut calls = vec![(at, Part::Softmax)];
        for is_before in [true, false] {
            let mut has_product = false;
            for position in self.away(at, is_before, MAX_CALLS_AWAY_WITHOUT_SHAPES) {
                let seen = self.seen(position)?;
                match seen.role {
                    Role::Product(_) => {
                        calls.push((position, Part::Product));
                        has_product = true;
                        break;
                    }
                    _ if seen.is_elementwise => calls.push((position, seen.part)),
                    _ => return None,
                }
            }
            if !has_product {
                return None;
            }
        }
        Some(Found {
            calls,
            product: None,
            sizes: None,
        })
    }

    /// Work on the scores, and copies of operands, between the products.
    fn add_between(
        &self,
        calls: &mut Vec<(usize, Part)>,
        first: usize,
        last: usize,
        sizes: FusedAttention,
    ) {
        for position in first + 1..last {
            let is_known = calls.iter().any(|(at, _)| *at == position);
            let Some(seen) = self.seen(position).filter(|_| !is_known) else {
                continue;
            };
            if !matches!(seen.role, Role::Plain) || seen.is_other_work {
                continue;
            }
            let is_on_scores = seen.elements > 0 && Some(seen.elements) == sizes.scores();
            let is_operand = seen.part == Part::Copy && sizes.is_operand(seen.elements);
            if is_on_scores || is_operand {
                calls.push((position, seen.part));
            }
        }
    }

    /// Copies and scalings of Q, K and V right before the first product.
    fn add_operands(&self, calls: &mut Vec<(usize, Part)>, first: usize, sizes: FusedAttention) {
        for position in self.away(first, true, MAX_CALLS_BEFORE) {
            let Some(seen) = self.seen(position) else {
                break;
            };
            let is_copy = seen.part == Part::Copy && seen.keeps_type;
            if !((is_copy || seen.scales) && sizes.is_operand(seen.elements)) {
                break;
            }
            calls.push((position, seen.part));
        }
    }

    /// The copy of the result that puts positions before heads again.
    fn add_result(&self, calls: &mut Vec<(usize, Part)>, last: usize, sizes: FusedAttention) {
        let position = last + 1;
        let is_free = self.is_taken.get(position) == Some(&false);
        if let Some(seen) = self.seen(position).filter(|_| is_free)
            && seen.part == Part::Copy
            && Some(seen.elements) == sizes.result()
        {
            calls.push((position, Part::Copy));
        }
    }
}
