//! Independent work that a caller with threads may run in parallel.

/// Runs a function for each number below the given one, in any order and possibly in several threads, and returns when
/// all are done. The core starts no threads; its callers may.
pub type RunAll<'r> = &'r dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Runs it for one number after the other.
pub(crate) fn in_turn(n: usize, run: &(dyn Fn(usize) + Sync)) {
    (0..n).for_each(run);
}
