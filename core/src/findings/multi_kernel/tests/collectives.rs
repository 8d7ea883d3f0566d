//! Collectives: the data about each, and tables of them.

use super::*;

/// The first row of the table of collectives.
fn first(profile: &Profile) -> Vec<String> {
    let tables = outcome(profile, &ReportOptions::default()).tables;
    let collectives = tables.iter().find(|table| table.key == "collectives");
    collectives.unwrap().rows[0]
        .iter()
        .map(Value::text)
        .collect()
}

/// A graph launch has no operator for each kernel: the tensors of the enclosing call are not messages.
#[test]
fn a_collective_of_a_graph_does_not_tell_its_size() {
    let profile = Timetable::new()
        .without_flows()
        .op("CompiledFunction", 0..20)
        .args("1x2048:long int")
        .runtime("cudaGraphLaunch", 1, 1..2)
        .kernel(1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100..300)
        .profile();
    assert_eq!(first(&profile)[..5], ["all-reduce", "–", "–", "–", "1"]);
}

/// A collective without a recorded call still counts.
#[test]
fn communication_without_its_call_counts() {
    let profile = Timetable::new()
        .work("aten::mm", "gemm", 20..30)
        .kernel(7, "ncclDevKernel_Generic_1", 30..190)
        .profile();
    assert_eq!(first(&profile)[4], "1");
}

/// 2 048 × 4 096 elements of 2 bytes are 16.8 MB, in 80 µs 210 GB/s; with 8 ranks, 1.75 times that crosses the links.
#[test]
fn an_all_reduce_of_its_own_kernel_tells_its_size_by_the_operator() {
    let kernel = "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)";
    let profile = Timetable::new()
        .call("vllm::all_reduce", "2048x4096, _", kernel, 100..180)
        .work("aten::mm", "gemm", 180..400)
        .profile();
    #[rustfmt::skip]
    let expected = [
        "all-reduce", "8", "BFloat16", "16.8 MB", "1", "80.0 µs", "80.0 µs", "80.0 µs", "0 µs", "–", "210 GB/s", "367 GB/s", "367 GB/s",
    ];
    assert_eq!(first(&profile), expected);
}

/// 4 MB among 8 ranks in 6 ms: 0.667 · 1.75 = 1.17 GB/s on links that carry 450 GB/s in each direction.
#[test]
fn the_bus_bandwidth_is_compared_with_the_links() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let found = &outcome(&profile, &options_on("H100")).findings[0];
    let bandwidth = "bus bandwidth averages 1.17 GB/s, 0.3 % of the 450 GB/s";
    says(&found.issue, &[bandwidth]);
    // 7 MB at 450 GB/s.
    reasons(found, &["would take 15.6 µs of 6.00 ms"]);
}

/// 30 sizes of messages in kernels of 10 µs on two concurrent streams: 150 µs, not 300.
#[test]
fn collectives_on_two_streams_are_exposed_once_and_all_are_counted() {
    let mut timetable = Timetable::new().work("aten::mm", "gemm", 400..1_000);
    for id in 0..30 {
        let (at, n) = (1_000 + 10 * (id / 2), 1_000 + id);
        let message = format!(
            r#""Collective name": "all_to_allv", "dtype": "Float", "In msg nelems": {n}, "Out msg nelems": {n}, "Group size": 4"#
        );
        timetable = timetable.stream(9 + id % 2).call(
            "record_param_comms",
            &message,
            "ncclDevKernel_SendRecv",
            at..at + 10,
        );
    }
    let (_, findings) = analysed(&timetable.profile());
    let found = &findings[0];
    reasons(found, &["30 times with 30 kinds of messages: 150 µs"]);
    // 20 rows, and one for the other ten.
    let rows = &found.tables[0].rows;
    assert_eq!(rows.len(), 21);
    let rest: Vec<String> = rows[20].iter().take(6).map(Value::text).collect();
    assert_eq!(rest, ["10 more", "–", "–", "–", "10", "100 µs"]);
}
