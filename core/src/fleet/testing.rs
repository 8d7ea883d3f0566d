//! Fleets for tests, written run by run.

use super::rows::{Fleet, KernelRow, OpRow, RunRow, Status};

/// Nanoseconds per µs, the unit of tests.
pub(crate) const US: i64 = 1_000;

/// A fleet under construction.
#[derive(Default)]
pub(crate) struct FleetOf(pub(crate) Fleet);

impl FleetOf {
    /// Adds a run of a model with a total in µs: half of it computation, a tenth exposed communication, the rest idle.
    /// The start of its build follows from the number in its name.
    pub(crate) fn run(&mut self, model: &str, build: &str, total_us: i64) -> &mut RunRow {
        let fleet = &mut self.0;
        let id = format!("r{}", fleet.runs.len());
        let number = build.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let start_ns = number.parse::<i64>().ok().map(|number| number * 1_000 * US);
        let total_ns = total_us * US;
        let row = RunRow {
            run_id: fleet.texts.id(&id),
            status: Status::Ok,
            reason: None,
            reason_kind: None,
            uri: Some(fleet.texts.id(&format!("{id}.json"))),
            host: None,
            job_id: None,
            world_size: Some(1),
            model: Some(fleet.texts.id(model)),
            gpu: Some(fleet.texts.id("MI300X")),
            build: Some(fleet.texts.id(build)),
            options_hash: None,
            start_ns,
            total_ns: Some(total_ns),
            busy_ns: Some(total_ns / 10 * 6),
            compute_ns: Some(total_ns / 2),
            exposed_comm_ns: Some(total_ns / 10),
            exposed_copy_ns: Some(0),
            idle_ns: Some(total_ns / 10 * 4),
        };
        fleet.runs.push(row);
        let last = fleet.runs.len() - 1;
        &mut fleet.runs[last]
    }

    /// Adds an operation to the last run, with a kernel of the same time.
    pub(crate) fn op(&mut self, name: &str, category: &str, us: i64) {
        let fleet = &mut self.0;
        let run = u32::try_from(fleet.runs.len() - 1).unwrap();
        let (op, kernel) = (
            fleet.texts.id(name),
            fleet.texts.id(&format!("{name}_kernel")),
        );
        let category = Some(fleet.texts.id(category));
        fleet.ops.push(OpRow {
            run,
            key: u64::from(op.0),
            name: op,
            category,
            dims: None,
            calls: 2,
            kernel_ns: us * US,
        });
        fleet.kernels.push(KernelRow {
            run,
            name: kernel,
            op: Some(op),
            category,
            library: None,
            calls: 2,
            total_ns: us * US,
        });
    }
}

/// Reproducible pseudorandom numbers (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Uniformly distributed between 0 and 1.
    pub(crate) fn even(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately standard normal: the sum of twelve uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }
}
