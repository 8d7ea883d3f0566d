//! Causes planted in an operation of a real trace, and the resulting waterfall and findings.

use dormer_core::assess::waterfall::{Cause, Waterfall};
use serde_json::{Value, json};

use crate::support::container::gunzip;
use crate::support::opened::Opened;
use crate::support::shared;

const TRACE: &str = "h100_qwen";

/// The operation: 48 calls of one GEMM, which take 4.06 of 34.9 ms.
const SHAPES: [[i64; 2]; 2] = [[8944, 1024], [1024, 2816]];

/// The change that a planted cause makes to the time of a call, in µs.
const ONE_CALL_US: f64 = 2_000.0;
const EACH_CALL_US: f64 = 40.0;

/// A call of the operation, as indices into the events.
struct Call {
    op: usize,
    launch: usize,
    kernel: usize,
}

struct Planted {
    trace: Value,
    calls: Vec<Call>,
}

impl Planted {
    fn new(trace: &Value) -> Planted {
        let events = trace["traceEvents"].as_array().unwrap();
        let of_category = |category: &'static str| {
            let all = events.iter().enumerate();
            all.filter(move |(_, event)| event["cat"] == category)
        };
        let time = |event: &Value| {
            (
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64().unwrap(),
            )
        };
        let ops = of_category("cpu_op").filter(|(_, op)| {
            op["name"] == "aten::mm" && op["args"]["Input Dims"] == json!(SHAPES)
        });
        let calls = ops.map(|(op, event)| {
            let (start, length) = time(event);
            let mut launches = of_category("cuda_runtime");
            let (launch, event) = launches
                .find(|(_, launch)| {
                    let is_launch = launch["name"] == "cudaLaunchKernelExC";
                    is_launch && (start..start + length).contains(&time(launch).0)
                })
                .unwrap();
            let correlation = &event["args"]["correlation"];
            let mut kernels = of_category("kernel");
            let kernel = kernels.find(|(_, kernel)| kernel["args"]["correlation"] == *correlation);
            Call {
                op,
                launch,
                kernel: kernel.unwrap().0,
            }
        });
        let calls = calls.collect();
        Planted {
            trace: trace.clone(),
            calls,
        }
    }

    fn event(&mut self, at: usize) -> &mut Value {
        &mut self.trace["traceEvents"][at]
    }

    /// Makes a kernel longer and delays the GPU activity after it.
    fn longer(&mut self, call: usize, more_us: f64) {
        let kernel = self.calls[call].kernel;
        let end = self.put_off_after(kernel, more_us);
        let start = self.event(kernel)["ts"].as_f64().unwrap();
        self.event(kernel)["dur"] = json!(end - start + more_us);
    }

    /// Delays the GPU activity after an event; returns the event's end.
    fn put_off_after(&mut self, at: usize, more_us: f64) -> f64 {
        let event = self.event(at);
        let end = event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
        for event in self.trace["traceEvents"].as_array_mut().unwrap() {
            let category = event["cat"].as_str().unwrap_or_default();
            let start = event["ts"].as_f64();
            if ["kernel", "gpu_memcpy", "gpu_memset"].contains(&category)
                && let Some(start) = start.filter(|start| *start >= end)
            {
                event["ts"] = json!(start + more_us);
            }
        }
        end
    }

    /// Adds another kernel after each call's own.
    fn helper(&mut self, name: &str) {
        for call in 0..self.calls.len() {
            let Call { launch, kernel, .. } = self.calls[call];
            let end = self.put_off_after(kernel, EACH_CALL_US);
            let correlation = 9_000_000 + call;
            let (mut launch, mut kernel) = (self.event(launch).clone(), self.event(kernel).clone());
            launch["ts"] =
                json!(launch["ts"].as_f64().unwrap() + launch["dur"].as_f64().unwrap() + 0.1);
            launch["dur"] = json!(1);
            (kernel["ts"], kernel["dur"]) = (json!(end), json!(EACH_CALL_US));
            kernel["name"] = json!(name);
            for event in [launch, kernel] {
                let mut event = event;
                event["args"]["correlation"] = json!(correlation);
                self.trace["traceEvents"]
                    .as_array_mut()
                    .unwrap()
                    .push(event);
            }
        }
    }

    /// Renames the kernels of all calls.
    fn kernel_name(&mut self, change: impl Fn(&str) -> String) {
        for call in 0..self.calls.len() {
            let kernel = self.calls[call].kernel;
            let name = change(self.event(kernel)["name"].as_str().unwrap());
            self.event(kernel)["name"] = json!(name);
        }
    }

    fn argument(&mut self, key: &str, value: &Value) {
        for call in 0..self.calls.len() {
            let op = self.calls[call].op;
            self.event(op)["args"][key] = value.clone();
        }
    }
}

/// The waterfall of the operation.
fn waterfall(opened: &Opened) -> Waterfall {
    let input = opened.report.analysis_input(&opened.profile);
    let operations = opened.profile.operations().iter();
    let at = operations.enumerate().find_map(|(at, operation)| {
        let is_it =
            operation.short_name(&opened.profile) == "aten::mm" && operation.n_calls() == 48;
        is_it.then_some(at)
    });
    Waterfall::of(&input, at.unwrap()).unwrap()
}

/// Titles, issues and causes of all findings.
fn said(opened: &Opened) -> String {
    let ranked = opened.report.analyses.findings.ranked.iter();
    let each = ranked.map(|one| {
        format!(
            "{}. {}\n",
            one.finding.title,
            one.finding.issue_with_causes()
        )
    });
    each.collect::<String>()
        .replace(['\u{202f}', '\u{a0}'], " ")
}

#[test]
fn what_is_planted_in_an_operation_is_named_with_its_size() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let text = gunzip(&shared::trace(&folder, TRACE));
    let trace: Value = serde_json::from_slice(&text).unwrap();
    let before = waterfall(&Opened::new("before", &text));
    let all_us = before.measured_ns as f64 / 1e3;
    type Plant = fn(&mut Planted);
    // (the planted change, its cause, by how many µs that grows, words of the findings)
    #[rustfmt::skip]
    let sizes: [(Plant, Cause, f64, &str); 6] = [
        (|of| of.longer(20, ONE_CALL_US), Cause::Spread, ONE_CALL_US, "longest"),
        (|of| of.longer(0, ONE_CALL_US), Cause::WarmUp, ONE_CALL_US, "warm-up"),
        (|of| of.helper("void cutlass::transpose_kernel<__nv_bfloat16>"), Cause::Helpers, 48.0 * EACH_CALL_US, "48 layout changes"),
        (|of| of.helper("void cublasLt::splitKreduce_kernel<32, 16, int>"), Cause::Helpers, 48.0 * EACH_CALL_US, "Split-K reductions beside GEMMs"),
        (|of| of.helper("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>"), Cause::Helpers, 48.0 * EACH_CALL_US, "48 "),
        (|of| (0..48).for_each(|call| of.longer(call, 2.0 * 84.6)), Cause::Unexplained, 2.0 * all_us, "unexplained"),
    ];
    for (at, (plant, cause, more_us, words)) in sizes.into_iter().enumerate() {
        let mut planted = Planted::new(&trace);
        assert_eq!(planted.calls.len(), 48);
        plant(&mut planted);
        let after = Opened::new("after", planted.trace.to_string());
        let (waterfall, said) = (waterfall(&after), said(&after));
        let grew_us = (waterfall.ns(cause) - before.ns(cause)) as f64 / 1e3;
        let off = grew_us / more_us - 1.0;
        assert!(
            off.abs() <= 0.05,
            "{at}, {cause:?}: {grew_us} of {more_us} µs: {waterfall:#?}"
        );
        assert!(said.contains(words), "{at}: no “{words}” in {said}");
    }
    // Causes without a size are named with their values.
    #[rustfmt::skip]
    let facts: [(Plant, &str); 3] = [
        (|of| of.argument("Input Strides", &json!([[1025, 1], [1, 1025]])), "1 025"),
        (|of| of.kernel_name(|name| name.replace("sm90_xmma", "sm80_xmma")), "its kernel was built for"),
        (|of| of.kernel_name(|_| "cutlass_80_simt_sgemm_128x128_8x4_nn_align1".to_owned()), "its kernel"),
    ];
    for (plant, words) in facts {
        let mut planted = Planted::new(&trace);
        // Twice as long, so that it is a finding.
        (0..48).for_each(|call| planted.longer(call, 84.6));
        plant(&mut planted);
        let after = Opened::new("after", planted.trace.to_string());
        let facts: Vec<String> = waterfall(&after)
            .facts
            .iter()
            .map(|fact| fact.text())
            .collect();
        let of_it = facts.join("; ").replace(['\u{202f}', '\u{a0}'], " ");
        assert!(of_it.contains(words), "no “{words}” in {of_it}");
        let said = said(&after);
        assert!(said.contains(words), "no “{words}” in {said}");
    }
}
