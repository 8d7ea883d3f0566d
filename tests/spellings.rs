//! Arguments of real operators in every spelling: the figures stay the same.
//!
//! A profiler writes `[2, 2]`, a script `(2, 2)` or `2, 2`; types come in any case and with any prefix. Copies of real
//! traces are respelled, and the figures of each operation are compared.

use dormer_core::hardware;
use dormer_core::profile::Profile;
use flate2::read::GzDecoder;
use serde_json::Value;

use crate::support::opened::{profile, report_on};
use crate::support::shared;

/// Changes the arguments of an event in place.
type Respell = fn(&mut Value);

const SPELLINGS: &[(&str, Respell)] = &[
    ("lists as tuples", |args| {
        values(args, |text| list(text).map(|items| format!("({items})")));
    }),
    ("lists without brackets", |args| {
        // A one-element list without brackets is a number, and an empty one is nothing.
        let is_several = |items: &String| items.contains(',');
        values(args, |text| list(text).filter(is_several));
    }),
    ("lists without spaces", |args| {
        values(args, |text| Some(text.replace(", ", ",")))
    }),
    ("flags in lower case", |args| {
        values(args, |text| {
            matches!(text, "True" | "False").then(|| text.to_lowercase())
        });
    }),
    ("None for what is absent", |args| {
        values(args, |text| text.is_empty().then(|| "None".to_owned()));
    }),
    ("types in lower case", |args| {
        each(args, "Input type", |text| Some(text.to_lowercase()))
    }),
    ("types as in Python", |args| {
        each(args, "Input type", |text| {
            let name = match text {
                "c10::BFloat16" => "torch.bfloat16",
                "c10::Half" => "torch.float16",
                "float" => "torch.float32",
                "double" => "torch.float64",
                "long int" => "torch.int64",
                "int" => "torch.int32",
                _ => return None,
            };
            Some(name.to_owned())
        });
    }),
    ("shapes as text", |args| {
        for key in ["Input Dims", "Input Strides"] {
            if let Some(lists) = args.get_mut(key) {
                *lists = lists
                    .to_string()
                    .replace('[', "(")
                    .replace(']', ",)")
                    .replace("(,)", "()")
                    .into();
            }
        }
    }),
    ("shapes each as text", |args| {
        for key in ["Input Dims", "Input Strides"] {
            for shape in args
                .get_mut(key)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                *shape = shape.to_string().replace('[', "(").replace(']', ")").into();
            }
        }
    }),
];

/// The content of a list's brackets if it is not nested.
fn list(text: &str) -> Option<String> {
    let items = text.strip_prefix('[')?.strip_suffix(']')?;
    (!items.contains('[')).then(|| items.to_owned())
}

fn values(args: &mut Value, respell: impl Fn(&str) -> Option<String>) {
    each(args, "Concrete Inputs", respell);
}

fn each(args: &mut Value, key: &str, respell: impl Fn(&str) -> Option<String>) {
    for item in args
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(other) = item.as_str().and_then(&respell) {
            *item = other.into();
        }
    }
}

/// Traces with many kinds of arguments, and the unit traces.
fn traces() -> Vec<(String, Vec<u8>)> {
    let mut traces = vec![("sample".to_owned(), dormer_core::sample::TRACE.into())];
    let Some(folder) = shared::folder() else {
        return traces;
    };
    for name in [
        "h100_bert",
        "mi300_resnet_training",
        "mi300_normalization",
        "sglang_prefilldecode",
    ] {
        traces.push((name.to_owned(), shared::trace(&folder, name)));
    }
    let units = std::fs::read_dir(folder.join("units"))
        .into_iter()
        .flatten();
    let mut paths: Vec<_> = units.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "gz"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        traces.push((name, std::fs::read(path).unwrap()));
    }
    traces
}

fn json(bytes: &[u8]) -> Value {
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => serde_json::from_reader(GzDecoder::new(bytes)),
        false => serde_json::from_slice(bytes),
    }
    .unwrap()
}

/// The figures of each operation, by its first call and kernel: calls, FLOPs, bytes, percentage of roofline.
fn figures(profile: &Profile) -> Vec<String> {
    let gpu = hardware::find("MI300X");
    let report = report_on(profile, gpu.cloned());
    let mut figures: Vec<String> = report
        .operations(profile)
        .map(|(operation, evaluation)| {
            let percent = evaluation
                .achieved
                .map(|achieved| achieved.percent_of_roofline);
            let (name, uid, n) = (
                operation.name(profile),
                operation.uid(),
                operation.n_calls(),
            );
            format!("{uid} {name} × {n}: {:?}, {percent:?} %", evaluation.work)
        })
        .collect();
    figures.sort();
    figures
}

#[test]
fn figures_do_not_depend_on_how_arguments_are_spelled() {
    let mut n_respelled = vec![0; SPELLINGS.len()];
    for (name, bytes) in traces() {
        let original = json(&bytes);
        let expected = figures(&profile(original.to_string()));
        assert!(
            expected.iter().any(|figure| figure.contains("Some(Work")),
            "{name}"
        );
        for (at, (spelling, respell)) in SPELLINGS.iter().enumerate() {
            let mut respelled = original.clone();
            let events = match respelled.is_array() {
                true => respelled.as_array_mut(),
                false => respelled["traceEvents"].as_array_mut(),
            };
            for event in events.into_iter().flatten() {
                if let Some(args) = event.get_mut("args") {
                    respell(args);
                }
            }
            n_respelled[at] += usize::from(respelled != original);
            let found = figures(&profile(respelled.to_string()));
            let differ: Vec<_> = expected
                .iter()
                .zip(&found)
                .filter(|(a, b)| a != b)
                .collect();
            let n = (expected.len(), found.len());
            assert!(
                differ.is_empty() && n.0 == n.1,
                "{name}, {spelling}: {n:?}, {} differ: {:#?}",
                differ.len(),
                differ.first()
            );
        }
    } // Each was applied to something.
    assert!(n_respelled.iter().all(|n| *n > 0), "{n_respelled:?}");
}
