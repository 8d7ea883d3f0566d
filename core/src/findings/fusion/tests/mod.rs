//! Small modules whose kernels could be one, and some that only look like it.

mod chains;
mod norms;
mod saving;

use super::*;
use crate::findings::Finding;
use crate::findings::samples::{only, patterns, says, typed, valued};
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// Calls, each with a kernel of its own.
struct Calls {
    table: Timetable,
    n: u32,
    host_us: u32,
    gpu_us: u32,
}

impl Calls {
    fn new() -> Calls {
        Calls {
            table: Timetable::new(),
            n: 0,
            host_us: 0,
            gpu_us: 1_000_000,
        }
    }

    /// A module around calls.
    fn module(self, name: &str, calls: &[Call]) -> Calls {
        self.inside(name, |inner| inner.calls(calls))
    }

    /// A module around anything.
    fn inside(mut self, name: &str, run: impl FnOnce(Calls) -> Calls) -> Calls {
        let start = self.host_us;
        self.host_us = start + 1;
        let mut all = run(self);
        let end = all.host_us + 1;
        all.table = all.table.frame(&format!("nn.Module: {name}"), start..end);
        all.host_us = end + 1;
        all
    }

    fn calls(mut self, calls: &[Call]) -> Calls {
        for (op, dims, types, values, us) in calls {
            self.n += 1;
            let (host, gpu) = (self.host_us, self.gpu_us);
            self.table = self
                .table
                .op(op, host..host + 9)
                .args(&valued(dims, types, values))
                .launch(self.n, host + 1..host + 2)
                .kernel(self.n, &format!("{op}_kernel"), gpu..gpu + us);
            self.host_us = host + 10;
            self.gpu_us = gpu + us;
        }
        self
    }

    fn outcome(self) -> Outcome {
        outcome(&self.table.profile())
    }
}

/// What is found in one module.
fn module(name: &str, calls: &[Call]) -> Outcome {
    Calls::new().module(name, calls).outcome()
}

/// What is found in so many instances of a module.
fn instances(n: u32, name: &str, calls: &[Call]) -> Outcome {
    let nth = |all: Calls, nth| all.module(&format!("{name}_{nth}"), calls);
    (0..n).fold(Calls::new(), nth).outcome()
}

fn outcome(profile: &Profile) -> Outcome {
    let report = Report::new(profile, &options_on("MI300X"));
    report.analyses.outcome("kernel_fusion").unwrap().clone()
}

/// Name, dims, types, values, microseconds on the GPU.
type Call = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    u32,
);

/// A step on 1 024 × 4 096 numbers.
const fn unary(op: &'static str) -> Call {
    (op, X, F, &[""], 200)
}

const X: &str = "[[1024, 4096]]";
const TWO: &str = "[[1024, 4096], [1024, 4096]]";
const F: &[&str] = &["float"];
const FF: &[&str] = &["float", "float"];
const FN: &[&str] = &["float", "Scalar"];
const FFN: &[&str] = &["float", "float", "Scalar"];
const NO: &[&str] = &["", ""];
const NO3: &[&str] = &["", "", "1"];

const ADD: Call = ("aten::add", TWO, FFN, NO3, 200);
const MUL: Call = ("aten::mul", TWO, FF, NO, 200);
const COPY: Call = ("aten::copy_", TWO, FF, NO, 100);
const EXP: Call = unary("aten::exp");
const HALF: Call = ("aten::neg", "[[1024, 2048]]", F, &[""], 100);
const LISTS: &[&str] = &["TensorList", "Scalar"];
const DIMS: &str = "[[[1024, 2048], [1024, 2048]], []]";
const HALVES: Call = ("aten::cat", DIMS, LISTS, &["", "1"], 100);

/// x² → mean → + ε → 1/√ → x · r → · weight: 16.8 MB in, 16.8 MB out.
#[rustfmt::skip]
const RMS_NORM: [Call; 6] = [
    ("aten::pow", "[[1024, 4096], []]", FN, &["", "2"], 20),
    ("aten::mean", "[[1024, 4096], [], [], []]", &["float", "ScalarList", "Scalar", ""], &["", "[-1]", "True", ""], 10),
    ("aten::add", "[[1024, 1], [], []]", &["float", "Scalar", "Scalar"], &["", "1e-6", "1"], 2),
    ("aten::rsqrt", "[[1024, 1]]", F, &[""], 2),
    ("aten::mul", "[[1024, 4096], [1024, 1]]", FF, NO, 20),
    ("aten::mul", "[[4096], [1024, 4096]]", FF, NO, 20),
];

/// The same norm of ten times as long kernels.
fn long_norm() -> [Call; 6] {
    RMS_NORM.map(|(op, dims, types, values, us)| (op, dims, types, values, 10 * us))
}
