//! Which operator owns a kernel, one rule per test.

use crate::profile::Profile;
use crate::testing::Timetable;

/// Checks each call with its category and kernels, direct and subtree time in µs.
fn check(timetable: Timetable, expected: &[&str]) -> Profile {
    let profile = timetable.profile();
    let name = |id| profile.trace.strings.get(id);
    let ops: Vec<String> = profile
        .ops
        .iter()
        .map(|(_, op)| {
            let kernels: Vec<&str> = profile
                .ops
                .kernels(op)
                .iter()
                .map(|kernel| name(profile.gpu.get(*kernel).unwrap().name))
                .collect();
            format!(
                "{} ({}): {} | {} {}",
                name(op.name),
                op.category,
                kernels.join(", "),
                op.direct_ns / 1000,
                op.subtree_ns / 1000
            )
        })
        .collect();
    assert_eq!(ops, expected);
    profile
}

#[test]
fn a_kernel_belongs_to_the_innermost_operator() {
    check(
        Timetable::new()
            .op("aten::linear", 0..100)
            .op("aten::mm", 10..90)
            .launched("gemm", 20..25, 40..80),
        &["aten::mm (GEMM): gemm | 40 40"],
    );
}

#[test]
fn an_operator_has_time_of_its_own_and_time_below() {
    check(
        Timetable::new()
            .op("aten::outer", 0..100)
            .launched("a", 1..2, 100..110)
            .op("aten::inner", 10..90)
            .launched("b", 20..25, 110..130)
            // Runs at the same time as `a` on another stream.
            .stream(8)
            .launched("c", 30..35, 105..120),
        &[
            "aten::outer (other): a | 10 30",
            "aten::inner (other): c, b | 25 25",
        ],
    );
}

#[test]
fn launches_outside_operators_stand_for_themselves() {
    check(
        Timetable::new()
            .runtime("cudaGraphLaunch", 1, 0..5)
            .kernel(1, "gemm", 10..20)
            .kernel(1, "relu", 20..25),
        &["cudaGraphLaunch (other): gemm, relu | 15 15"],
    );
}

#[test]
fn execute_is_looked_through() {
    check(
        Timetable::new()
            .op("vllm::attention", 0..50)
            .op("execute", 10..40)
            .launched("attn", 20..25, 30..40)
            .op("execute", 60..90)
            .launched("copy", 70..75, 80..85),
        &[
            "vllm::attention (other): attn | 10 10",
            "cudaLaunchKernel (other): copy | 5 5",
        ],
    );
}

#[test]
fn a_runtime_call_around_the_launch_ends_the_search() {
    check(
        Timetable::new()
            .op("aten::mm", 0..50)
            .runtime("hipModuleLaunchKernel", 8, 10..40)
            .launched("gemm", 20..25, 30..40),
        &["cudaLaunchKernel (other): gemm | 10 10"],
    );
}

#[test]
fn collectives_belong_to_no_operator_but_count_below_it() {
    check(
        Timetable::new()
            .op("c10d::allreduce_", 0..50)
            .launched("ncclDevKernel_AllReduce", 10..15, 30..40)
            .launched("scale", 20..25, 40..42),
        &["c10d::allreduce_ (other): scale | 2 12"],
    );
}

#[test]
fn the_first_kernel_can_decide_the_category() {
    check(
        Timetable::new()
            .op("my::op", 0..50)
            .launch(1, 10..15)
            .launched("void at::native::reduce_kernel<512>", 20..25, 40..42)
            // Later in the file but earlier in time.
            .kernel(
                1,
                "void at::native::vectorized_elementwise_kernel<4>",
                30..32,
            ),
        &[
            "my::op (elementwise): void at::native::vectorized_elementwise_kernel<4>, \
           void at::native::reduce_kernel<512> | 4 4",
        ],
    );
}

#[test]
fn calls_group_by_name_longest_first() {
    let profile = Timetable::new()
        .work("aten::add", "add", 20..21)
        .work("aten::mm", "gemm", 21..31)
        .work("aten::add", "add", 31..32)
        .profile();
    let groups: Vec<_> = profile
        .ops
        .groups()
        .iter()
        .map(|group| {
            let name = profile.trace.strings.get(group.name);
            (name, group.n_calls(), group.direct_ns)
        })
        .collect();
    assert_eq!(groups, [("aten::mm", 1, 10_000), ("aten::add", 2, 2_000)]);
}
