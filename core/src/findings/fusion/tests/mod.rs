//! Small modules whose kernels could be one, and some that only look like it.

mod chains;
mod norms;
mod saving;

use super::*;
use crate::findings::Finding;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// Calls of 1 024 × 4 096 numbers, each with a kernel of its own.
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

    /// A module with these calls: name, dims, types, values, microseconds on the GPU.
    fn module(mut self, name: &str, calls: &[Call]) -> Calls {
        let start = self.host_us;
        let end = start + 10 * calls.len() as u32 + 2;
        self.table = self.table.frame(&format!("nn.Module: {name}"), start..end);
        self.host_us = start + 1;
        let mut all = self.calls(calls);
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
                .args(&format!(
                    r#""Input Dims": {dims}, "Input type": {types}, "Concrete Inputs": {values}"#
                ))
                .launch(self.n, host + 1..host + 2)
                .kernel(self.n, &format!("{op}_kernel"), gpu..gpu + us);
            self.host_us = host + 10;
            self.gpu_us = gpu + us;
        }
        self
    }

    fn profile(self) -> Profile {
        self.table.profile()
    }
}

type Call = (&'static str, &'static str, &'static str, &'static str, u32);

const X: &str = "[[1024, 4096]]";
const TWO: &str = "[[1024, 4096], [1024, 4096]]";
const F: &str = r#"["float"]"#;
const FF: &str = r#"["float", "float"]"#;
const FN: &str = r#"["float", "Scalar"]"#;
const FFN: &str = r#"["float", "float", "Scalar"]"#;
const NO: &str = r#"["", ""]"#;
const NO3: &str = r#"["", "", "1"]"#;

/// x² → mean → + ε → 1/√ → x · r → · weight: 16.8 MB in, 16.8 MB out.
const RMS_NORM: [Call; 6] = [
    ("aten::pow", "[[1024, 4096], []]", FN, r#"["", "2"]"#, 20),
    (
        "aten::mean",
        "[[1024, 4096], [], [], []]",
        r#"["float", "ScalarList", "Scalar", ""]"#,
        r#"["", "[-1]", "True", ""]"#,
        10,
    ),
    (
        "aten::add",
        "[[1024, 1], [], []]",
        r#"["float", "Scalar", "Scalar"]"#,
        r#"["", "1e-6", "1"]"#,
        2,
    ),
    ("aten::rsqrt", "[[1024, 1]]", F, r#"[""]"#, 2),
    ("aten::mul", "[[1024, 4096], [1024, 1]]", FF, NO, 20),
    ("aten::mul", "[[4096], [1024, 4096]]", FF, NO, 20),
];

fn outcome(profile: &Profile) -> Outcome {
    let options = options_on("MI300X");
    let report = Report::new(profile, &options);
    report.analyses.outcome("kernel_fusion").unwrap().clone()
}

fn patterns(profile: &Profile) -> Vec<&'static str> {
    let outcome = outcome(profile);
    let found = outcome.findings.iter();
    found.map(|finding| finding.pattern).collect()
}
