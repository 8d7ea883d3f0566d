//! Which files are opened as what, merged, replaced and rejected.

use dormer_core::import::import;
use dormer_core::testing::Timetable;

use super::*;
use crate::worker::Content;

/// A graph of a GEMM and a norm, replayed once.
fn replay() -> Timetable {
    Timetable::new()
        .without_flows()
        .runtime("hipGraphLaunch", 1, 0..10)
        .kernel(1, "gemm", 20..60)
        .kernel(1, "norm", 60..70)
}

/// The capture of a graph of these operators and kernels.
fn capture(launches: &[(&str, &str)]) -> Timetable {
    let start = Timetable::new()
        .without_flows()
        .frame("model.py(3): forward", 1..900)
        .runtime("hipStreamBeginCapture", 1, 2..3);
    let all = launches.iter().zip(1..);
    let all = all.fold(start, |all, ((op, kernel), nth)| {
        let at = 20 * nth;
        all.op(op, at..at + 15)
            .args("32x64, 64x16")
            .runtime("hipModuleLaunchKernel", 100 + nth, at + 1..at + 5)
            .args(&format!(r#""kernel": "{kernel}""#))
    });
    all.runtime("hipStreamEndCapture", 2, 850..851)
}

const LAUNCHES: [(&str, &str); 2] = [("aten::mm", "gemm"), ("my::norm", "norm")];

fn incoming(name: &str, text: &str) -> Incoming {
    let content = Content::aside(text.as_bytes()).map_or_else(
        || {
            let imported = import(text.as_bytes());
            let imported = imported.map(|run| Content::Recording(Box::new(run)));
            imported.map_err(|error| crate::worker::analysis::failure(&error))
        },
        Ok,
    );
    Incoming {
        name: name.to_owned(),
        content,
    }
}

fn opened(files: &[(&str, &str)]) -> Result<(Traces, Opened), Failure> {
    let files = files.iter().map(|(name, text)| incoming(name, text));
    Traces::open(files.collect(), &Choice::default(), false, |_| {})
}

fn add(traces: &mut Traces, name: &str, text: &str) -> Added {
    traces.add(vec![incoming(name, text)], &Choice::default(), |_| {})
}

/// The messages about files that are not used.
fn reasons(rejected: &[Rejected]) -> Vec<String> {
    let each = rejected.iter().map(|Rejected { name, failure }| {
        let name = name.as_ref().map(|name| format!("{name}: "));
        format!("{}{}", name.unwrap_or_default(), failure.sentence)
    });
    each.collect()
}

const NOTES: &str = r#"[{"file": "capture.json", "batch_size": 32, "mode": "FULL"}]"#;

fn top(opened: &Opened) -> Vec<&str> {
    let top = opened.overview.top.iter();
    top.map(|one| one.time.name.as_str()).collect()
}

#[test]
fn a_trace_and_its_capture_come_together_in_any_order() {
    let (trace, capture) = (replay().json(), capture(&LAUNCHES).json());
    let mut files = [
        ("trace.json", &*trace),
        ("capture.json", &capture),
        ("execution_details.json", NOTES),
    ];
    for _ in 0..files.len() {
        files.rotate_left(1);
        let (_, opened) = opened(&files).unwrap();
        assert_eq!(opened.file_name, "trace.json");
        assert_eq!(top(&opened), ["aten::mm", "my::norm"]);
        let captures = &opened.overview.captures;
        assert!(!captures.is_wanted);
        let matched = "2 of 2 kernels matched".to_owned();
        assert_eq!(captures.merged, [("capture.json".to_owned(), matched)]);
        assert_eq!(reasons(&opened.rejected), [""; 0]);
    }
}

/// A recording of an engine's full startup both captures its graphs and replays them.
#[test]
fn a_recording_that_captures_and_replays_needs_no_other_file() {
    let both = capture(&LAUNCHES)
        .runtime("hipGraphLaunch", 900, 1_000..1_010)
        .kernel(900, "gemm", 1_020..1_060)
        .kernel(900, "norm", 1_060..1_070);
    let (_, opened) = opened(&[("both.json", &both.json())]).unwrap();
    assert_eq!(top(&opened), ["aten::mm", "my::norm"]);
    let captures = &opened.overview.captures;
    assert!(!captures.is_wanted && !opened.is_capture);
    assert_eq!(captures.merged, []);
}

#[test]
fn a_capture_is_merged_with_the_open_trace_and_taken_off_again() {
    let (mut traces, bare) = opened(&[("trace.json", &replay().json())]).unwrap();
    assert!(bare.overview.captures.is_wanted);
    let Added::Merged(merged) = add(&mut traces, "c.json", &capture(&LAUNCHES).json()) else {
        panic!("not merged")
    };
    assert_eq!(top(&merged), ["aten::mm", "my::norm"]);
    // A GPU or a threshold that is chosen later does not affect it.
    let chosen = traces.choose(&Choice::default());
    assert_eq!(chosen.captures, merged.overview.captures);

    let remove_capture = |name: &str| RemoveCapture {
        name: Some(name.to_owned()),
        choice: Choice::default(),
    };
    assert!(
        traces
            .remove_capture(&remove_capture("other.json"))
            .is_none()
    );
    let without = traces.remove_capture(&remove_capture("c.json")).unwrap();
    assert_eq!(without.overview, bare.overview);
}

#[test]
fn what_cannot_be_merged_leaves_everything_as_it_is() {
    let good = capture(&LAUNCHES).json();
    let other = capture(&[("aten::relu", "relu")]).json();
    let half = &good[..good.len() - 150];
    let (mut traces, open) = opened(&[("trace.json", &replay().json())]).unwrap();
    for (name, text, sentence) in [
        (
            "foreign.json",
            &*other,
            "No replay of this trace comes from the capture foreign.json",
        ),
        (
            "half.json",
            half,
            "The capture half.json ends before 1 graph did",
        ),
        (
            "start.json",
            &half[..half.find("hipStreamBegin").unwrap()],
            "The capture start.json is cut off before the launches of any graph",
        ),
        (
            "empty.json",
            r#"{"traceEvents": []}"#,
            "The capture empty.json has no events",
        ),
        ("no.json", "no JSON", "no.json: "),
        (
            "execution_details.json",
            NOTES,
            "execution_details.json: it describes captures of GPU graphs",
        ),
        (
            "config.json",
            r#"{"architectures": ["LlamaForCausalLM"]}"#,
            "config.json: ",
        ),
    ] {
        let Added::Refused(rejected) = add(&mut traces, name, text) else {
            panic!("{name} is used")
        };
        let reasons = reasons(&rejected);
        assert!(
            reasons.len() == 1 && reasons[0].starts_with(sentence),
            "{reasons:?}"
        );
        assert_eq!(traces.opened().overview, open.overview, "{name}");
    }

    // So is a second one for the same replays.
    assert!(matches!(
        add(&mut traces, "c.json", &good),
        Added::Merged(_)
    ));
    let Added::Refused(rejected) = add(&mut traces, "d.json", &good) else {
        panic!("merged twice")
    };
    assert_eq!(
        reasons(&rejected),
        ["All GPU graph replays of the trace have operators from captures already"]
    );
}

const CONFIG: &str = r#"{
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "torch_dtype": "bfloat16"
}"#;

#[test]
fn the_configuration_of_the_model_is_given_and_taken_off() {
    let (trace, capture) = (replay().json(), capture(&LAUNCHES).json());
    let (mut traces, bare) = opened(&[("trace.json", &trace)]).unwrap();
    let Added::Merged(with) = add(&mut traces, "config.json", CONFIG) else {
        panic!("not used")
    };
    let model = |opened: &Opened| opened.overview.captures.model.clone();
    assert!(model(&with).is_some());
    // A capture that is added later keeps it.
    let Added::Merged(both) = add(&mut traces, "c.json", &capture) else {
        panic!("not merged")
    };
    assert_eq!(model(&both), model(&with));
    let remove_capture = |name: Option<&str>| RemoveCapture {
        name: name.map(str::to_owned),
        choice: Choice::default(),
    };
    let without = traces
        .remove_capture(&remove_capture(Some("c.json")))
        .unwrap();
    assert_eq!(model(&without), model(&with));
    let without = traces.remove_capture(&remove_capture(None)).unwrap();
    assert_eq!(without.overview, bare.overview);

    // The same together with the trace; a trace without graph replays does not use it.
    let (_, together) = opened(&[("config.json", CONFIG), ("trace.json", &trace)]).unwrap();
    assert_eq!(model(&together), model(&with));
    let eager = Timetable::new().work("my::op", "kernel", 10..20).json();
    let (_, eager) = opened(&[("config.json", CONFIG), ("eager.json", &eager)]).unwrap();
    assert_eq!(
        reasons(&eager.rejected),
        [format!("config.json: {NO_REPLAYS}")]
    );
}

#[test]
fn another_trace_replaces_the_open_one() {
    let (mut traces, _) = opened(&[("trace.json", &replay().json())]).unwrap();
    let eager = Timetable::new().work("my::op", "kernel", 10..20).json();
    let Added::Replaced(opened) = add(&mut traces, "eager.json", &eager) else {
        panic!("not opened")
    };
    assert_eq!(
        (opened.file_name.as_str(), top(&opened)),
        ("eager.json", vec!["my::op"])
    );
}

#[test]
fn two_traces_are_compared_each_with_its_captures() {
    let (trace, of_trace) = (replay().json(), capture(&LAUNCHES).json());
    let both = [
        ("old.json", &*trace),
        ("c.json", &of_trace),
        ("new.json", &trace),
    ];
    let (mut traces, opened) = opened(&both).unwrap();
    let (name, _) = opened.reference.as_ref().unwrap();
    assert_eq!(
        (opened.file_name.as_str(), name.as_str()),
        ("old.json", "new.json")
    );
    let sides = traces.compare().sides;
    assert_eq!(sides.len(), 2);
    let query = RemoveCapture {
        name: Some("c.json".to_owned()),
        choice: Choice::default(),
    };
    assert!(
        traces
            .remove_capture(&query)
            .unwrap()
            .overview
            .captures
            .is_wanted
    );
}

#[test]
fn captures_without_a_trace_are_opened_alone_or_not_at_all() {
    let good = capture(&LAUNCHES).json();
    let (_, alone) = opened(&[("c.json", &good)]).unwrap();
    assert!(alone.is_capture);
    let two = opened(&[("c.json", &good), ("d.json", &good)]);
    assert_eq!(two.err().unwrap().sentence, ALONE);
    let with_another_open = Traces::open(
        vec![incoming("c.json", &good)],
        &Choice::default(),
        true,
        |_| {},
    );
    assert_eq!(
        with_another_open.err().unwrap().sentence,
        OPEN_TRACE_HAS_NO_REPLAYS
    );
}
