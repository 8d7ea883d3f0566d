//! A trace of our own, to try Dormer without one: three training steps of a small GPT on an H100.
//!
//! It has what real traces have: Python frames and modules, ops with shapes, a backward pass on
//! its own thread, collectives that overlap it in part, copies, and a GPU that waits for data.
//! It is made by code, always the same, and durations follow from shapes and hardware figures.

mod kernels;
mod model;
mod recorder;

use recorder::Recorder;

/// Steps recorded; the first of a run are never recorded.
const STEPS: std::ops::Range<i64> = 10..13;

/// The trace as text, in the form in which PyTorch's profiler writes it.
pub fn trace_json() -> String {
    let mut recorder = Recorder::new(4_213_001_238_114);
    for number in STEPS {
        model::training_step(&mut recorder, number);
        recorder.busy(35_000);
    }
    let mut events = recorder::names();
    events.extend(recorder.into_events());
    format!(
        "{{\n{HEADER}\n\"traceEvents\":[\n{}\n]\n}}\n",
        events.join(",\n")
    )
}

const HEADER: &str = r#""schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8, "pg_count": 1, "nccl_version": "2.21.5"},
"record_shapes": 1,
"with_stack": 1,
"with_modules": 1,
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 1735689600000000000,"#;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::hardware;
    use crate::trace::DeviceProperties;

    fn parsed() -> Value {
        serde_json::from_str(&trace_json()).unwrap()
    }

    fn events(trace: &Value, category: &str) -> Vec<Value> {
        let all = trace["traceEvents"].as_array().unwrap();
        all.iter()
            .filter(|event| event["cat"] == category && event["ph"] == "X")
            .cloned()
            .collect()
    }

    /// Times in nanoseconds, from microseconds with three decimals.
    fn ns(value: &Value) -> i64 {
        (value.as_f64().unwrap() * 1e3).round() as i64
    }

    /// Start and end of the events of each thread or stream, in order of the file.
    fn by_track(events: Vec<Value>) -> BTreeMap<i64, Vec<(i64, i64)>> {
        let mut tracks: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
        for event in events {
            let start = ns(&event["ts"]);
            let end = start + ns(&event["dur"]);
            let tid = event["tid"].as_i64().unwrap();
            tracks.entry(tid).or_default().push((start, end));
        }
        tracks
    }

    #[test]
    fn it_is_always_the_same_and_of_a_handy_size() {
        let text = trace_json();
        assert_eq!(text, trace_json());
        assert!((100_000..450_000).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn host_events_nest() {
        let trace = parsed();
        let host: Vec<Value> = [
            "cpu_op",
            "cuda_runtime",
            "python_function",
            "user_annotation",
        ]
        .into_iter()
        .flat_map(|category| events(&trace, category))
        .collect();
        let mut tracks = by_track(host);
        assert_eq!(tracks.len(), 2);
        for spans in tracks.values_mut() {
            spans.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
            let mut open: Vec<i64> = Vec::new();
            for &(start, end) in spans.iter() {
                while open.last().is_some_and(|&outer| outer <= start) {
                    open.pop();
                }
                assert!(open.last().is_none_or(|&outer| end <= outer));
                open.push(end);
            }
        }
    }

    #[test]
    fn a_stream_runs_one_thing_at_a_time() {
        let trace = parsed();
        let mut gpu = events(&trace, "kernel");
        gpu.extend(events(&trace, "gpu_memcpy"));
        let mut tracks = by_track(gpu);
        assert_eq!(tracks.keys().copied().collect::<Vec<_>>(), [7, 20, 24]);
        for spans in tracks.values_mut() {
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn every_kernel_has_its_launch_and_its_arrow() {
        let trace = parsed();
        let mut launches = BTreeMap::new();
        for call in events(&trace, "cuda_runtime") {
            if let Some(correlation) = call["args"]["correlation"].as_i64() {
                assert_eq!(launches.insert(correlation, ns(&call["ts"])), None);
            }
        }
        let all = trace["traceEvents"].as_array().unwrap();
        let arrows = |phase: &str| -> Vec<i64> {
            let of_phase = all.iter().filter(|event| event["ph"] == phase);
            of_phase
                .map(|event| event["id"].as_i64().unwrap())
                .collect()
        };
        let (mut tails, mut heads) = (arrows("s"), arrows("f"));
        tails.sort_unstable();
        heads.sort_unstable();
        assert_eq!(tails, heads);

        let mut gpu = events(&trace, "kernel");
        gpu.extend(events(&trace, "gpu_memcpy"));
        assert_eq!(gpu.len(), launches.len());
        for kernel in gpu {
            let correlation = kernel["args"]["correlation"].as_i64().unwrap();
            let launched = launches.remove(&correlation).unwrap();
            assert!(launched < ns(&kernel["ts"]), "{kernel}");
            assert!(heads.binary_search(&correlation).is_ok());
        }
    }

    #[test]
    fn collectives_overlap_the_backward_pass_in_part() {
        let trace = parsed();
        let kernels = by_track(events(&trace, "kernel"));
        let (compute, collectives) = (&kernels[&7], &kernels[&24]);
        let hidden = |&(start, end): &(i64, i64)| -> i64 {
            compute
                .iter()
                .map(|&(one, two)| (two.min(end) - one.max(start)).max(0))
                .sum()
        };
        let total: i64 = collectives.iter().map(|(start, end)| end - start).sum();
        let overlapped: i64 = collectives.iter().map(hidden).sum();
        assert!(overlapped * 10 > total * 3 && overlapped * 10 < total * 9);
    }

    #[test]
    fn its_gpu_is_known() {
        let (devices, _) = DeviceProperties::parse_all(&parsed()["deviceProperties"].to_string());
        assert_eq!(hardware::detect(&devices).map(|gpu| &*gpu.id), Some("H100"));
    }
}
