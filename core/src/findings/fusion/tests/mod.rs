//! Small modules whose kernels could be one, and some that only look like it.

mod chains;
mod norms;
mod saving;

use super::*;
use crate::findings::Finding;
use crate::findings::samples::{Calls, only, patterns, says, valued};
use crate::report::Report;
use crate::testing::options_on;

/// Calls, each with a kernel of its own.
fn run(calls: Calls, steps: &[Call]) -> Calls {
    let call = |calls: Calls, (op, dims, types, values, us): &Call| {
        let args = valued(dims, types, values);
        calls.call(op, &args, &format!("{op}_kernel"), *us)
    };
    steps.iter().fold(calls, call)
}

fn outcome(calls: &Calls) -> Outcome {
    calls.outcome("kernel_fusion")
}

/// What is found in one module.
fn module(name: &str, steps: &[Call]) -> Outcome {
    outcome(&Calls::new().module(name, |calls| run(calls, steps)))
}

/// What is found in so many instances of a module.
fn instances(n: u32, name: &str, steps: &[Call]) -> Outcome {
    let nth = |all: Calls, nth| all.module(&format!("{name}_{nth}"), |calls| run(calls, steps));
    outcome(&(0..n).fold(Calls::new(), nth))
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
