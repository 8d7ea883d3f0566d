//! Sequences of different lengths, packed one after the other: T × H × d.
//!
//! The trace shows the number of sequences, their total length and the maximum length. One sequence is assumed to have
//! the maximum length, and the others to share the rest evenly; each is counted as in [`attention`](super).

use crate::perf::OpInput;

/// Argument positions of an op's packed sequences: start offsets and maximum length.
pub(crate) const fn packed(starts: usize, longest: usize) -> Option<Packed> {
    Some(Packed { starts, longest })
}

/// Argument positions that describe packed sequences.
#[derive(Clone, Copy)]
pub(crate) struct Packed {
    /// Start offsets, one more entry than sequences; those of the keys follow.
    starts: usize,
    /// Maximum length; that of the keys follows.
    longest: usize,
}

impl Packed {
    /// Whether a call has packed sequences.
    pub(crate) fn is_in(self, input: &OpInput) -> bool {
        input.sizes(self.starts).is_some()
    }

    pub(crate) fn lengths(self, input: &OpInput) -> Option<Lengths> {
        let longest = [self.longest, self.longest + 1].map(|at| input.number(at));
        Lengths::read(input, self.starts, [longest[0]?, longest[1]?])
    }
}

/// Numbers of sequences and maximum lengths, of queries and of keys.
pub(crate) struct Lengths {
    n: [f64; 2],
    longest: [f64; 2],
}

impl Lengths {
    pub(crate) fn read(input: &OpInput, starts: usize, longest: [f64; 2]) -> Option<Lengths> {
        let n_sequences = |at: usize| input.sized(at).map(|[n]: [f64; 1]| n - 1.0);
        Some(Lengths {
            n: [n_sequences(starts)?, n_sequences(starts + 1)?],
            longest,
        })
    }

    /// Sums `one` over the longest sequence and the others, which share the remaining positions evenly.
    pub(crate) fn sum(&self, all: [f64; 2], one: impl Fn([f64; 2]) -> f64) -> f64 {
        let [others_q, others_kv] = self.n.map(|n| n - 1.0);
        if others_q < 1.0 || others_kv < 1.0 {
            return one(self.longest);
        }
        let share =
            |side: usize, others: f64| ((all[side] - self.longest[side]).max(0.0) / others).floor();
        one(self.longest) + others_q * one([share(0, others_q), share(1, others_kv)])
    }
}
