//! The search around a softmax, along the calls of one stream: the GEMMs before and after it, and what runs between
//! them.

use super::role::{CallRole, Role, Scores};
use super::{UnfusedCalls, UnfusedPart};
use crate::perf::FusedAttention;
use crate::profile::operations::call_order::Beside;
use crate::profile::operations::kinds::gemm::GemmSizes;

/// How far from the softmax to look for its GEMMs, in calls. Some models compute a position bias in between.
const MAX_CALLS_AWAY: usize = 64;

/// The same without shapes.
const MAX_CALLS_AWAY_WITHOUT_SHAPES: usize = 6;

/// How far before the first GEMM to look for copies and scalings of Q, K and V.
const MAX_CALLS_BEFORE: usize = 6;

/// The largest head dimension that unbatched GEMMs may have.
const MAX_UNBATCHED_HEAD_DIM: u64 = 256;

/// Softmaxes are processed in order; calls that belong to one are marked as taken.
pub(super) struct Search<'a> {
    roles: &'a [CallRole],
    lane: &'a [usize],
    is_taken: Vec<bool>,
}

impl<'a> Search<'a> {
    pub(super) fn new(roles: &'a [CallRole], lane: &'a [usize]) -> Search<'a> {
        Search {
            roles,
            lane,
            is_taken: vec![false; lane.len()],
        }
    }

    fn role(&self, at: usize) -> Option<&'a CallRole> {
        self.roles.get(*self.lane.get(at)?)
    }

    pub(super) fn around(&mut self, at: usize, is_backward: bool) -> Option<UnfusedCalls> {
        let found = match (self.role(at)?.role, is_backward) {
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

    /// Positions before or after a call, nearest first, up to the next softmax.
    fn away(&self, beside: Beside, at: usize, most: usize) -> Vec<usize> {
        let positions: Vec<usize> = match beside {
            Beside::Before => (at.saturating_sub(most)..at).rev().collect(),
            Beside::After => (at + 1..(at + 1 + most).min(self.lane.len())).collect(),
        };
        let is_end = |position: &usize| {
            let role = self.role(*position).map(|seen| seen.role);
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

    fn gemm(&self, at: usize) -> Option<GemmSizes> {
        match self.role(at)?.role {
            Role::Gemm(sizes) => sizes,
            _ => None,
        }
    }

    fn forward(&self, at: usize, scores: Scores) -> Option<UnfusedCalls> {
        let mut before = self.away(Beside::Before, at, MAX_CALLS_AWAY).into_iter();
        let (first, (n_q, d_qk)) =
            before.find_map(|at| Some((at, scores.written_by(self.gemm(at)?)?)))?;
        let mut after = self.away(Beside::After, at, MAX_CALLS_AWAY).into_iter();
        let reads = after.find_map(|at| Some((at, scores.read_by(self.gemm(at)?)?)));
        let (last, d_v) = reads.or_else(|| Some((self.next_batched(at, first)?, d_qk)))?;
        // A layer, a softmax over classes and another layer look the same, but have a larger K.
        let is_batched = self.role(first)?.is_batched && self.role(last)?.is_batched;
        if !is_batched && d_qk.max(d_v) > MAX_UNBATCHED_HEAD_DIM {
            return None;
        }
        let sizes = scores.attention(n_q, d_qk, d_v)?;
        let mut calls = vec![
            (at, UnfusedPart::Softmax),
            (first, UnfusedPart::Gemm),
            (last, UnfusedPart::Gemm),
        ];
        self.add_between(&mut calls, first, last, sizes);
        self.add_operands(&mut calls, first, sizes);
        self.add_result(&mut calls, last, sizes);
        Some(UnfusedCalls {
            calls,
            softmax: at,
            gemm: Some(first),
            sizes: Some(sizes),
        })
    }

    /// The GEMM right after a softmax with the same number of heads and queries as the GEMM before it: it reads the
    /// scores, whatever was recorded for its operands.
    fn next_batched(&self, at: usize, first: usize) -> Option<usize> {
        let before = self.gemm(first).filter(|gemm| gemm.batch > 1)?;
        for position in self.away(Beside::After, at, MAX_CALLS_AWAY_WITHOUT_SHAPES) {
            let seen = self.role(position)?;
            match self.gemm(position) {
                Some(gemm) => {
                    let is_alike = gemm.batch == before.batch && gemm.m == before.m;
                    return (is_alike && seen.is_batched).then_some(position);
                }
                None if !seen.is_elementwise => return None,
                None => {}
            }
        }
        None
    }

    /// The gradient of the scores comes from a GEMM (with V), passes through the softmax, and goes into two GEMMs (with
    /// K and Q). The gradient of V is a GEMM with the scores themselves.
    fn backward(&self, at: usize, scores: Scores) -> Option<UnfusedCalls> {
        let touching = |positions: Vec<usize>| -> Vec<usize> {
            let is_it = |at: &usize| {
                let gemm = self.gemm(*at);
                gemm.is_some_and(|gemm| {
                    scores.written_by(gemm).is_some() || scores.read_by(gemm).is_some()
                })
            };
            positions.into_iter().filter(is_it).take(2).collect()
        };
        let before = touching(self.away(Beside::Before, at, MAX_CALLS_AWAY));
        let after = touching(self.away(Beside::After, at, MAX_CALLS_AWAY));
        let writes = |at: &usize| Some((*at, scores.written_by(self.gemm(*at)?)?));
        let (gradient, (n_q, d_v)) = before.iter().find_map(writes)?;
        let reads = |at: &usize| scores.read_by(self.gemm(*at)?);
        let d_qk = after.iter().find_map(reads)?;
        let sizes = scores.attention(n_q, d_qk, d_v)?;
        let mut calls = vec![(at, UnfusedPart::Softmax)];
        let gemms = before.iter().chain(&after);
        calls.extend(gemms.map(|gemm| (*gemm, UnfusedPart::Gemm)));
        let first = before.iter().copied().min().unwrap_or(at);
        let last = after.iter().copied().max().unwrap_or(at);
        self.add_between(&mut calls, first, last, sizes);
        Some(UnfusedCalls {
            calls,
            softmax: at,
            gemm: Some(gradient),
            sizes: Some(sizes),
        })
    }

    /// By order alone.
    fn without_shapes(&self, at: usize) -> Option<UnfusedCalls> {
        let mut calls = vec![(at, UnfusedPart::Softmax)];
        for beside in [Beside::Before, Beside::After] {
            let mut has_gemm = false;
            for position in self.away(beside, at, MAX_CALLS_AWAY_WITHOUT_SHAPES) {
                let seen = self.role(position)?;
                match seen.role {
                    Role::Gemm(_) => {
                        calls.push((position, UnfusedPart::Gemm));
                        has_gemm = true;
                        break;
                    }
                    _ if seen.is_elementwise => calls.push((position, seen.part)),
                    _ => return None,
                }
            }
            if !has_gemm {
                return None;
            }
        }
        Some(UnfusedCalls {
            calls,
            softmax: at,
            gemm: None,
            sizes: None,
        })
    }

    /// Adds operations on the scores, and copies of operands, between the GEMMs.
    fn add_between(
        &self,
        calls: &mut Vec<(usize, UnfusedPart)>,
        first: usize,
        last: usize,
        sizes: FusedAttention,
    ) {
        for position in first + 1..last {
            let is_known = calls.iter().any(|(at, _)| *at == position);
            let Some(seen) = self.role(position).filter(|_| !is_known) else {
                continue;
            };
            if !matches!(seen.role, Role::Plain) || seen.is_other_work {
                continue;
            }
            let is_on_scores = seen.elements > 0 && Some(seen.elements) == sizes.scores();
            let is_operand = seen.part == UnfusedPart::Copy && sizes.is_operand(seen.elements);
            if is_on_scores || is_operand {
                calls.push((position, seen.part));
            }
        }
    }

    /// Adds copies and scalings of Q, K and V right before the first GEMM.
    fn add_operands(
        &self,
        calls: &mut Vec<(usize, UnfusedPart)>,
        first: usize,
        sizes: FusedAttention,
    ) {
        for position in self.away(Beside::Before, first, MAX_CALLS_BEFORE) {
            let Some(seen) = self.role(position) else {
                break;
            };
            let is_copy = seen.part == UnfusedPart::Copy && seen.keeps_type;
            if !((is_copy || seen.scales) && sizes.is_operand(seen.elements)) {
                break;
            }
            calls.push((position, seen.part));
        }
    }

    /// Adds the copy of the result that puts positions before heads again.
    fn add_result(
        &self,
        calls: &mut Vec<(usize, UnfusedPart)>,
        last: usize,
        sizes: FusedAttention,
    ) {
        let position = last + 1;
        let is_free = self.is_taken.get(position) == Some(&false);
        if let Some(seen) = self.role(position).filter(|_| is_free)
            && seen.part == UnfusedPart::Copy
            && Some(seen.elements) == sizes.result()
        {
            calls.push((position, UnfusedPart::Copy));
        }
    }
}
