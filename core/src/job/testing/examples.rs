//! Jobs that several tests use.

use super::{MS, TestJob};

impl TestJob {
    /// Four ranks that meet in an all-reduce every 22 ms; the clock of the last two, on host "b", is 5 ms ahead.
    pub(crate) fn on_two_clocks() -> TestJob {
        let mut job = TestJob::new(4);
        for step in 0..40_i64 {
            let start_ns = step * 22 * MS;
            job.step(step as u64, start_ns, start_ns + 22 * MS);
            let spans = [(start_ns + 20 * MS, start_ns + 22 * MS); 4];
            job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
        }
        job.host(2, "b", 5 * MS, 0.0).host(3, "b", 5 * MS, 0.0)
    }

    /// Two steps of three ranks. In each, rank 2 starts the all-reduce of all ranks after 30 and 40 ms, the others after
    /// 10 and 12, 20 and 22.
    ///
    /// ```text
    /// ms         0      10 12        30    40     60 62        80    90
    /// rank 0     [=======)─────────────────)[======)─────────────────)
    /// rank 1     [==========)──────────────)[=========)──────────────)
    /// rank 2     [====================)────)[===================)────)
    ///                         all-reduce                all-reduce
    /// ```
    pub(crate) fn with_a_slow_rank() -> TestJob {
        let mut job = TestJob::new(3);
        for (step, at) in [(1, 0), (2, 50)] {
            job.step(step, at * MS, (at + 50) * MS);
            let spans = [10, 12, 30].map(|start| ((at + start) * MS, (at + 40) * MS));
            job.run("0 default_pg", "allreduce", &[0, 1, 2], &spans);
        }
        job
    }

    /// Rank 2 delays rank 1 in their group, and rank 1 therefore delays rank 0 in another.
    ///
    /// ```text
    /// ms         0        10 12              30 32 34 36
    /// rank 0     [============)──────────────────────)     all-reduce of 0 and 1 ends at 36
    /// rank 1     [=========)────────────────────)[=)─)
    /// rank 2     [============================)─)          all-reduce of 1 and 2 ends at 32
    /// ```
    pub(crate) fn with_a_delay_passed_on() -> TestJob {
        let mut job = TestJob::new(3);
        job.step(1, 0, 40 * MS);
        let spans = [(10 * MS, 32 * MS), (30 * MS, 32 * MS)];
        job.run("1 mesh_tp", "allreduce", &[1, 2], &spans);
        let spans = [(12 * MS, 36 * MS), (34 * MS, 36 * MS)];
        job.run("2 mesh_dp", "allreduce", &[0, 1], &spans);
        job
    }

    /// Four steps of 50 ms in two pipelines of two stages: the first stage has ranks 0 and 1, which work for this many
    /// milliseconds, the second has ranks 2 and 3.
    pub(crate) fn of_two_pipelines(own_ms: [i64; 4]) -> TestJob {
        let mut job = TestJob::new(4);
        for step in 0..4 {
            let start_ns = step * 50 * MS;
            job.step(step as u64, start_ns, start_ns + 50 * MS);
            for (name, ranks) in [("3 mesh_pp", [0, 2]), ("4 mesh_pp", [1, 3])] {
                let span = (start_ns, start_ns + MS);
                job.send(name, &ranks, ranks, [span; 2]);
            }
            let spans = own_ms.map(|ms| (start_ns + (1 + ms) * MS, start_ns + 50 * MS));
            job.run("0 default_pg", "allreduce", &[0, 1, 2, 3], &spans);
        }
        job
    }

    /// Two pipeline stages and four micro-batches in a step of 100 ms: the second stage waits 40 ms for the first one,
    /// and is idle for 10 ms after the last micro-batch.
    ///
    /// ```text
    /// ms         0         40  50  60  70     80    90        100
    /// rank 0               [S) [S) [S) [S)          [all-reduce)
    /// rank 1     [receive────) [R) [R) [R)    idle──[all-reduce)
    /// ```
    pub(crate) fn of_two_stages() -> TestJob {
        let mut job = TestJob::new(2);
        job.step_of_two_stages(0, true);
        job
    }

    /// The same as one step of several; with `waits` false, the second stage waits for nothing.
    pub(crate) fn step_of_two_stages(&mut self, number: u64, waits: bool) {
        let start_ns = number as i64 * 100 * MS;
        let at = |ms: i64| start_ns + ms * MS;
        self.step(number, start_ns, at(100));
        let first = if waits { 0 } else { 40 };
        for (send, receive) in [(40, first), (50, 50), (60, 60), (70, 70)] {
            let spans = [(at(send), at(send + 1)), (at(receive), at(send + 1))];
            self.send("1 mesh_pp", &[0, 1], [0, 1], spans);
        }
        let span = (at(90), at(100));
        self.run("0 default_pg", "allreduce", &[0, 1], &[span; 2]);
        if waits {
            self.idle(1, at(90), 10 * MS);
        }
    }
}
