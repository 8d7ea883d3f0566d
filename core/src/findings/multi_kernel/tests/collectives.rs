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
fn the_size_of_a_collective_of_a_graph_is_unknown() {
    let profile = Timetable::new()
        .without_flows()
        .op("CompiledFunction", 0..20)
        .args("1x2048:long int")
        .runtime("cudaGraphLaunch", 1, 1..2)
        .kernel(1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100..300)
        .profile();
    assert_eq!(first(&profile)[..5], ["all-reduce", "–", "–", "–", "1"]);
}

/// Six all-reduces of unknown size in one replay, 10 µs each, but for the first.
#[test]
fn an_all_reduce_of_a_graph_that_takes_far_longer_than_the_others_waits() {
    let titles = |first_us: u32| {
        let start = Timetable::new().without_flows();
        let start = (start.runtime("cudaGraphLaunch", 1, 1..2), 100);
        let (table, _) = (0..6).fold(start, |(table, at), nth| {
            let end = at + 50 + if nth == 0 { first_us } else { 10 };
            let table = table.kernel(1, "gemm", at..at + 50);
            let reduces = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
            (table.kernel(1, reduces, at + 50..end), end)
        });
        let outcome = outcome(&table.profile(), &ReportOptions::default());
        let titles = outcome.findings.into_iter().map(|one| one.title);
        titles.collect::<Vec<_>>()
    };
    let late = "Collectives wait for late ranks".to_owned();
    assert!(titles(500).contains(&late), "{:?}", titles(500));
    assert!(!titles(10).contains(&late));
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
fn an_all_reduce_of_its_own_kernel_has_its_size_from_the_operator() {
    let kernel = "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)";
    let profile = Timetable::new()
        .call("vllm::all_reduce", "2048x4096, _", kernel, 100..180)
        .work("aten::mm", "gemm", 180..400)
        .profile();
    #[rustfmt::skip]
    let expected = [
        "all-reduce", "8", "bf16", "16.8 MB", "1", "80.0 µs", "80.0 µs", "80.0 µs", "0 µs", "–", "210 GB/s", "367 GB/s", "367 GB/s",
    ];
    assert_eq!(first(&profile), expected);
}

/// 4 MB among 8 ranks in 6 ms: 0.667 · 1.75 = 1.17 GB/s on links that carry 450 GB/s in each direction.
#[test]
fn the_bus_bandwidth_is_compared_with_the_links() {
    let profile = communication(10_000.0, 4_000.0, 2_000.0..8_000.0);
    let found = &outcome(&profile, &options_on("H100")).findings[0];
    let bandwidth = "bus bandwidth averages 1.17 GB/s, 0.3 % of the 450 GB/s";
    assert_contains(&found.issue, &[bandwidth]);
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
    let (_, findings) = analyzed(&timetable.profile());
    let found = &findings[0];
    reasons(found, &["30 times with 30 kinds of messages: 150 µs"]);
    // 20 rows, and one for the other ten.
    let rows = &found.tables[0].rows;
    assert_eq!(rows.len(), 21);
    let rest: Vec<String> = rows[20].iter().take(6).map(Value::text).collect();
    assert_eq!(rest, ["10 more", "–", "–", "–", "10", "100 µs"]);
}

/// Messages of one kind, each of which follows a GEMM of 100 µs.
fn messages(dtype: &str, elements: u64, group: &str, n: u32, us: u32) -> Timetable {
    messages_of("_allgather_base", dtype, elements, group, n, us)
}

fn messages_of(kind: &str, dtype: &str, elements: u64, group: &str, n: u32, us: u32) -> Timetable {
    let message = format!(
        r#""Collective name": "{kind}", "dtype": "{dtype}", "In msg nelems": 8, "Out msg nelems": {elements}, {group}, "Process Group Description": "default_pg""#
    );
    let backward = "autograd::engine::evaluate_function: MmBackward0";
    let table = Timetable::new().work(backward, "gemm", 0..10);
    (0..n).fold(table, |table, at| {
        let start = 10 + at * (100 + us);
        let end = start + 100;
        let table = table.call("aten::mm", "512x512, 512x512", "gemm", start..end);
        let kernel = "ncclDevKernel_AllGather";
        table.call("record_param_comms", &message, kernel, end..end + us)
    })
}

const OF_8: &str = r#""Group size": 8"#;

/// 32.8 kB in 100 µs are 0.3 GB/s of 450, each time the same: latency. Large messages, or those that take as long as
/// waiting does, are not.
#[test]
fn small_messages_of_even_duration_take_latency() {
    let found_in = |elements, us| {
        let profile = messages("BFloat16", elements, OF_8, 8, us).profile();
        outcome(&profile, &options_on("H100")).findings.remove(0)
    };
    let small = found_in(16_384, 100);
    assert_eq!(small.title, "Communication in small messages");
    assert_contains(
        &small.model,
        &[
            "send fewer, larger messages",
            "`stage3_param_persistence_threshold`",
        ],
    );
    reasons(
        &small,
        &["8 messages of 32.8 kB (all-gather) take 100 µs each"],
    );
    for (elements, us) in [(16_384, 2_000), (16_000_000, 100)] {
        let title = found_in(elements, us).title;
        assert_ne!(title, small.title, "{elements} {us}");
    }
}

/// GEMMs in BF16 and messages in FP32 of 40 MB, which take 100 µs with 78 % of the links, all of it exposed.
#[test]
fn messages_wider_than_the_computation_can_be_half_as_large() {
    let found_in = |dtype| {
        let profile = messages(dtype, 10_000_000, OF_8, 8, 100).profile();
        outcome(&profile, &options_on("H100")).findings.remove(0)
    };
    let wide = found_in("Float");
    assert_eq!(
        wide.title,
        "Communication in FP32 beside 16-bit computation"
    );
    assert_contains(
        &wide.model,
        &["send half the bytes", "`communication_data_type`"],
    );
    reasons(&wide, &["800 µs of it moves FP32", "save 400 µs"]);
    assert!(wide.impact.unwrap().low_ns >= 400_000);
    assert_ne!(found_in("BFloat16").title, wide.title);
}

/// The same messages as all-reduces that training starts by itself, not within the backward pass.
#[test]
fn gradients_that_the_program_reduces_can_be_half_as_large() {
    let found_in = |dtype| {
        let profile = messages_of("allreduce", dtype, 10_000_000, OF_8, 8, 300).profile();
        outcome(&profile, &options_on("H100")).findings.remove(0)
    };
    let wide = found_in("Float");
    let title = "Communication in FP32 beside 16-bit computation";
    assert_eq!(wide.title, title);
    assert_contains(&wide.model, &["convert gradients to BF16"]);
    assert_ne!(found_in("BFloat16").title, title);
}

/// A group of 16 ranks where the host has 8 GPUs is not judged by the links of these.
#[test]
fn a_group_that_spans_hosts_has_other_links() {
    let found_in = |group: &str| {
        let group = format!(r#"{group}, "Process Group Name": "TENSOR_MODEL_PARALLEL_GROUP""#);
        let json = messages("BFloat16", 16_000_000, &group, 8, 1_000).json();
        let gpus: Vec<String> = (0..8)
            .map(|id| format!(r#"{{"id": {id}, "name": "NVIDIA H100 80GB HBM3"}}"#))
            .collect();
        let devices = format!(r#"{{"deviceProperties": [{}], "#, gpus.join(", "));
        let json = json.replacen('{', &devices, 1);
        let profile = Profile::new(crate::import::import(json.as_bytes()).unwrap());
        outcome(&profile, &options_on("H100")).findings.remove(0)
    };
    let spans = found_in(r#""Group size": 16"#);
    assert_eq!(spans.title, "Tensor parallelism across hosts");
    assert_contains(
        &spans.issue,
        &["its bus bandwidth between hosts averages 30.0 GB/s"],
    );
    assert_contains(&spans.model, &["keep tensor parallelism within one host"]);
    reasons(
        &spans,
        &["8 GPUs are linked, so a group of 16 ranks spans hosts"],
    );
    assert_contains(
        &found_in(OF_8).issue,
        &["of the 450 GB/s that the links carry"],
    );
}

/// On AMD GPUs a group of two ranks has one of seven links, on NVIDIA's all of them.
#[test]
fn a_group_is_judged_by_the_links_between_its_ranks() {
    let issue = |gpu: &str| {
        let profile = messages("BFloat16", 16_000_000, r#""Group size": 2"#, 8, 1_000).profile();
        let outcome = outcome(&profile, &options_on(gpu));
        outcome.findings[0].issue.clone()
    };
    let of_one = "16.0 GB/s, 25.0 % of the 64.0 GB/s that the links between its ranks carry";
    assert_contains(&issue("MI300X"), &[of_one]);
    assert_contains(
        &issue("H100"),
        &["16.0 GB/s, 3.6 % of the 450 GB/s that the links carry"],
    );
}

/// Two steps with micro-batches of five GEMMs forward and a backward pass, which ends with an all-reduce of 100 µs where
/// gradients are reduced, of this many elements.
fn micro_batches(reduced: &[Option<u64>]) -> Profile {
    const GRADIENTS: &str = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
    let (mut table, mut at) = (Timetable::new(), 0_u32);
    for step in 0..2 {
        let start = at;
        for elements in reduced {
            for _ in 0..5 {
                table = table.thread(1).work("aten::mm", "gemm", at..at + 20);
                at += 20;
            }
            table = table.thread(2).op(GRADIENTS, at..at + 20);
            if let Some(elements) = elements {
                let message = format!(
                    r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": {elements}, "Out msg nelems": {elements}, "Group size": 8, "Process Group Name": "0""#
                );
                table = table
                    .op("record_param_comms", at + 1..at + 19)
                    .args(&message)
                    .launched("ncclDevKernel_AllReduce", at + 2..at + 3, at + 20..at + 120);
            }
            at += 130;
        }
        let name = format!("ProfilerStep#{step}");
        table = table.thread(1).annotation(&name, start..at);
    }
    table.profile()
}

/// Of three micro-batches, those before the last reduce two times 100 µs in each of two steps.
#[test]
fn gradients_reduced_after_each_micro_batch_are_a_finding() {
    let key = "reduced_in_each_micro_batch";
    let of = |reduced: &[Option<u64>]| {
        let (_, findings) = analyzed(&micro_batches(reduced));
        let found = findings.into_iter().find(|found| found.pattern == key);
        found.map(|found| (saves(&found).2, found.issue))
    };
    let (saved_ns, issue) = of(&[Some(1_000_000); 3]).unwrap();
    assert_eq!(saved_ns, 400_000);
    assert_contains(&issue, &["each of 3 micro-batches", "4 collectives"]);
    // Once in a step; and two models, trained in turns.
    assert_eq!(of(&[None, None, Some(1_000_000)]), None);
    assert_eq!(of(&[Some(1_000_000)]), None);
    assert_eq!(of(&[Some(1_000_000), Some(500_000)]), None);
}
