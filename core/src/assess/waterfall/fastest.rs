//! The memory bandwidth that the operations of a trace achieve, by the number of bytes they move.

use std::sync::Arc;

use crate::base::map::Map;
use crate::hardware::Unit;
use crate::profile::Profile;

/// From this many bytes on, a kernel runs long enough and caches hold little enough of its data that sizes no longer
/// differ: what one of them reaches, all can.
const LARGE_BYTES: f64 = (256 << 20) as f64;

/// What an operation achieves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reached {
    pub(crate) bytes_per_s: f64,
    pub(crate) operation: usize,
}

/// The two fastest operations per size class; classes are half an octave wide.
#[derive(Debug, Default)]
pub(crate) struct FastestBySize(Map<i32, [Option<Reached>; 2]>);

impl FastestBySize {
    pub(crate) fn of(profile: &Profile) -> Arc<FastestBySize> {
        profile.once(|| {
            let mut all = FastestBySize::default();
            for (at, operation) in profile.operations().iter().enumerate() {
                let work = operation.modeled.as_ref().map(|modeled| modeled.work);
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

    /// The fastest of the operations that move half to twice as many bytes, or that are as large as this one is, too;
    /// excluding one operation.
    pub(crate) fn best(&self, bytes: f64, other_than: usize) -> Option<Reached> {
        let (own, large) = (step(bytes), step(LARGE_BYTES));
        let is_alike = |other: i32| (own - other).abs() <= 2 || own.min(other) >= large;
        let alike = self.0.iter().filter(|(other, _)| is_alike(**other));
        let others = alike.flat_map(|(_, fastest)| fastest).flatten();
        let others = others.filter(|reached| reached.operation != other_than);
        let best = others.max_by(|a, b| {
            let by_rate = a.bytes_per_s.total_cmp(&b.bytes_per_s);
            by_rate.then(b.operation.cmp(&a.operation))
        })?;
        Some(*best)
    }
}

fn step(bytes: f64) -> i32 {
    (bytes.log2() * 2.0).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations with these bytes and bytes per second, numbered from 0.
    fn demonstrated(speeds: &[(f64, f64)]) -> FastestBySize {
        let mut all = FastestBySize::default();
        for (operation, (bytes, bytes_per_s)) in speeds.iter().copied().enumerate() {
            all.add(
                bytes,
                Reached {
                    bytes_per_s,
                    operation,
                },
            );
        }
        all
    }

    #[test]
    fn the_fastest_of_about_that_size_tells() {
        let all = demonstrated(&[(1e6, 3e12), (1.1e6, 2e12), (1.6e6, 1e12), (64e6, 4e12)]);
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

    /// Two slow kernels of about one size say nothing about it if a larger or smaller one that is large, too, is fast.
    #[test]
    fn large_operations_are_compared_whatever_their_sizes() {
        let all = demonstrated(&[(537e6, 1e12), (805e6, 1.1e12), (21e9, 2.8e12), (90e6, 3e12)]);
        let best = |bytes, other_than| all.best(bytes, other_than).map(|best| best.operation);
        assert_eq!(best(537e6, 0), Some(2));
        assert_eq!(best(805e6, 1), Some(2));
        assert_eq!(best(21e9, 2), Some(1));
        // Below, only sizes of about its own count.
        assert_eq!(best(100e6, 9), Some(3));
    }
}
