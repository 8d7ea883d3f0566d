//! Finds repetition in a sequence: layers in a step, steps in a run.
//!
//! Candidate periods are the distances from each symbol to its next occurrence; the heaviest, by the total distance
//! they account for over all symbols, are tried. A stretch in which each symbol equals the one a period later is a run
//! of blocks. Non-overlapping runs are taken, the longest first. Each run is replaced by one symbol, equal runs by
//! equal symbols, and the result is searched again: layers fold first, then steps. Each search is linear in the length
//! of the sequence.

use std::ops::Range;

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

use crate::base::map::Map;
use crate::base::sort::{Arrange, Arranged};

/// At most this many distances are tried in one search.
const MOST_CANDIDATES: usize = 24;
/// A run has at least this many blocks.
const LEAST_BLOCKS: usize = 3;
/// At most this many searches. Each search shortens the sequence; real traces need three or four.
const MOST_LEVELS: usize = 16;

/// A stretch of a sequence in which a block repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its position in the input sequence.
    pub span: Range<usize>,
    /// How many blocks it has; the last may be incomplete.
    pub blocks: f64,
    /// The search that found it: 0 for the first.
    pub level: usize,
}

impl Run {
    /// Average length of a block, in symbols of the input sequence.
    pub fn period(&self) -> f64 {
        self.span.len() as f64 / self.blocks
    }
}

/// A run in the folded sequence of one search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    start: usize,
    length: usize,
    period: usize,
}

impl Found {
    fn end(&self) -> usize {
        self.start + self.length
    }
}

/// The runs of a sequence, those of the first search first, by start within each search.
pub fn runs(sequence: &[u32]) -> Vec<Run> {
    let mut symbols: Vec<u64> = sequence.iter().map(|symbol| u64::from(*symbol)).collect();
    let mut places: Vec<usize> = (0..=symbols.len()).collect();
    let mut all = Vec::new();
    for level in 0..MOST_LEVELS {
        let found = search(&symbols);
        if found.is_empty() {
            break;
        }
        all.extend(found.iter().map(|run| Run {
            span: places[run.start]..places[run.end()],
            blocks: run.length as f64 / run.period as f64,
            level,
        }));
        (symbols, places) = folded(&symbols, &places, &found);
    }
    all
}

/// Runs one search.
fn search(symbols: &[u64]) -> Vec<Found> {
    let mut found = Vec::new();
    for period in candidates(symbols) {
        stretches(symbols, period, &mut found);
    }
    found.arrange_by_key(|run| (std::cmp::Reverse(run.length), run.period, run.start));
    joined(symbols, apart(found, symbols.len()))
}

/// The heaviest distances, the heaviest first.
fn candidates(symbols: &[u64]) -> Vec<usize> {
    let mut last: Map<u64, usize> = Map::default();
    let mut weights: Map<usize, usize> = Map::default();
    for (at, symbol) in symbols.iter().enumerate() {
        if let Some(before) = last.insert(*symbol, at) {
            *weights.entry(at - before).or_default() += at - before;
        }
    }
    let weights = weights
        .into_iter()
        .arranged_by_key(|(distance, weight)| (std::cmp::Reverse(*weight), *distance));
    let heaviest = weights.into_iter().take(MOST_CANDIDATES);
    heaviest.map(|(distance, _)| distance).collect()
}

/// Adds the runs of one period. A run has at least two periods of equal pairs, so probing once every two periods finds
/// it.
fn stretches(symbols: &[u64], period: usize, found: &mut Vec<Found>) {
    let least = (LEAST_BLOCKS - 1) * period;
    let n_pairs = symbols.len().saturating_sub(period);
    let is_equal = |at: &usize| symbols[*at] == symbols[at + period];
    // Everything before `from` has been examined.
    let (mut from, mut at) = (0, least - 1);
    while at < n_pairs {
        if !is_equal(&at) {
            (from, at) = (at + 1, at + least);
            continue;
        }
        let n_before = (from..at).rev().take_while(is_equal).count();
        let end = (at..n_pairs).find(|at| !is_equal(at)).unwrap_or(n_pairs);
        let start = at - n_before;
        if end - start >= least {
            found.push(Found {
                start,
                length: end - start + period,
                period,
            });
        }
        (from, at) = (end + 1, end + least);
    }
}

/// The runs that do not overlap an earlier one in the list, sorted by start.
fn apart(found: Vec<Found>, length: usize) -> Vec<Found> {
    let mut is_taken = vec![false; length];
    let mut taken = Vec::new();
    for run in found {
        // No taken run is shorter than this one, so any that overlaps it covers one of its edges.
        if [run.start, run.end() - 1].iter().any(|at| is_taken[*at]) {
            continue;
        }
        is_taken[run.start..run.end()].fill(true);
        taken.push(run);
    }
    taken.arrange_by_key(|run| run.start);
    taken
}

/// Merges neighboring runs of the same period if their blocks have the same symbols and they are less than a period
/// apart. A block with its symbols in another order would otherwise split a run.
fn joined(symbols: &[u64], found: Vec<Found>) -> Vec<Found> {
    let mut joined: Vec<Found> = Vec::with_capacity(found.len());
    for run in found {
        if let Some(last) = joined.last_mut()
            && last.period == run.period
            && run.start - last.end() < run.period
            && block(symbols, last) == block(symbols, &run)
        {
            last.length = run.end() - last.start;
            continue;
        }
        joined.push(run);
    }
    joined
}

/// The symbols of the first block of a run, sorted.
fn block(symbols: &[u64], run: &Found) -> Vec<u64> {
    let mut block = symbols[run.start..run.start + run.period].to_vec();
    block.arrange();
    block
}

/// The sequence with each run replaced by one symbol, and where each symbol starts in the input sequence.
fn folded(symbols: &[u64], places: &[usize], found: &[Found]) -> (Vec<u64>, Vec<usize>) {
    let (mut folded, mut starts) = (Vec::new(), Vec::new());
    let mut rest = 0;
    for run in found {
        folded.extend(&symbols[rest..run.start]);
        starts.extend(&places[rest..run.start]);
        let mut hash = FxHasher::default();
        (run.period, run.length, block(symbols, run)).hash(&mut hash);
        // The top bit keeps these apart from the input symbols.
        folded.push(hash.finish() | 1 << 63);
        starts.push(places[run.start]);
        rest = run.end();
    }
    folded.extend(&symbols[rest..]);
    starts.extend(&places[rest..]);
    (folded, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start, length, period and level of a run.
    type Run = (usize, usize, f64, usize);

    /// Takes one letter per symbol.
    fn found(sequence: &str) -> Vec<Run> {
        let sequence: Vec<u32> = sequence.chars().map(u32::from).collect();
        let runs = runs(&sequence).into_iter();
        runs.map(|run| {
            let period = (run.period() * 100.0).round() / 100.0;
            (run.span.start, run.span.len(), period, run.level)
        })
        .collect()
    }

    #[test]
    fn layers_fold_first_and_then_steps() {
        #[rustfmt::skip]
        let cases: [(&str, &[Run]); 6] = [
            ("xabababy", &[(1, 6, 2.0, 0)]),
            // The last block is incomplete.
            ("xabcabcabcaby", &[(1, 11, 3.0, 0)]),
            // Two blocks are not a run.
            ("xababy", &[]),
            // Another order in one block: its neighbors have the same symbols, and are joined.
            ("abcdabcdabcdacbdabcdabcdabcd", &[(0, 28, 4.0, 0)]),
            // Several steps of repeated layers; the first step starts differently.
            ("qababababepababababfpababababfpababababf", &[(10, 30, 10.0, 0), (1, 8, 2.0, 0)]),
            ("", &[]),
        ];
        for (sequence, expected) in cases {
            let mut runs = found(sequence);
            runs.sort_by_key(|run| std::cmp::Reverse(run.1));
            assert_eq!(runs, expected, "{sequence}");
        }
        // Layers that weigh more than their steps: the steps fold in the second search.
        let step = format!("p{}q", "ab".repeat(40));
        let steps = [step.as_str(), "rs", &step, "rst", &step, "rs", &step].concat();
        let runs = found(&steps);
        assert!(
            runs.iter().filter(|run| run.3 == 0).count() >= 4,
            "{runs:?}"
        );
    }

    #[test]
    fn a_long_sequence_takes_time_in_proportion() {
        // 270 steps, each with a unique kernel before it; a step has a layer of 35 kernels 24 times.
        let step: Vec<u32> = (0..24 * 35).map(|at| at % 35).chain(100..150).collect();
        let mut sequence: Vec<u32> = Vec::new();
        for at in 0..270 {
            sequence.push(200 + at);
            sequence.extend(&step);
        }
        let found = runs(&sequence);
        let layers = found
            .iter()
            .filter(|run| (run.period() - 35.0).abs() < 0.01);
        assert_eq!(layers.count(), 270);
    }
}
