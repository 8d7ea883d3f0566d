//! Idle time in and outside the steps of serving engines.

use super::*;

const DECODE: &str =
    "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk3200sqsq32sqsk3200)";

/// `n` kernels of 10 µs from a given time on, each launched long after the end of the previous one.
fn late(table: Timetable, from: u32, n: u32) -> Timetable {
    (0..n).fold(table, |table, at| {
        let start = f64::from(from + at * 30);
        let op = table.op("aten::add", start - 12.0..start + 1.0);
        op.launched("add_kernel", start - 8.0..start - 3.0, start..start + 10.0)
    })
}

fn keys(table: &Timetable) -> Vec<&'static str> {
    let (_, findings) = analyzed(&table.profile());
    findings.iter().map(|one| one.pattern).collect()
}

/// Twenty kernels of 10 µs in 580: engines usually launch such a step as a graph.
#[test]
fn eager_decode_names_what_turns_graphs_off() {
    let step = |name: &str| late(Timetable::new().annotation(name, 0..1_000), 100, 20);
    let found = analyzed(&step(DECODE).profile()).1.remove(0);
    assert_eq!(found.pattern, "eager_steps");
    assert_eq!(found.time_ns, 19 * 20_000);
    assert_contains(&found.model, &["`--enforce-eager`", "`cudagraph_mode`"]);
    // A prefill with many tokens, and no step at all.
    let prefill = "execute_4096_context_1(sq4096sk4096sqsq16777216sqsk16777216)_generation_0(sq0sk0sqsq0sqsk0)";
    for name in [prefill, "my_step"] {
        assert_eq!(keys(&step(name)), ["launch_bound"], "{name}");
    }
}

/// A text encoder launched kernel by kernel, then two replays of a graph, each with 60 kernels of 10 µs.
#[test]
fn idle_time_before_replays_is_one_finding() {
    let pipeline = |n_late: u32| {
        let table = Timetable::new().annotation("execute_diffusion_1_256x256", 0..100_000);
        let mut table = late(table, 100, n_late);
        let start = 110 + n_late * 30;
        for id in [1, 2] {
            let call = start + id * 10;
            table = table.runtime("cudaGraphLaunch", id, call..call + 5);
            for at in 0..60 {
                let from = start + 30 + (id - 1) * 600 + at * 10;
                table = table.kernel(id, "my_kernel", from..from + 10);
            }
        }
        table
    };
    let (_, found) = analyzed(&pipeline(40).profile());
    let keys: Vec<&str> = found.iter().map(|one| one.pattern).collect();
    assert_eq!(keys, ["cpu_bound_beside_graphs"]);
    assert_contains(&found[0].issue, &["before the first denoising step"]);
    // Little idle time is not reported.
    assert!(!self::keys(&pipeline(1)).contains(&"cpu_bound_beside_graphs"));
}
