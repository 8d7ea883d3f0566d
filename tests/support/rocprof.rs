//! Minimal traces in rocprofv3's format: JSON of one or more processes, each with two GPUs.

/// A file of processes.
pub(crate) fn file(processes: &[String]) -> String {
    format!(r#"{{"rocprofiler-sdk-tool": [{}]}}"#, processes.join(", "))
}

/// A process with these lists of records: `"kernel_dispatch": […], …`.
pub(crate) fn process(pid: u32, records: &str) -> String {
    let agent = |id: u32, kind: u32, number: u32, name: &str| {
        format!(
            r#"{{"size": 312, "id": {{"handle": {id}}}, "type": {kind}, "cu_count": 256, "gfx_target_version": 90500, "logical_node_type_id": {number}, "product_name": "{name}", "mem_banks": [{{"size_in_bytes": 309220868096}}]}}"#
        )
    };
    let agents = [
        agent(70, 1, 0, "AMD EPYC 9575F"),
        agent(71, 2, 0, "AMD Instinct MI350X"),
        agent(72, 2, 1, "AMD Instinct MI350X"),
    ];
    let symbol = |id: u32, name: &str| {
        format!(
            r#"{{"size": 88, "kernel_id": {id}, "kernel_name": "_Z{id}.kd", "demangled_kernel_name": "{name}", "truncated_kernel_name": "short"}}"#
        )
    };
    let symbols = [
        symbol(1, "void gemm<float, 4>(float*) [clone .kd]"),
        symbol(2, "__amd_rocclr_copyBuffer.kd"),
        symbol(3, ""),
    ];
    let kinds = [
        ("NONE", ""),
        ("HIP_RUNTIME_API", r#""hipMalloc", "hipLaunchKernel""#),
        (
            "MEMORY_COPY",
            r#""MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE""#,
        ),
        (
            "MARKER_CORE_RANGE_API",
            r#""roctxMarkA", "roctxThreadRangeA""#,
        ),
        (
            "MEMORY_ALLOCATION",
            r#""MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE""#,
        ),
    ];
    let kinds = kinds.map(|(kind, of)| format!(r#"{{"kind": "{kind}", "operations": [{of}]}}"#));
    format!(
        r#"{{"metadata": {{"node": {{"hostname": "secret-host"}}, "pid": {pid}, "init_time": 900, "fini_time": 9000, "command": ["secret-command", "\"agents\": ["], "config": {{"output_path": "/secret/path"}}}},
"agents": [{}], "counters": [{{"name": "SQ_WAVES", "dimension_ids": [1]}}],
"strings": {{"callback_records": [{{"kind": "NONE", "operations": []}}], "buffer_records": [{}], "marker_api": [{{"key": 8, "value": "step 1"}}]}},
"code_objects": [{{"size": 1, "uri": "file:///secret/lib.so"}}], "kernel_symbols": [{}], "host_functions": [], "summary": [],
"callback_records": {{"counter_collection": []}}, "buffer_records": {{{records}}}}}"#,
        agents.join(", "),
        kinds.join(", "),
        symbols.join(",\n"),
    )
}

/// A kernel with start and end: its id, its call's id, the stream.
pub(crate) fn dispatch(kernel: u32, call: u32, stream: u32, from: i64, to: i64) -> String {
    format!(
        r#"{{"size": 184, "kind": 11, "operation": 2, "thread_id": 12, "correlation_id": {{"internal": {call}, "external": 0}}, "start_timestamp": {from}, "end_timestamp": {to}, "dispatch_info": {{"size": 72, "agent_id": {{"handle": 72}}, "queue_id": {{"handle": {}}}, "kernel_id": {kernel}, "group_segment_size": 4096, "workgroup_size": {{"x": 256, "y": 2, "z": 1}}, "grid_size": {{"x": 1000, "y": 4, "z": 3}}}}, "stream_id": {{"handle": {stream}}}}}"#,
        16 + stream % 2
    )
}

/// A call, a marked range, a copy or an allocation: its kind and operation, the id that connects it to others, start
/// and end, and additional fields.
pub(crate) fn record(of: (u32, u32), id: u32, from: i64, to: i64, rest: &str) -> String {
    let (kind, operation) = of;
    format!(
        r#"{{"size": 56, "kind": {kind}, "operation": {operation}, "correlation_id": {{"internal": {id}, "external": 0}}, "start_timestamp": {from}, "end_timestamp": {to}, "thread_id": 12{rest}}}"#
    )
}

/// One process with a record of every kind.
pub(crate) fn whole() -> String {
    let memory = |address: &str, bytes: u32| {
        format!(
            r#", "agent_id": {{"handle": 72}}, "address": "{address}", "allocation_size": {bytes}"#
        )
    };
    let copied = r#", "src_agent_id": {"handle": 70}, "dst_agent_id": {"handle": 72}, "bytes": 4096, "stream_id": {"handle": 4}"#;
    let records = [
        format!(
            r#""kernel_dispatch": [{}, {}, {}]"#,
            dispatch(1, 5, 4, 2000, 2600),
            dispatch(2, 6, 4, 2600, 2700),
            dispatch(77, 7, 5, 2650, 2900)
        ),
        format!(
            r#""hip_api": [{}, {}]"#,
            record((1, 0), 3, 1000, 1400, ""),
            record((1, 1), 5, 1500, 1600, "")
        ),
        format!(
            r#""hsa_api": [], "marker_api": [{}]"#,
            record((3, 1), 8, 1000, 3000, "")
        ),
        format!(
            r#""memory_copy": [{}]"#,
            record((2, 1), 9, 1700, 1900, copied)
        ),
        format!(
            r#""memory_allocation": [{}, {}, {}]"#,
            record(
                (4, 0),
                3,
                1100,
                1200,
                &memory("0x00007f0000001000", 2 << 20)
            ),
            record(
                (4, 0),
                3,
                1150,
                1200,
                &memory("0x00007f0000800000", 1 << 20)
            ),
            record((4, 1), 4, 1250, 1300, &memory("0x00007f0000001000", 0))
        ),
    ];
    file(&[process(907, &records.join(", "))])
}
