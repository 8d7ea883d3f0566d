//! Matrix multiplication (GEMM).
//!
//! C = A·B with A of M × K and B of K × N. Each of the M·N results is a sum of K products, 2·K operations; a bias adds
//! one to each. A and B are read, C is written, once each. The addend is read as stored in memory, one row of N or as
//! large as C, and not at all if its factor is zero. A batch does this B times. Elements that an operand repeats with a
//! stride of zero are read once.
//!
//! A complex multiplication is four real ones, and a complex addition two. If an element packs several numbers, as
//! `float4_e2m1fn_x2` does, they are adjacent along K: the shape counts elements.

pub(crate) mod scaled;
pub(crate) mod serving;
pub(crate) mod sizes;
pub(crate) mod tf32;
pub(crate) mod transpose;

use crate::perf::input::product;
use crate::perf::params::{self, Param, Params};
use crate::perf::{Modeled, OpInput, Work, bare, dtype, on_matrices, on_vectors};
use transpose::transpose;

/// Sizes of a GEMM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gemm {
    pub(crate) batch: f64,
    pub(crate) m: f64,
    pub(crate) n: f64,
    pub(crate) k: f64,
    pub(crate) has_bias: bool,
    /// Bytes of an element of A, B and C.
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    pub(crate) c: Option<f64>,
    /// Bytes of the whole addend.
    pub(crate) bias: Option<f64>,
}

impl Gemm {
    /// A GEMM whose elements all have the same size.
    pub(crate) fn uniform([m, k, n]: [f64; 3], element: Option<f64>) -> Gemm {
        Gemm {
            batch: 1.0,
            m,
            n,
            k,
            has_bias: false,
            a: element,
            b: element,
            c: element,
            bias: element.map(|size| size * n),
        }
    }

    /// The GEMM of a call, with A at position `first`: operands as stored in memory, the result in the requested type,
    /// and the addend in the first argument.
    fn of_call(self, input: &OpInput, first: usize) -> Gemm {
        let is_number = |at: usize| input.number(at).is_some();
        let after = first + 2;
        // A type precedes the two factors; `_addmm_activation` has a flag after them.
        let names_type = first == 0 || (input.n_args() == 6 && is_number(5));
        let c = || names_type.then(|| dtype::bytes_of_code(input.value(after).trim()))?;
        let factor = if names_type { after + 1 } else { after };
        let is_added = self.has_bias && !is_zero(input, factor);
        let in_memory = |size: Option<f64>, at: usize| Some(size? * input.distinct_share(at));
        Gemm {
            has_bias: is_added,
            a: in_memory(self.a, first),
            b: in_memory(self.b, first + 1),
            c: c().or(self.c),
            bias: added_bytes(input, self.bias),
            ..self
        }
    }

    /// The GEMM of a call with A at position `first`, after the addend if there is one, with TraceLens's parameters.
    fn listed(self, input: &OpInput, first: usize, is_batched: bool) -> Modeled {
        let gemm = Gemm {
            has_bias: first == 1,
            ..self
        };
        let work = gemm.of_call(input, first).work(input.dtype(first));
        bare(work).with(gemm.params(input, [first, first + 1], is_batched))
    }

    /// Operations and bytes; the first operand's type determines the precision.
    pub(crate) fn work(&self, precision: &str) -> Work {
        let Gemm { batch, m, n, k, .. } = *self;
        let (bias_flops, bias_bytes) = match self.has_bias {
            true => (m * n, self.bias),
            false => (0.0, Some(0.0)),
        };
        let bytes = || {
            let operands = m * k * self.a? + k * n * self.b? + m * n * self.c?;
            Some(batch * operands + bias_bytes?)
        };
        let (products, sums) = dtype::complex_factors(precision);
        Work {
            flops: batch * (products * 2.0 * m * n * k + sums * bias_flops),
            bytes: bytes(),
            compute: dtype::matrix(precision),
        }
    }

    /// TraceLens's parameters of `aten::mm` and similar ops, whose operands are two of the arguments.
    pub(crate) fn params(&self, input: &OpInput, operands: [usize; 2], is_batched: bool) -> Params {
        let [stride_a, stride_b] = operands.map(|at| params::opt_sizes(input.strides(at)));
        let mut params = self.sizes().to_vec();
        params.extend([
            ("stride_A", stride_a),
            ("stride_B", stride_b),
            ("dtype_A_B", params::types_of(input, operands)),
        ]);
        let batch = ("B", Param::Int(self.batch));
        params.insert(if is_batched { 0 } else { params.len() }, batch);
        push_transpose(&mut params, input);
        params
    }

    /// Parameters of all GEMMs.
    pub(crate) fn sizes(&self) -> [(&'static str, Param); 4] {
        [
            ("M", Param::Int(self.m)),
            ("N", Param::Int(self.n)),
            ("K", Param::Int(self.k)),
            ("bias", Param::Flag(self.has_bias)),
        ]
    }
}

/// Whether a factor among the arguments is zero, so that the tensor it multiplies is not read.
fn is_zero(input: &OpInput, at: usize) -> bool {
    input.number(at).is_some_and(|factor| factor.abs() <= 0.0)
}

/// Bytes of the first argument, the addend; `otherwise` if it is not a tensor.
fn added_bytes(input: &OpInput, otherwise: Option<f64>) -> Option<f64> {
    match input.tensor(0) {
        Some(added) => added.distinct_bytes(),
        None => otherwise,
    }
}

/// Adds the transposition of the operands, if the kernel's name shows it.
pub(crate) fn push_transpose(params: &mut Params, input: &OpInput) {
    if let Some((a, b)) = transpose(input.kernels) {
        params.push(("transpose", Param::Transposed([a, b])));
    }
}

/// M, K and N of the first two arguments: A of M × K and B of K × N.
pub(crate) fn matrix_sizes(input: &OpInput) -> Option<[f64; 3]> {
    let [m, k] = input.sized(0)?;
    let [_, n] = input.sized(1)?;
    Some([m, k, n])
}

/// M, K and N of a linear layer: x of … × K in the first argument, W of N × K at `w`.
pub(crate) fn linear_sizes(input: &OpInput, w: usize) -> Option<[f64; 3]> {
    let (&k, rows) = input.sizes(0)?.split_last()?;
    let [n, _] = input.sized(w)?;
    Some([product(rows), k as f64, n])
}

/// `dot(x, y)`: one row times one column.
pub(crate) fn dot(input: &OpInput) -> Option<Modeled> {
    let [k] = input.sized(0)?;
    let gemm = Gemm::uniform([1.0, k, 1.0], dtype::bytes(input.dtype(0)));
    Some(bare(gemm.work(input.dtype(0))))
}

/// `linear(x, W, bias)` when it launches its own kernel: x of … × K, W of N × K.
pub(crate) fn linear(input: &OpInput) -> Option<Modeled> {
    let gemm = Gemm {
        has_bias: input.tensor(2).is_some(),
        ..Gemm::uniform(linear_sizes(input, 1)?, dtype::bytes(input.dtype(0)))
    };
    Some(bare(gemm.work(input.dtype(0))))
}

/// `matmul(A, B)` when it launches its own kernel.
pub(crate) fn matmul(input: &OpInput) -> Option<Modeled> {
    let [batch, m, k, n] = matmul_sizes(input)?;
    let element = dtype::bytes(input.dtype(0));
    // What is broadcast along the batch is read once.
    let stored = |at: usize, size: f64| Some(product(input.sizes(at)?) / (batch * size));
    let gemm = Gemm {
        batch,
        a: element
            .zip(stored(0, m * k))
            .map(|(size, share)| size * share),
        b: element
            .zip(stored(1, k * n))
            .map(|(size, share)| size * share),
        ..Gemm::uniform([m, k, n], element)
    };
    Some(bare(gemm.of_call(input, 0).work(input.dtype(0))))
}

/// Batch, M, K and N of `matmul`: vectors, matrices, or batches of them that are broadcast. A single matrix B multiplies
/// all rows of A.
pub(crate) fn matmul_sizes(input: &OpInput) -> Option<[f64; 4]> {
    let size = |size: &i64| *size as f64;
    Some(match (input.sizes(0)?, input.sizes(1)?) {
        ([k], [_]) => [1.0, 1.0, size(k), 1.0],
        ([k], [batch @ .., _, n]) => [product(batch), 1.0, size(k), size(n)],
        ([rows @ .., k], [_]) => [1.0, product(rows), size(k), 1.0],
        ([rows @ .., k], [_, n]) => [1.0, product(rows), size(k), size(n)],
        ([a @ .., m, k], [b @ .., _, n]) => {
            let of = |batch: &[i64], from_end: usize| {
                let at = batch.len().checked_sub(from_end + 1);
                at.and_then(|at| batch.get(at)).map_or(1.0, size)
            };
            let dims = 0..a.len().max(b.len());
            let batch = dims.map(|from_end| of(a, from_end).max(of(b, from_end)));
            [batch.product(), size(m), size(k), size(n)]
        }
        _ => return None,
    })
}

/// `linear_backward(x, dY, W, mask)`: dX = dY·W, dW = dYᵀ·x, two GEMMs of the forward pass's size.
pub(crate) fn linear_backward(input: &OpInput) -> Option<Modeled> {
    let [m, k, n] = linear_sizes(input, 2)?;
    let element = dtype::bytes(input.dtype(0));
    let [asks_x, asks_w, asks_bias] = input.asked_gradients(3)?;
    let products = [
        (asks_x, Gemm::uniform([m, n, k], element)),
        (asks_w, Gemm::uniform([n, m, k], element)),
    ];
    let products = products.iter().filter(|(asked, _)| *asked);
    let works: Vec<Work> = products
        .map(|(_, gemm)| gemm.work(input.dtype(0)))
        .collect();
    let bytes: Option<f64> = works.iter().map(|work| work.bytes).sum();
    // The gradient of the bias sums dY over its rows.
    let bias = if asks_bias { m * n } else { 0.0 };
    let (_, sums) = dtype::complex_factors(input.dtype(0));
    let bytes = bytes.and_then(|bytes| Some(bytes + bias.min(n) * element?));
    Some(on_matrices(
        input.dtype(0),
        works.iter().map(|work| work.flops).sum::<f64>() + sums * bias,
        bytes,
    ))
}

/// `_int_mm(A, B)`: 8-bit operands, 32-bit results.
pub(crate) fn int_mm(input: &OpInput) -> Option<Modeled> {
    let sizes = matrix_sizes(input)?;
    let gemm = Gemm {
        c: Some(4.0),
        ..Gemm::uniform(sizes, dtype::bytes(input.dtype(0))).of_call(input, 0)
    };
    Some(bare(gemm.work(input.dtype(0))))
}

/// `_grouped_mm(A, B, offsets[2])` and `_scaled_grouped_mm(A, B, scale, scale, offsets[4])`: the rows of A are
/// distributed to the groups of B. With A of M × K and B of G × K × N every row is multiplied once, and so is every
/// column of B with A of G × M × K and B of K × N. With A of G × M × K and B of G × K × N it is a batched GEMM. With
/// two matrices the groups split K, and each writes its own M × N.
pub(crate) fn grouped_mm(input: &OpInput) -> Option<Modeled> {
    let offsets = offsets(input);
    let n_groups = || input.sized(offsets).map(|[groups]: [f64; 1]| groups);
    let element = dtype::bytes(input.dtype(0));
    // The type of the result follows a bias, or a bias and another scale.
    let of_result = if offsets == 4 { 7 } else { offsets + 2 };
    let c = dtype::bytes_of_code(input.value(of_result).trim());
    let c = c.or(element.map(|size| size.max(2.0)));
    let (flops, elements_a, elements_b, elements_c) = match (&*input.floats(0)?, &*input.floats(1)?)
    {
        // Groups without rows are not read.
        (&[m, k], &[groups, _, n]) => (2.0 * m * k * n, m * k, groups.min(m) * k * n, m * n),
        (&[groups, m, k], &[_, _, n]) => (
            2.0 * groups * m * k * n,
            groups * m * k,
            groups * k * n,
            groups * m * n,
        ),
        (&[groups, m, k], &[_, n]) => (2.0 * m * k * n, groups.min(n) * m * k, k * n, m * n),
        (&[m, k], &[_, n]) => (2.0 * m * k * n, m * k, k * n, n_groups()? * m * n),
        _ => return None,
    };
    let flops = flops * dtype::numbers(input.dtype(0));
    Some(on_matrices(
        input.dtype(0),
        flops,
        element.and_then(|size| {
            let (a, b) = (input.distinct_share(0), input.distinct_share(1));
            Some((elements_a * a + elements_b * b) * size + elements_c * c?)
        }),
    ))
}

/// The argument position of the groups' end offsets. In `_scaled_grouped_mm_v2` each operand's lists of scales, recipes
/// and orders precede them.
pub(crate) fn offsets(input: &OpInput) -> usize {
    match (input.name.contains("scaled"), input.name.ends_with("_v2")) {
        (false, _) => 2,
        (true, false) => 4,
        (true, true) => 8,
    }
}

/// `mm(A, B)`, and `addmm(bias, A, B)` with A at position 1.
pub(crate) fn mm(input: &OpInput, first: usize) -> Option<Modeled> {
    let ([m, k], [_, n]) = (input.sized(first)?, input.sized(first + 1)?);
    let gemm = Gemm::uniform([m, k, n], dtype::bytes(input.dtype(first)));
    Some(gemm.listed(input, first, false))
}

/// `bmm(A, B)` with A of B × M × K, and `baddbmm(bias, A, B)` with A at position 1.
pub(crate) fn bmm(input: &OpInput, first: usize) -> Option<Modeled> {
    let ([batch, m, k], [_, _, n]) = (input.sized(first)?, input.sized(first + 1)?);
    let gemm = Gemm {
        batch,
        ..Gemm::uniform([m, k, n], dtype::bytes(input.dtype(first)))
    };
    Some(gemm.listed(input, first, true))
}

/// Matrix-vector multiplication: `mv(A, x)`, `addmv(bias, A, x)`. Not in TraceLens.
pub(crate) fn with_vector(input: &OpInput, first: usize) -> Option<Modeled> {
    let [m, k] = input.sized(first)?;
    let gemm = Gemm {
        has_bias: first == 1,
        ..Gemm::uniform([m, k, 1.0], dtype::bytes(input.dtype(first)))
    };
    Some(bare(gemm.of_call(input, first).work(input.dtype(first))))
}

/// `addbmm(bias, A, B)`: the sum of the products of a batch, 2·B·M·N·K, plus the bias.
pub(crate) fn addbmm(input: &OpInput) -> Option<Modeled> {
    let [batch, m, k] = input.sized(1)?;
    let [_, _, n] = input.sized(2)?;
    let operands = m * k * input.distinct_share(1) + k * n * input.distinct_share(2);
    let (products, sums) = dtype::complex_factors(input.dtype(1));
    let (n_sums, added) = match is_zero(input, 3) {
        true => (0.0, Some(0.0)),
        false => (m * n, added_bytes(input, None)),
    };
    let bytes = || Some((batch * operands + m * n) * dtype::bytes(input.dtype(1))? + added?);
    let flops = products * 2.0 * batch * m * n * k + sums * n_sums;
    Some(on_matrices(input.dtype(1), flops, bytes()))
}

/// `addr(bias, x, y)`: the outer product of two vectors, added to a matrix.
pub(crate) fn addr(input: &OpInput) -> Option<Modeled> {
    let ([m], [n]) = (input.sized(1)?, input.sized(2)?);
    let (products, _) = dtype::complex_factors(input.dtype(1));
    let added = match is_zero(input, 3) {
        true => Some(0.0),
        false => added_bytes(input, None),
    };
    let bytes = || Some((m + n + m * n) * dtype::bytes(input.dtype(1))? + added?);
    Some(on_vectors(input.dtype(1), products * 2.0 * m * n, bytes()))
}

/// `_sparse_semi_structured_mm(A, positions, B)`: A stores two of every four numbers of a row.
pub(crate) fn half_sparse(input: &OpInput) -> Option<Modeled> {
    let [m, kept] = input.sized(0)?;
    let [_, n] = input.sized(2)?;
    let element = dtype::bytes(input.dtype(0));
    let bytes = || Some(input.tensor_bytes()? + m * n * element?.max(2.0));
    Some(on_matrices(input.dtype(0), 2.0 * m * kept * n, bytes()))
}

/// `_cdist_forward(x, y, p)`, the distances of P points to R points of M numbers each: subtract,
/// power, add.
pub(crate) fn distances(input: &OpInput) -> Option<Modeled> {
    let (x, y) = (input.tensor(0)?, input.tensor(1)?);
    let [batch @ .., p, m] = x.shape else {
        return None;
    };
    let r = *y.shape.get(y.shape.len().checked_sub(2)?)? as f64;
    let n_out = product(batch) * *p as f64 * r;
    let bytes = || Some(x.bytes()? + y.bytes()? + n_out * x.element_bytes()?);
    Some(on_vectors(x.dtype, 3.0 * n_out * *m as f64, bytes()))
}
