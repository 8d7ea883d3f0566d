//! The same moment on the clocks of all ranks, so that their timelines can be aligned.

use super::Job;
use crate::base::interval::Interval;

/// A moment in the middle of the job, on the clock of the trace of each rank; empty where clocks cannot be compared.
pub fn moments(job: &Job) -> Vec<i64> {
    let spans = job.ranks.iter().map(|rank| rank.digest.span(rank.base_ns));
    let Some(whole) = spans
        .reduce(Interval::hull)
        .filter(|_| job.clocks.are_comparable)
    else {
        return Vec::new();
    };
    let common_ns = whole.start_ns.midpoint(whole.end_ns);
    let own = job.ranks.iter().enumerate().map(|(at, rank)| {
        let mut own_ns = common_ns.saturating_sub(rank.base_ns);
        // Clocks drift by parts per million, so the second iteration is exact.
        for _ in 0..2 {
            let is_ns = job.corrected_ns(at, own_ns);
            own_ns = own_ns.saturating_add(common_ns.saturating_sub(is_ns));
        }
        own_ns
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::testing::TestJob;

    #[test]
    fn a_clock_that_is_ahead_shows_a_later_time() {
        let ahead_ns = 5_000_000;
        let mut job = TestJob::new(2).host(1, "b", ahead_ns, 0.0);
        job.step(1, 0, 100_000_000);
        for at in 0..30 {
            let span = (3_000_000 * at + 1_000_000, 3_000_000 * at + 2_000_000);
            job.run("0 default_pg", "allreduce", &[0, 1], &[span; 2]);
        }
        let moments = moments(&job.job());
        assert_eq!(moments[1] - moments[0], ahead_ns);
    }
}
