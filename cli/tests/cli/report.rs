//! `dormer report`: the summary, the files, the options.

use std::fs;

use super::{Folder, MINE, TRACE};

#[test]
fn a_report_is_summed_up_and_written() {
    let folder = Folder::with("trace.json", TRACE);
    let said = folder.run("report trace.json -o out/deep").done();
    assert!(
        said.contains("aten::addmm") && said.contains("60.0 µs"),
        "{said}"
    );
    for path in [
        "standalone_analysis_fair.md",
        "perf_report_csvs/ops_summary.csv",
    ] {
        let text = folder.read(&format!("out/deep/{path}"));
        assert!(text.contains("aten::addmm"), "{path}");
    }
}

#[test]
fn formats_can_be_chosen() {
    for (formats, has_markdown, has_csv) in [
        ("md", true, false),
        ("csv", false, true),
        ("md,csv", true, true),
        ("all", true, true),
    ] {
        let folder = Folder::with("trace.json", TRACE);
        folder
            .run(&format!("report trace.json -o . --format {formats}"))
            .done();
        let has = [
            "standalone_analysis_fair.md",
            "perf_report_csvs/gpu_timeline.csv",
        ];
        let has = has.map(|path| folder.has(path));
        assert_eq!(has, [has_markdown, has_csv], "{formats}");
    }
}

#[test]
fn an_archive_holds_what_is_asked_for() {
    let folder = Folder::with("run+7.json", TRACE);
    for (formats, expected) in [
        ("zip", "perf_report.xlsx"),
        ("zip,md", "standalone_analysis_fair.md"),
    ] {
        let said = folder
            .run(&format!("report run+7.json -o out --format {formats}"))
            .done();
        assert!(said.contains("Wrote out/dormer-run_7.zip ("), "{said}");
        let out = folder.0.path().join("out");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        let archive = fs::read(out.join("dormer-run_7.zip")).unwrap();
        let holds = |path: &str| {
            let mut windows = archive.windows(path.len());
            windows.any(|bytes| bytes == path.as_bytes())
        };
        assert!(holds(expected), "{formats}");
        assert_eq!(holds("perf_report.json"), formats == "zip");
    }
}

#[test]
fn names_of_ones_own_are_replaced() {
    let own = TRACE
        .replace("sgemm_128x64", "acme_gemm")
        .replace("aten::linear", "acme::linear");
    let folder = Folder::with("acme.json", &own);
    for command in [
        "report acme.json",
        "compare --reference acme.json acme.json",
    ] {
        let said = folder
            .run(&format!("{command} --redact -o out --format csv,zip"))
            .done();
        assert!(!said.contains("acme"), "{said}");
        assert!(said.contains("Wrote out/dormer-redacted.zip ("), "{said}");
    }
}

#[test]
fn the_gpu_and_its_basis_can_be_chosen() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("mine.json", MINE);
    folder.add("mine", MINE);
    for (gpu, expected) in [
        ("", "--gpu NAME"),
        ("--gpu mi300x", "Roofline of AMD Instinct MI300X."),
        ("--gpu mine.json", "Roofline of Mine."),
        ("--gpu ./mine.json", "Roofline of Mine."),
        ("--gpu mine", "Roofline of Mine."),
    ] {
        let said = folder.run(&format!("report trace.json {gpu}"));
        assert!(said.out.contains(expected), "{gpu}: {said:?}");
    }
    let on_mi300x = |basis: &str| {
        folder
            .run(&format!("report trace.json --gpu MI300X {basis}"))
            .done()
    };
    let peaks = "All figures are peaks (AMD Instinct MI300X datasheet).";
    assert!(on_mi300x("--basis peak").contains(peaks));
    assert!(!on_mi300x("").contains(peaks));
    assert_eq!(on_mi300x(""), on_mi300x("--basis achievable"));
}

#[test]
fn idling_can_be_split() {
    let folder = Folder::with("trace.json", TRACE);
    let timeline = |more: &str| {
        folder
            .run(&format!("report trace.json -o out --format csv {more}"))
            .done();
        folder.read("out/perf_report_csvs/gpu_timeline.csv")
    };
    assert!(timeline("").contains("\nidle_time,"));
    let split = timeline("--micro-idle 5");
    assert!(split.contains("\nmicro_idle_time,") && split.contains("\nmacro_idle_time,"));
}
