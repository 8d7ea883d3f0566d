//! A trace with a secret in every field that can carry text.

use super::redact;
use crate::compare::Side;
use crate::import::import;
use crate::output::archive::unzip;
use crate::output::export::{Artifact, Input, Source, pair};
use crate::profile::Profile;
use crate::report::sheet::Cell;
use crate::report::{Report, ReportOptions};
use crate::sample;

const SECRET: &str = "acme";

const TRACE: &str = r#"{
    "schemaVersion": 1, "hostname": "acme-host", "acmeKey": {"user": "acme"}, "traceName": "/home/acme/trace.json",
    "deviceProperties": [{"id": 0, "name": "Acme H100 prototype", "totalGlobalMem": 85029158912, "numSms": 132}],
    "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": "acme-1", "tid": 0, "args": {"name": "acme-server"}},
    {"ph": "M", "name": "process_labels", "pid": "acme-1", "tid": 0, "args": {"labels": "acme rank"}},
    {"ph": "M", "name": "thread_name", "pid": "acme-1", "tid": "acme-t", "args": {"name": "acme-worker"}},
    {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7 acme"}},
    {"ph": "X", "cat": "user_annotation", "name": "acme epoch 3", "pid": "acme-1", "tid": "acme-t", "ts": 0, "dur": 950},
    {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AcmeAdam.step", "pid": "acme-1", "tid": "acme-t", "ts": 500, "dur": 100},
    {"ph": "X", "cat": "python_function", "name": "/home/acme/train.py(7): acme_main", "pid": "acme-1", "tid": "acme-t", "ts": 1, "dur": 940},
    {"ph": "X", "cat": "python_function", "name": "nn.Module: AcmeDecoderLayer_0", "pid": "acme-1", "tid": "acme-t", "ts": 2, "dur": 400},
    {"ph": "X", "cat": "python_function", "name": "<built-in method acme of Acme>", "pid": "acme-1", "tid": "acme-t", "ts": 3, "dur": 390},
    {"ph": "X", "cat": "cpu_op", "name": "acme::fused_rms_norm", "pid": "acme-1", "tid": "acme-t", "ts": 5, "dur": 90, "args": {"External id": "acme-5", "Input Dims": [[64, 4096], [], []], "Input type": ["float", "AcmeType", "String"], "Input Strides": [[4096, 1], [], []], "Concrete Inputs": ["", "7", "acme mode"], "acme note": "acme", "kernel_file": "/home/acme/k.py"}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": "acme-1", "tid": "acme-t", "ts": 10, "dur": 20, "args": {"correlation": "acme-7", "External id": "acme-5"}},
    {"ph": "X", "cat": "kernel", "name": "void acme::rms_norm_kernel<AcmeTraits, float>(acme::Params)", "pid": 0, "tid": 7, "ts": 40, "dur": 60, "args": {"correlation": "acme-7", "stream": 7, "grid": [8, 1, 1], "acme": "acme"}},
    {"ph": "s", "cat": "ac2g", "name": "acme", "id": "acme-7", "pid": "acme-1", "tid": "acme-t", "ts": 10},
    {"ph": "f", "cat": "ac2g", "name": "acme", "id": "acme-7", "pid": 0, "tid": 7, "ts": 40, "bp": "e"},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": "acme-1", "tid": "acme-t", "ts": 200, "dur": 50, "args": {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"], "Input Strides": [[512, 1], [512, 1]], "Concrete Inputs": ["", ""]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "acmeLaunch", "pid": "acme-1", "tid": "acme-t", "ts": 210, "dur": 20, "args": {"correlation": 8}},
    {"ph": "X", "cat": "kernel", "name": "acme_gemm_bf16", "pid": 0, "tid": 7, "ts": 240, "dur": 100, "args": {"correlation": 8, "stream": 7}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 8, "pid": "acme-1", "tid": "acme-t", "ts": 210},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 8, "pid": 0, "tid": 7, "ts": 240, "bp": "e"},
    {"ph": "X", "cat": "cpu_op", "name": "AcmeFnBackward", "pid": "acme-1", "tid": "acme-t", "ts": 400, "dur": 50},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": "acme-1", "tid": "acme-t", "ts": 410, "dur": 20, "args": {"correlation": 9}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(acme)", "pid": 0, "tid": 9, "ts": 440, "dur": 30, "args": {"correlation": 9, "stream": 9, "Collective name": "acme_reduce", "dtype": "Float", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "In split size": "[]", "Out split size": "[]", "Process Group Name": "acme group", "Process Group Ranks": "[0, 1]", "Process Group Description": "acme"}},
    {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": "acme-1", "tid": "acme-t", "ts": 410},
    {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 9, "pid": 0, "tid": 9, "ts": 440, "bp": "e"},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy acme", "pid": 0, "tid": 7, "ts": 600, "dur": 10, "args": {"correlation": 10, "stream": 7, "kind": "acme"}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "acme on the GPU", "pid": 0, "tid": 7, "ts": 40, "dur": 600},
    {"ph": "X", "cat": "overhead", "name": "acme overhead", "pid": "acme-1", "tid": "acme-t", "ts": 700, "dur": 10},
    {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": "acme-1", "tid": "acme-t", "ts": 421, "args": {"Device Type": 1, "Device Id": 0, "Addr": 16, "Bytes": 3000000, "Total Allocated": 5000000, "Total Reserved": 9000000}},
    {"ph": "X", "cat": "acme", "name": "acme event", "pid": "acme-1", "tid": "acme-t", "ts": 720, "dur": 10}
]}"#;

fn read(trace: &str) -> Profile {
    Profile::new(import(trace.as_bytes()).unwrap())
}

/// All files about a trace, alone and compared with the sample.
fn files(profile: &Profile) -> Vec<Artifact> {
    let sample = read(sample::TRACE);
    let report = Report::new(profile, &ReportOptions::default());
    let sample_report = Report::new(&sample, &ReportOptions::default());
    let cache = pair::Cache::default();
    let compared = pair::Input::new(
        Side::new("reference", &sample, &sample_report),
        Side::new("target", profile, &report),
        &cache,
    );
    let mut files = Input::new(profile, &report).artifacts();
    files.extend(compared.artifacts());
    files
}

/// The text of a file, and of the files packed in it.
fn texts(path: &str, bytes: &[u8]) -> Vec<(String, String)> {
    let mut texts = vec![(
        path.to_owned(),
        String::from_utf8_lossy(bytes).to_lowercase(),
    )];
    for (name, inner) in unzip(bytes).unwrap_or_default() {
        texts.extend(self::texts(&format!("{path}/{name}"), &inner));
    }
    texts
}

fn with_secrets(files: &[Artifact]) -> Vec<String> {
    let texts = files.iter().flat_map(|file| texts(&file.path, &file.bytes));
    let found = texts.filter(|(path, text)| text.contains(SECRET) || path.contains(SECRET));
    found.map(|(path, _)| path).collect()
}

#[test]
fn no_file_has_a_secret() {
    let plain = with_secrets(&files(&read(TRACE)));
    assert!(plain.len() > 20, "{plain:?}");
    let redacted = files(&redact(&read(TRACE)));
    assert!(redacted.len() > 40);
    assert_eq!(with_secrets(&redacted), [] as [&str; 0]);
}

/// So no view can show one either: the trace itself has none.
#[test]
fn no_text_of_the_trace_has_a_secret() {
    let trace = redact(&read(TRACE)).trace;
    let strings = trace.strings.iter().map(|(_, text)| text.to_lowercase());
    let found: Vec<String> = strings.filter(|text| text.contains(SECRET)).collect();
    assert_eq!(found, [] as [&str; 0]);
    assert!(trace.metadata.is_empty());
    assert_eq!(trace.devices[0].name, "device_1");
}

#[test]
fn every_number_stays() {
    let plain = read(TRACE);
    let redacted = redact(&plain);
    let report = |profile: &Profile| Report::new(profile, &ReportOptions::default());
    let (before, after) = (report(&plain), report(&redacted));
    let sheets = (before.sheets(&plain), after.sheets(&redacted));
    assert_eq!(sheets.0.len(), sheets.1.len());
    for (a, b) in sheets.0.into_iter().zip(sheets.1) {
        assert_eq!((a.name, a.rows.len()), (b.name, b.rows.len()));
        assert_eq!(a.columns, b.columns, "{}", a.name);
        let cells = a.rows.iter().flatten().zip(b.rows.iter().flatten());
        for (at, (one, other)) in cells.enumerate() {
            let is_text = matches!((one, other), (Cell::Text(_), Cell::Text(_)));
            let (row, column) = (at / a.columns.len(), at % a.columns.len());
            assert!(
                is_text || one == other,
                "{} row {row}, column {column}",
                a.name
            );
        }
    }
    assert_eq!(before.overview.total_ns, after.overview.total_ns);
    assert_eq!(before.overview.split, after.overview.split);
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    let made = || files(&redact(&read(TRACE)));
    assert!(made() == made());
}
