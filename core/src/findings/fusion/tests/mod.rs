//! Small modules whose kernels could be fused, and some that only look like it.

mod chains;
mod norms;
mod saving;

use super::*;
use crate::findings::Finding;
use crate::findings::samples::{Calls, assert_contains, assert_contains_none, only, patterns};
use crate::report::Report;
use crate::testing::options_on;

/// Calls, each with a kernel of its own.
fn run(calls: Calls, steps: &[Call]) -> Calls {
    steps.iter().fold(calls, |calls, (op, args, us)| {
        calls.call(op, args, &format!("{op}_kernel"), *us)
    })
}

fn outcome(calls: &Calls) -> Outcome {
    calls.outcome("kernel_fusion")
}

/// The outcome for one module.
fn module(name: &str, steps: &[Call]) -> Outcome {
    outcome(&Calls::new().module(name, |calls| run(calls, steps)))
}

/// The outcome for `n` instances of a module.
fn instances(n: u32, name: &str, steps: &[Call]) -> Outcome {
    let nth = |all: Calls, nth| all.module(&format!("{name}_{nth}"), |calls| run(calls, steps));
    outcome(&(0..n).fold(Calls::new(), nth))
}

/// Name, arguments, microseconds on the GPU.
type Call = (&'static str, &'static str, u32);

/// A step on 1 024 × 4 096 elements.
const fn unary(op: &'static str) -> Call {
    (op, X, 200)
}

const X: &str = "1024x4096:float";
const TWO: &str = "1024x4096:float*2";

const ADD: Call = ("aten::add", "1024x4096:float*2, =1", 200);
const MUL: Call = ("aten::mul", TWO, 200);
const COPY: Call = ("aten::copy_", TWO, 100);
const EXP: Call = unary("aten::exp");
const HALF: Call = ("aten::neg", "1024x2048:float", 100);
const HALVES: Call = ("aten::cat", "[1024x2048 1024x2048], =1", 100);

/// x² → mean → + ε → 1/√ → x · r → · weight: 16.8 MB in, 16.8 MB out.
const RMS_NORM: [Call; 6] = [
    ("aten::pow", "1024x4096:float, =2", 20),
    ("aten::mean", "1024x4096:float, =[-1], =True, _", 10),
    ("aten::add", "1024x1:float, =1e-6, =1", 2),
    ("aten::rsqrt", "1024x1:float", 2),
    ("aten::mul", "1024x4096:float, 1024x1:float", 20),
    ("aten::mul", "4096:float, 1024x4096:float", 20),
];

/// The same norm with kernels ten times as long.
fn long_norm() -> [Call; 6] {
    RMS_NORM.map(|(op, args, us)| (op, args, 10 * us))
}
