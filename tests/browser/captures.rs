//! Captures of GPU graphs, and execution traces: dropped with their trace or after it, and the messages about those
//! that do not fit.

use std::path::{Path, PathBuf};

use super::page::{Page, VIEWS, with_page};
use super::traces::{CAPTURED, capture, kernels, product_and_execution, replay};
use crate::support::shared;

const NOTES: &str = r#"[{"file": "capture.json", "batch_size": 32, "mode": "FULL"}]"#;

/// Waits until the operators of the capture are shown, with the merged files.
async fn shows_operators(page: &Page) {
    page.wait_text("[data-testid=top-operations]", "aten::mm")
        .await;
    page.wait_text("[data-testid=captures]", "capture.json")
        .await;
    page.wait_text("[data-testid=captures]", "2 of 2 kernels matched")
        .await;
    page.wait_text(".file", "trace.json").await;
    page.wait_for("!$('[data-testid=capture-hint]')").await;
}

/// Waits until the replay without a capture is shown.
async fn shows_kernels(page: &Page) {
    page.wait_text("[data-testid=top-operations]", "gemm").await;
    page.wait_text(".file", "trace.json").await;
    page.find("[data-testid=capture-hint]").await;
    page.wait_for("!$('[data-testid=captures]')").await;
}

#[test]
fn a_capture_dropped_on_the_open_trace_is_merged_and_taken_off() {
    with_page("capture-after", async |page| {
        page.open("trace.json", &replay()).await;
        shows_kernels(page).await;
        page.screenshot("capture-bare.png").await;
        page.drop_file("capture.json", &capture(&CAPTURED)).await;
        shows_operators(page).await;
        page.screenshot("capture-merged.png").await;
        for (view, mark) in VIEWS {
            // No GPU is chosen, and there is only one trace.
            if !["roofline", "compare"].contains(&view) {
                page.click(&format!("[data-nav={view}]")).await;
                page.find(mark).await;
            }
        }
        page.go("#/operations?table=layers").await;
        page.wait_text("[id^=kernels_by_layer-]", "GEMM").await;
        // Exported files contain the operators, too.
        page.click("[data-nav=export]").await;
        page.click("[data-format=csv] > summary").await;
        page.click("button[data-path='perf_report_csvs/ops_summary.csv']")
            .await;
        let sheet = page.downloaded("trace-ops_summary.csv").await;
        assert!(String::from_utf8(sheet).unwrap().contains("my::norm"));

        page.click("[data-nav=overview]").await;
        page.click("[data-testid=captures] button").await;
        shows_kernels(page).await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn an_execution_trace_dropped_on_the_open_trace_adds_shapes() {
    with_page("execution-after", async |page| {
        let [trace, execution] = product_and_execution();
        page.open("trace.json", &trace).await;
        page.go("#/operations").await;
        page.find("[id^=unified_perf_summary-]").await;
        page.wait_for("!$('#main').innerText.includes('1024×1024')")
            .await;
        page.drop_file("execution.json", &execution).await;
        page.wait_text("#main", "1024×1024").await;
        page.wait_text(".file", "trace.json").await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn a_trace_and_its_capture_can_come_in_any_order() {
    with_page("capture-together", async |page| {
        let (trace, capture) = (replay(), capture(&CAPTURED));
        let mut files = [
            ("trace.json", &*trace),
            ("capture.json", &capture),
            ("execution_details.json", NOTES),
        ];
        for _ in 0..files.len() {
            page.load("").await;
            files.rotate_left(1);
            page.drop_files(&files).await;
            page.wait_until_shown(1).await;
            shows_operators(page).await;
            page.wait_for("!$('#open-error')").await;
        }
        // The capture first, then the trace.
        page.load("").await;
        page.open("capture.json", &capture).await;
        page.drop_file("trace.json", &trace).await;
        shows_operators(page).await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn what_does_not_fit_is_said_and_leaves_the_trace_as_it_is() {
    with_page("capture-errors", async |page| {
        let whole = capture(&CAPTURED);
        let half = &whole[..whole.len() - 150];
        let start = &half[..half.find("hipStreamBegin").unwrap()];
        let foreign = capture(&[("aten::relu", "relu")]);
        page.open("trace.json", &replay()).await;
        for (name, text, sentence) in [
            (
                "foreign.json",
                &*foreign,
                "No replay of this trace comes from the capture foreign.json",
            ),
            (
                "half.json",
                half,
                "The capture half.json ends before 1 graph did",
            ),
            (
                "start.json",
                start,
                "The capture start.json is cut off before the launches of any graph",
            ),
            (
                "empty.json",
                r#"{"traceEvents": []}"#,
                "The capture empty.json has no events",
            ),
            ("nothing.json", "", "nothing.json cannot be analyzed"),
            ("page.json", "<html>log in</html>", "this is a web page"),
            (
                "execution_details.json",
                NOTES,
                "drop it together with them",
            ),
            (
                "config.json",
                r#"{"architectures": ["X"]}"#,
                "is missing: without it the shapes of its GEMMs cannot be computed",
            ),
        ] {
            page.drop_file(name, text).await;
            page.wait_text("#open-error", sentence).await;
            shows_kernels(page).await;
            if name == "foreign.json" {
                page.screenshot("capture-foreign.png").await;
            }
            page.click("#open-error ~ [aria-label=Close]").await;
            page.wait_for("!$('#open-error')").await;
        }
        // A second capture of the same graph, then one together with the trace.
        page.drop_file("capture.json", &whole).await;
        shows_operators(page).await;
        page.drop_file("rank1.json", &whole).await;
        page.wait_text("#open-error", "have operators from captures already")
            .await;
        page.drop_reference("capture.json", &whole).await;
        page.wait_text("#reference-error", "not a trace to compare with")
            .await;
        page.click("#reference-error ~ [aria-label=Close]").await;
        shows_operators(page).await;

        // A trace without graphs accepts none, and another trace replaces this one.
        page.open("eager.json", &kernels(&[30])).await;
        page.wait_text(".file", "eager.json").await;
        page.drop_file("capture.json", &whole).await;
        page.wait_text("#open-error", "the open trace replays no graph")
            .await;
        page.wait_text(".file", "eager.json").await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn two_traces_with_a_capture_are_compared() {
    with_page("capture-two", async |page| {
        let (trace, capture) = (replay(), capture(&CAPTURED));
        let files = [
            ("trace.json", &*trace),
            ("capture.json", &capture),
            ("old.json", &trace),
        ];
        page.drop_files(&files).await;
        page.find("[data-testid^=compare]").await;
        page.wait_for("$('[data-testid=compare-headline]')?.innerText.startsWith('No difference')")
            .await;
        page.click("#swap").await;
        page.wait_text("[data-role=target]", "old.json").await;
        page.click("[data-nav=overview]").await;
        page.wait_text("[data-testid=captures]", "capture.json")
            .await;
        page.click("[data-testid=captures] button").await;
        page.find("[data-testid=capture-hint]").await;
    });
}

/// The paths of a real trace and its capture.
fn real(folder: &Path, name: &str) -> [PathBuf; 2] {
    ["", ".capture"].map(|part| {
        let file = folder.join(format!("{name}{part}.json.gz"));
        file.canonicalize().unwrap()
    })
}

#[test]
fn real_captures_are_merged_with_their_traces() {
    let Some(folder) = shared::serving_folder() else {
        return;
    };
    with_page("capture-real", async |page| {
        for name in ["vllm_decode_full", "xdit_flux_sage"] {
            let files = real(&folder, name);
            let [trace, capture] = &files;
            page.load("").await;
            page.choose(trace).await;
            page.wait_until_shown(1).await;
            page.screenshot(&format!("capture-{name}-bare.png")).await;
            page.choose(capture).await;
            page.wait_until_shown(2).await;
            page.find("[data-testid=captures]").await;
            page.screenshot(&format!("capture-{name}.png")).await;
            page.go("#/operations?table=layers").await;
            page.find("[id^=kernels_by_layer-]").await;
            page.screenshot(&format!("capture-{name}-layers.png")).await;
        }
    });
}
