//! The two GEMMs of a fused MoE operation that runs each as a kernel of its own.
//!
//! Both multiply the same rows by the weights of the same experts. So the elements of the weights tell what share of
//! FLOPs, and of bytes where reading weights takes the time, each has: in a gated layer GEMM1 has twice those of GEMM2.

use crate::findings::prelude::*;
use crate::names::moe::MoeRole;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::moe::MoeRoles;

/// Of two GEMMs, the one that does its work far slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlowerHalf {
    pub(super) role: MoeRole,
    /// Its time, and that of the other.
    pub(super) ns: i64,
    pub(super) other_ns: i64,
    /// Its time for the same work relative to the other's.
    pub(super) times: f64,
}

impl SlowerHalf {
    /// What it takes beyond the rate of the other.
    pub(super) fn beyond_ns(&self) -> i64 {
        (self.ns as f64 * (1.0 - 1.0 / self.times)).round() as i64
    }

    pub(super) fn of(input: &Input, operation: &Operation) -> Option<SlowerHalf> {
        /// Shapes and the number of steps along K differ, so the two are never equally fast.
        const FAR: f64 = 1.5;
        let [up, down] = weights(input, operation)?;
        let [up_ns, down_ns] = times(input, operation);
        if up_ns == 0 || down_ns == 0 {
            return None;
        }
        let ratio = (up_ns as f64 / up) / (down_ns as f64 / down);
        let half = |role, ns, other_ns, times| SlowerHalf {
            role,
            ns,
            other_ns,
            times,
        };
        let slower = match ratio >= 1.0 {
            true => half(MoeRole::Gemm1, up_ns, down_ns, ratio),
            false => half(MoeRole::Gemm2, down_ns, up_ns, 1.0 / ratio),
        };
        (slower.times >= FAR).then_some(slower)
    }
}

/// The elements of the weights of both GEMMs: the first two operands with a matrix for each expert.
fn weights(input: &Input, operation: &Operation) -> Option<[f64; 2]> {
    let tensors = operation.tensors(input.profile);
    let mut stacks = tensors.iter().filter(|tensor| tensor.shape.len() == 3);
    let (up, down) = (stacks.next()?, stacks.next()?);
    let are_of_same_experts = up.shape.first() == down.shape.first() && up.dtype == down.dtype;
    let sizes = [up.n(), down.n()];
    (are_of_same_experts && sizes.iter().all(|size| *size > 0.0)).then_some(sizes)
}

/// The time of the kernels of both GEMMs; zero if it has none that are known to be one of them.
fn times(input: &Input, operation: &Operation) -> [i64; 2] {
    let roles = MoeRoles::of(input.profile);
    let mut times = [0_i64; 2];
    for id in operation.work() {
        let ns = input
            .profile
            .gpu
            .get(id)
            .map_or(0, |work| work.span.length());
        match roles.get(id) {
            Some(MoeRole::Gemm1) => times[0] = times[0].saturating_add(ns),
            Some(MoeRole::Gemm2) => times[1] = times[1].saturating_add(ns),
            _ => {}
        }
    }
    times
}
