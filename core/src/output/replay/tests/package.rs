//! The content of a package, and what is left out.

use serde_json::Value;

use super::super::*;
use super::{entries, package, packed};
use crate::output::archive::unzip;
use crate::output::documents::{Documents, single::Input};
use crate::output::markup::markdown;
use crate::profile::Profile;
use crate::report::Report;
use crate::testing::{Timetable, options_on};

/// PyTorch 2.0 does not record the dimension to join along, so there is nothing to run, although the operation is large
/// and slow.
#[test]
fn what_cannot_be_rebuilt_is_not_recommended() {
    let kernel = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 2, 128, 1>";
    let cat = Timetable::new().call(
        "aten::cat",
        "[4096x4096 4096x4096], _:Scalar",
        kernel,
        100..1_100,
    );
    let profile = cat.profile();
    let report = Report::new(&profile, &options_on("H100"));
    let candidates = candidates(&profile, &report);
    assert!(candidates[0].is_recommended, "{candidates:?}");
    let findings = &report.analyses.findings.ranked;
    assert!(!findings.is_empty());
    for one in findings {
        assert_eq!(one.finding.replay, None);
        assert!(!one.finding.kernel.contains("reproducer"), "{one:?}");
    }
    let fair = markdown(&Input::new(&profile, &report).fair());
    let left = "too little to rebuild these:\n\n- `aten::cat` (100 % of compute";
    assert!(fair.replace('\u{202F}', " ").contains(left), "{fair}");
}

/// 4096³ · 2 operations at 708 TFLOPS take 194 µs: a call of 1 ms reaches 19 % of roofline, one of 250 µs 78 %.
fn two_products() -> (Profile, Report) {
    let profile = Timetable::new()
        .call("aten::mm", "4096x4096:c10::Half*2", "gemm", 100..350)
        .call("aten::mm", "4096x4096*2", "gemm", 400..1_400)
        .call("aten::relu", "8:float", "relu", 1_400..1_402)
        .profile();
    let report = Report::new(&profile, &options_on("MI300X"));
    (profile, report)
}

#[test]
fn large_and_slow_is_recommended_and_large_alone_is_offered() {
    let (profile, report) = two_products();
    let expected = [
        (0, true, "79.9 % of compute at 19.4 % of roofline"),
        (1, false, "20.0 % of compute"),
    ];
    let chosen = candidates(&profile, &report);
    assert_eq!(chosen.len(), expected.len());
    for (chosen, (operation, is_recommended, reason)) in chosen.iter().zip(expected) {
        assert_eq!(chosen.operation, operation);
        assert_eq!(chosen.is_recommended, is_recommended, "{operation}");
        assert_eq!(chosen.reason.replace('\u{202F}', " "), reason);
    }
    let entries = entries(&Package::new(&profile, &report));
    assert_eq!(entries[0]["roof"]["bound"], "compute");
    assert_eq!(entries[0]["work"]["flops"], 2.0 * 4096_f64.powi(3));
    assert_eq!(entries[0]["trace"]["mean_us"], 1000.0);
    // Any other operation can be requested.
    let small = Package::of_operation(&profile, &report, 2);
    assert_eq!(small.entries[0].name, "aten::relu");
    assert_eq!(Package::of_operation(&profile, &report, 3).entries, []);
}

#[test]
fn the_same_report_gives_the_same_bytes_and_a_readable_archive() {
    let (profile, report) = two_products();
    let zip = Package::new(&profile, &report).zip().unwrap();
    let (profile, report) = two_products();
    assert_eq!(Package::new(&profile, &report).zip().unwrap(), zip);
    let files = unzip(&zip).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["README.md", "batched_replay.py", "replay_ir.json"]);
    assert!(serde_json::from_slice::<Value>(&files[2].1).is_ok());
}

#[test]
fn names_of_modules_stay_out() {
    let trace = Timetable::new()
        .frame("nn.Module: SecretModel_0", 0..100)
        .frame("/home/me/secret.py(7): forward", 1..99)
        .op("aten::mm", 10..90)
        .args("4x2:float, 2x8:float")
        .launched("gemm", 20..21, 100..1_100);
    let package = packed(trace);
    assert_eq!(package.entries.len(), 1);
    let text = String::from_utf8(package.ir()).unwrap() + &package.readme();
    assert!(!text.to_lowercase().contains("secret"), "{text}");
}

#[test]
fn what_cannot_be_rebuilt_has_a_reason() {
    let tensor = "4x2:float";
    #[rustfmt::skip]
    let cases = [
        ("aten::mm", "", Reason::NoArguments),
        ("triton_poi_fused_add_0", tensor, Reason::Generated),
        ("ViewBackward0", tensor, Reason::Autograd),
        ("autograd::engine::evaluate_function: MmBackward0", tensor, Reason::Autograd),
        ("c10d::allreduce_", tensor, Reason::Collective),
        ("a b::c", tensor, Reason::NoOperator),
        ("forward", tensor, Reason::NoOperator),
        ("aten::cat", "[], =0", Reason::TensorList),
        ("aten::index", "4x2:float, _", Reason::TensorList),
        ("aten::einsum", "_, [4x2 2x4], _", Reason::Value(Some("equation"))),
        // String arguments are not recorded.
        ("aten::scatter_reduce_", "4x2:float, =0, 4x2:long int, 4x2:float, _, =True", Reason::Value(Some("reduce"))),
        ("aten::conv1d", "1x3x8:float, 4x3x3:float, _, =[1], _, =[1], =1", Reason::Value(Some("padding"))),
        // PyTorch 2.0 and older record no values; those that change the computation are required.
        ("aten::sum", "8x16:float, _:ScalarList, _:Scalar, _", Reason::Value(Some("dim"))),
        ("aten::cat", "[2x3 2x5], _:Scalar", Reason::Value(Some("dim"))),
        ("vllm::rms_norm", "4x8:float, _:Scalar", Reason::Value(None)),
    ];
    for (op, args, reason) in cases {
        let package = package(op, args);
        assert_eq!(package.entries.len(), 0, "{op}");
        let reasons: Vec<Reason> = package.left_out.iter().map(|left| left.reason).collect();
        assert_eq!(reasons, [reason], "{op}");
        assert!(package.readme().contains(&reason.label()), "{op}");
        assert_eq!(package.ir(), b"[]\n");
    }
}
