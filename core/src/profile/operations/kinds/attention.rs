//! Sizes of attention calls, from the parameters of the perf model or the shapes of the arguments.

use crate::base::format;
use crate::names::attention::is_backward;
use crate::perf::{Modeled, Param};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Sizes of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AttentionSizes {
    pub(crate) batch: u64,
    /// Number of queries; for packed sequences, of all together.
    pub(crate) n_q: u64,
    pub(crate) h_q: u64,
    /// Number of keys; for packed sequences, of all together.
    pub(crate) n_kv: u64,
    pub(crate) h_kv: u64,
    pub(crate) d_qk: u64,
    pub(crate) d_v: u64,
    pub(crate) is_causal: bool,
    /// Number of sequences that are packed one after the other.
    pub(crate) n_packed: Option<u64>,
}

impl AttentionSizes {
    /// Sizes of an operation; `None` if they are unknown.
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Option<AttentionSizes> {
        let of_params = operation.known().and_then(AttentionSizes::of_params);
        let sizes = of_params
            .or_else(|| AttentionSizes::of_shapes(profile, operation))
            .or_else(|| AttentionSizes::of_packed(profile, operation))?;
        Some(AttentionSizes {
            n_packed: n_packed(profile, operation),
            ..sizes
        })
    }

    fn of_params(modeled: &Modeled) -> Option<AttentionSizes> {
        let size = |name| modeled.size_of(name);
        let (n_q, h_q, d_qk) = (size("N_Q")?, size("H_Q")?, size("d_h_qk")?);
        let batch = size("B").unwrap_or(1);
        Some(AttentionSizes {
            n_kv: size("N_KV").unwrap_or(n_q),
            h_kv: size("H_KV").unwrap_or(h_q),
            d_v: size("d_h_v").unwrap_or(d_qk),
            is_causal: modeled.param("causal").is_some_and(Param::is_true),
            ..AttentionSizes::of_queries((batch, n_q, h_q, d_qk))
        })
    }

    /// Q, K and V are the first three 4-D tensors; in a backward pass the gradient precedes them. PyTorch's own
    /// operators put heads before positions.
    fn of_shapes(profile: &Profile, operation: &Operation) -> Option<AttentionSizes> {
        let name = operation.short_name(profile);
        let tensors = operation.tensors(profile);
        let dense = tensors.iter().filter(|tensor| tensor.shape.len() == 4);
        let mut dense = dense.skip(usize::from(is_backward(name)));
        let heads_first = name.contains("scaled_dot_product");
        let mut next = || {
            let &[batch, x, y, d] = dense.next()?.shape else {
                return None;
            };
            let (n, h) = if heads_first { (y, x) } else { (x, y) };
            Some((
                above_zero(batch)?,
                above_zero(n)?,
                above_zero(h)?,
                above_zero(d)?,
            ))
        };
        let (q, (_, n_kv, h_kv, _), (_, _, _, d_v)) = (next()?, next()?, next()?);
        Some(AttentionSizes {
            n_kv,
            h_kv,
            d_v,
            ..AttentionSizes::of_queries(q)
        })
    }

    /// Packed queries of positions × heads × head dimension, and a KV cache whose last dimensions are heads × head
    /// dimension. How much of the cache is read is not recorded; there are at least as many keys as queries.
    fn of_packed(profile: &Profile, operation: &Operation) -> Option<AttentionSizes> {
        let tensors = operation.tensors(profile);
        let (&[n_q, h_q, d], &[_, .., h_kv, _]) = (tensors.first()?.shape, tensors.get(1)?.shape)
        else {
            return None;
        };
        let (n_q, h_q, d) = (above_zero(n_q)?, above_zero(h_q)?, above_zero(d)?);
        Some(AttentionSizes {
            h_kv: above_zero(h_kv).filter(|h_kv| h_q % h_kv == 0)?,
            ..AttentionSizes::of_queries((1, n_q, h_q, d))
        })
    }

    /// For keys and values of the same size as the queries: batch, queries, heads, head dimension.
    fn of_queries((batch, n_q, h_q, d_qk): (u64, u64, u64, u64)) -> AttentionSizes {
        AttentionSizes {
            batch,
            n_q,
            h_q,
            n_kv: n_q,
            h_kv: h_q,
            d_qk,
            d_v: d_qk,
            is_causal: false,
            n_packed: None,
        }
    }

    /// Queries of one sequence; the mean for packed sequences.
    pub(crate) fn queries(&self) -> f64 {
        self.n_q as f64 / self.n_packed.unwrap_or(1).max(1) as f64
    }

    /// Keys of one sequence; the mean for packed sequences.
    pub(crate) fn keys(&self) -> f64 {
        self.n_kv as f64 / self.n_packed.unwrap_or(1).max(1) as f64
    }

    /// The length that determines the band: the shorter side limits data reuse.
    pub(crate) fn length(&self) -> f64 {
        self.queries().min(self.keys())
    }

    /// Number of query blocks of the given size, over all heads, batches and sequences.
    pub(crate) fn blocks(&self, queries: u64) -> u64 {
        let heads = self.h_q.saturating_mul(self.batch);
        let sequences = heads.saturating_mul(self.n_packed.unwrap_or(1).max(1));
        let of_each = (self.queries().max(1.0) as u64).div_ceil(queries.max(1));
        sequences.saturating_mul(of_each)
    }

    /// Query heads for each key head.
    pub(crate) fn group(&self) -> u64 {
        self.h_q.checked_div(self.h_kv).unwrap_or(1).max(1)
    }

    /// The head dimension, if it is not one that most kernels are tuned for.
    pub(crate) fn odd_head(&self) -> Option<u64> {
        let is_odd = |head: &u64| !matches!(head, 64 | 128);
        [self.d_qk, self.d_v].into_iter().find(is_odd)
    }

    /// Number of elements of Q, K, V and the result.
    pub(crate) fn elements(&self) -> [u64; 4] {
        let elements = |n: u64, h: u64, d: u64| {
            let sizes = [self.batch, n, h, d];
            sizes.into_iter().fold(1_u64, u64::saturating_mul)
        };
        [
            elements(self.n_q, self.h_q, self.d_qk),
            elements(self.n_kv, self.h_kv, self.d_qk),
            elements(self.n_kv, self.h_kv, self.d_v),
            elements(self.n_q, self.h_q, self.d_v),
        ]
    }

    /// "16×16×559×64, causal": batch, heads, queries, head dimension, and the keys and their heads where they
    /// differ.
    pub(crate) fn text(&self) -> String {
        let (n_q, n_kv) = (self.n_q, self.n_kv);
        let keys = (n_q != n_kv).then(|| format!(" on {n_kv} keys"));
        let heads = (self.h_q != self.h_kv)
            .then(|| format!(", {}", format::counted(self.h_kv, "key head")));
        let causal = self.is_causal.then(|| ", causal".to_owned());
        let packed = self.n_packed.map(|n| format!(", {n} sequences"));
        let queries = format!("{}×{}×{n_q}×{}", self.batch, self.h_q, self.d_qk);
        [Some(queries), keys, heads, causal, packed]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn above_zero(size: i64) -> Option<u64> {
    u64::try_from(size).ok().filter(|size| *size > 0)
}

/// The number of packed sequences. Tensors without a batch dimension come with a list of sequence start offsets, which
/// has one more entry than there are sequences. Memory-efficient attention uses a batch of one.
fn n_packed(profile: &Profile, operation: &Operation) -> Option<u64> {
    let tensors = operation.tensors(profile);
    let types: &[&str] = match tensors.first()?.shape {
        [_, _, _] => &["int", "long int"],
        [1, _, _, _] if operation.short_name(profile).contains("efficient") => &["int"],
        _ => return None,
    };
    let starts = tensors
        .iter()
        .find(|tensor| tensor.shape.len() == 1 && types.contains(&tensor.dtype))?;
    starts.elements().checked_sub(1).filter(|n| *n > 0)
}
