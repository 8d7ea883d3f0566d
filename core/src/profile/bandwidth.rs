//! The memory bandwidth that the operations of a trace achieve, by the number of bytes they move.

use std::sync::Arc;

use super::Profile;
use crate::base::map::Map;
use crate::hardware::Unit;

/// What an operation achieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reached {
    pub(crate) bytes_per_s: f64,
    pub(crate) operation: usize,
}

/// The two fastest operations per size class; classes are half an octave wide.
#[derive(Debug, Default)]
pub(crate) struct Demonstrated(Map<i32, [Option<Reached>; 2]>);

impl Demonstrated {
    pub(crate) fn of(profile: &Profile) -> Arc<Demonstrated> {
        profile.once(|| {
            let mut all = Demonstrated::default();
            for (at, operation) in profile.operations().iter().enumerate() {
                let work = operation.modelled.as_ref().map(|modelled| modelled.work);
                let work = work.filter(|work| {
                    work.compute
                        .is_none_or(|compute| compute.unit != Unit::Matrix)
                });
                let bytes = work
                    .and_then(|work| work.bytes)
                    .filter(|bytes| *bytes > 0.0);
                let call_s = operation.kernel_ns as f64 / operation.calls.len().max(1) as f64 / 1e9;
                if let Some(bytes) = bytes.filter(|_| call_s > 0.0 && operation.is_linked) {
                    all.add(
                        bytes,
                        Reached {
                            bytes_per_s: bytes / call_s,
                            operation: at,
                        },
                    );
                }
            }
            all
        })
    }

    fn add(&mut self, bytes: f64, reached: Reached) {
        let known = self.0.entry(step(bytes)).or_default();
        let is_faster =
            |than: Option<Reached>| than.is_none_or(|than| reached.bytes_per_s > than.bytes_per_s);
        if is_faster(known[0]) {
            *known = [Some(reached), known[0]];
        } else if is_faster(known[1]) {
            known[1] = Some(reached);
        }
    }

    /// The fastest of the operations that move half to twice as many bytes, excluding one operation.
    pub(crate) fn best(&self, bytes: f64, other_than: usize) -> Option<Reached> {
        let near = (-2..=2).filter_map(|steps| self.0.get(&(step(bytes) + steps)));
        let others = near.flatten().flatten();
        let others = others.filter(|reached| reached.operation != other_than);
        let best = others.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))?;
        Some(*best)
    }
}

fn step(bytes: f64) -> i32 {
    (bytes.log2() * 2.0).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_about_that_size_tells() {
        let mut all = Demonstrated::default();
        let speeds = [(1e6, 3e12), (1.1e6, 2e12), (1.6e6, 1e12), (64e6, 4e12)];
        for (operation, (bytes, bytes_per_s)) in speeds.into_iter().enumerate() {
            all.add(
                bytes,
                Reached {
                    bytes_per_s,
                    operation,
                },
            );
        }
        let best = |bytes, other_than| {
            let best = all.best(bytes, other_than);
            best.map(|best| best.bytes_per_s)
        };
        assert_eq!(best(1e6, 9), Some(3e12));
        // An operation is not compared with itself.
        assert_eq!(best(1e6, 0), Some(2e12));
        assert_eq!(best(64e6, 3), None);
        assert_eq!(best(1e12, 9), None);
    }
}
