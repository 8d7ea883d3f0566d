//! Meaningless changes of a trace change no number.

use dormer_core::report::sheet::Sheet;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::cases;
use crate::support::opened::{NO_GPU, profile, report_on};

/// One call of an operator and the kernels it launches.
#[derive(Debug, Clone)]
struct Call {
    name: &'static str,
    /// Time from the end of the previous call, and duration of the call, in nanoseconds.
    gap_ns: i64,
    dur_ns: i64,
    kernels: Vec<Kernel>,
}

#[derive(Debug, Clone)]
struct Kernel {
    name: &'static str,
    stream: u32,
    delay_ns: i64,
    dur_ns: i64,
    /// Connected by a flow arrow; otherwise only by its correlation id.
    has_flow: bool,
}

fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    let kernel = (
        prop::sample::select(vec![
            "gemm",
            "void at::native::elementwise",
            "ncclDevKernel_AllReduce",
        ]),
        7..9u32,
        0..50_000i64,
        1..30_000i64,
        prop::bool::weighted(0.9),
    )
        .prop_map(|(name, stream, delay_ns, dur_ns, has_flow)| Kernel {
            name,
            stream,
            delay_ns,
            dur_ns,
            has_flow,
        });
    let call = (
        prop::sample::select(vec!["aten::mm", "aten::add_", "aten::sum", "custom::op"]),
        0..5_000i64,
        10_000..40_000i64,
        prop::collection::vec(kernel, 0..3),
    )
        .prop_map(|(name, gap_ns, dur_ns, kernels)| Call {
            name,
            gap_ns,
            dur_ns,
            kernels,
        });
    prop::collection::vec(call, 1..20)
}

/// The calls as events: first those with a duration, then the flow arrows.
fn events(calls: &[Call], shift_ns: i64) -> (Vec<Value>, Vec<Value>) {
    let (mut timed, mut flows) = (Vec::new(), Vec::new());
    let mut now_ns = 1_700_000_000_000_000_000 + shift_ns;
    let mut correlation = 0;
    for call in calls {
        now_ns += call.gap_ns;
        let span = (now_ns, call.dur_ns);
        timed.push(complete("cpu_op", call.name, (1, 1), span, None));
        for (i, kernel) in call.kernels.iter().enumerate() {
            correlation += 1;
            let launch = (now_ns + 1_000 + 3_000 * i as i64, 2_000);
            let work = (launch.0 + kernel.delay_ns, kernel.dur_ns);
            let (thread, stream, id) = ((1, 1), (0, kernel.stream), Some(correlation));
            let name = "cudaLaunchKernel";
            timed.push(complete("cuda_runtime", name, thread, launch, id));
            timed.push(complete("kernel", kernel.name, stream, work, id));
            if kernel.has_flow {
                flows.push(flow("s", correlation, thread));
                flows.push(flow("f", correlation, stream));
            }
        }
        now_ns += call.dur_ns;
    }
    (timed, flows)
}

/// An event on a process and thread, with its start and duration.
fn complete(
    cat: &str,
    name: &str,
    (pid, tid): (u32, u32),
    (ts_ns, dur_ns): (i64, i64),
    correlation: Option<u32>,
) -> Value {
    // Times as text would cause a warning; as f64 they would lose nanoseconds.
    let [ts, dur] = [ts_ns, dur_ns].map(|ns| format!("@{}.{:03}@", ns / 1000, ns % 1000));
    let args = correlation.map_or(json!({}), |id| json!({"correlation": id}));
    json!({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})
}

fn flow(phase: &str, id: u32, (pid, tid): (u32, u32)) -> Value {
    json!({"ph": phase, "cat": "ac2g", "name": "ac2g", "id": id, "pid": pid, "tid": tid, "ts": 0, "bp": "e"})
}

/// Every number of the report, as text; without uids, no columns that refer to an event's position in the file.
fn report(events: &[Value], has_uids: bool) -> String {
    let text = json!({"traceEvents": events})
        .to_string()
        .replace("\"@", "")
        .replace("@\"", "");
    let profile = profile(text);
    let report = report_on(&profile, NO_GPU);
    let mut sheets: Vec<Sheet> = report.sheets(&profile).into_iter().cloned().collect();
    for Sheet { columns, rows, .. } in &mut sheets {
        for row in rows {
            let mut columns = columns.iter();
            let mut is_uid = || columns.next().is_some_and(|own| own.label.contains("UID"));
            row.retain(|_| !is_uid() || has_uids);
        }
    }
    format!("{sheets:#?}\n{:#?}", profile.warnings)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_later_start_changes_nothing(calls in any_calls(), shift_ns in -1_000_000_000_000..1_000_000_000_000i64) {
        let at = |shift_ns| {
            let (timed, flows) = events(&calls, shift_ns);
            report(&[timed, flows].concat(), true)
        };
        prop_assert_eq!(at(shift_ns), at(0));
    }

    #[test]
    fn the_order_of_flow_arrows_changes_nothing(
        (calls, order) in any_calls().prop_flat_map(|calls| {
            let flows = events(&calls, 0).1;
            (Just(calls), Just(flows).prop_shuffle())
        }),
    ) {
        let (timed, flows) = events(&calls, 0);
        let sorted = report(&[timed.clone(), flows.clone()].concat(), true);
        prop_assert_eq!(&report(&[timed.clone(), order.clone()].concat(), true), &sorted);
        // Uids count all events, including the arrows.
        let last = report(&[timed.clone(), flows].concat(), false);
        prop_assert_eq!(&report(&[order, timed].concat(), false), &last);
    }
}
