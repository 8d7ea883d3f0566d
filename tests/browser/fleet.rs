//! Many traces: the summary of a fleet on the page.

use dormer_core::fleet::metric::Metric;
use dormer_core::fleet::regressions::{Carrier, Change, Level, Part, Point};
use dormer_core::fleet::rows::Status;
use dormer_core::fleet::summary::{
    Build, Cause, Lost, Median, Rejected, Run, Summary, TopOp, Totals,
};
use dormer_core::fleet::texts::{Text, Texts};

use super::page::{Page, with_page};
use super::traces::kernels;

const MS: i64 = 1_000_000;

/// A summary with this many runs of two models over three builds, the last of which is slower.
pub(super) fn summary(n_runs: u32) -> Summary {
    let mut texts = Texts::default();
    let mut text = |words: &str| texts.id(words);
    let builds = ["b01", "b02", "b03"].map(&mut text);
    let models = ["llama", "resnet"].map(&mut text);
    let gpu = Some(text("AMD Instinct MI300X"));
    let finding = Some(text("Kernels are launched too late"));
    let total_ns = |build: u32| (100 + 6 * i64::from(build / 2)) * MS;
    let runs: Vec<Run> = (0..n_runs)
        .map(|at| {
            let (build, model) = (at % 3, at % 2);
            Run {
                id: text(&format!("{at:016x}")),
                model: Some(models[model as usize]),
                gpu,
                build: Some(builds[build as usize]),
                host: None,
                job: None,
                uri: Some(text(&format!("/traces/run{at}.json.gz"))),
                start_ns: Some(1_790_000_000_000_000_000 + i64::from(at) * 60_000 * MS),
                status: Status::Ok,
                total_ns: Some(total_ns(build) + i64::from(at)),
                busy_ns: Some(90 * MS),
                compute_ns: Some(80 * MS),
                exposed_comm_ns: (at % 5 == 0).then_some(10 * MS),
                exposed_copy_ns: Some(0),
                idle_ns: Some(10 * MS),
                finding,
                worth_ns: Some(MS),
            }
        })
        .collect();
    let medians = models.iter().flat_map(|model| {
        (0..3).zip(builds).map(|(at, build)| Median {
            model: Some(*model),
            gpu,
            build: Some(build),
            n_runs: n_runs / 6,
            total_ns: Some(total_ns(at)),
            busy_ns: Some(90 * MS),
            compute_ns: Some(80 * MS),
            exposed_comm_ns: None,
            exposed_copy_ns: None,
            idle_ns: Some(10 * MS),
        })
    });
    let gemm = Some(text("GEMM"));
    let change = Change {
        model: Some(models[0]),
        gpu,
        world_size: Some(1),
        metric: Metric::Category,
        name: gemm,
        dims: None,
        build: builds[2],
        level: Level::Alarm,
        confirmed_by: None,
        ratio: 1.06,
        low: Some(1.055),
        high: Some(1.066),
        p: Some(0.001),
        n_new: 5,
        n_base: 10,
        n_base_builds: 2,
        base_first: builds[0],
        base_last: builds[1],
        new_ns: 53 * MS,
        base_ns: 50 * MS,
        new_run: runs[2].id,
        base_run: runs[0].id,
    };
    let name = text("aten::mm");
    let carrier = Carrier {
        regression: 0,
        part: Part::Op,
        name,
        dims: Some(text("[[4096, 4096], [4096, 4096]]")),
        base_ns: 30 * MS,
        new_ns: 33 * MS,
        share_percent: 98.0,
    };
    let history = (0..3).zip(builds).map(|(at, build)| Point {
        regression: 0,
        build,
        n_runs: 5,
        median_ns: (50 + at / 2 * 3) * MS,
    });
    let op = |name: Text| TopOp {
        name,
        dims: None,
        category: gemm,
        n_runs,
        calls: 1000,
        kernel_ns: 3_600_000 * MS,
        share_percent: 12.5,
    };
    let rejected = Rejected {
        status: Status::Rejected,
        reason_kind: Some(text("not_json")),
        reason: Some(text("the file is a web page")),
        count: 2,
        uri: Some(text("/traces/login.json")),
    };
    let ops = (0..30).map(|at| op(text(&format!("aten::op{at}"))));
    let ops: Vec<TopOp> = ops.collect();
    Summary {
        sentence: "4.1 % of 9 830 GPU hours are idle; build b03 made GEMM 6.0 % slower".to_owned(),
        by: "build".to_owned(),
        dormer: "0.1.0".to_owned(),
        totals: Totals {
            n_files: n_runs + 2,
            n_runs,
            n_partial: 0,
            n_models: 2,
            gpu_ns: 9_830 * 3_600_000 * MS,
            idle_ns: 403 * 3_600_000 * MS,
            first_ns: Some(1_790_000_000_000_000_000),
            last_ns: Some(1_790_100_000_000_000_000),
        },
        builds: (builds.into_iter())
            .map(|build| Build {
                build,
                first_ns: Some(1_790_000_000_000_000_000),
                n_runs: n_runs / 3,
            })
            .collect(),
        medians: medians.collect(),
        regressions: vec![change],
        carriers: vec![carrier],
        history: history.collect(),
        lost: vec![Lost {
            cause: Cause::Idle,
            lost_ns: 403 * 3_600_000 * MS,
            share_percent: 4.1,
            model: Some(models[0]),
            model_lost_ns: 300 * 3_600_000 * MS,
            n_runs,
        }],
        ops,
        rejected: vec![rejected],
        runs,
        texts: texts.into_list(),
        ..Summary::default()
    }
}

/// Chooses a summary file.
pub(super) async fn choose_fleet(page: &Page, summary: &Summary) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.json.gz");
    std::fs::write(&path, summary.to_file()).unwrap();
    page.choose(&path).await;
    page.find("[data-testid=fleet]").await;
}

#[test]
fn a_summary_of_20_600_runs_is_shown() {
    with_page("fleet", async |page| {
        choose_fleet(page, &summary(20_600)).await;
        page.wait_text(
            "[data-testid=headline]",
            "build b03 made GEMM 6.0\u{a0}% slower",
        )
        .await;
        page.wait_text(".file", "fleet.json.gz").await;
        page.wait_for("/\\d m?s/.test($('.file span').innerText)")
            .await;

        // What changed, with its contributions and two runs to compare.
        page.wait_text(
            "[data-testid=fleet-change] h3",
            "GEMM 6.0\u{a0}% slower on AMD Instinct MI300X in build b03",
        )
        .await;
        page.wait_text("[data-testid=fleet-change]", "aten::mm")
            .await;
        page.wait_text("[data-testid=fleet-change]", "/traces/run2.json.gz")
            .await;
        page.wait_for("$$('[data-testid=fleet-change] .spark circle').length === 3")
            .await;
        page.wait_for("$$('[data-testid=fleet-trends] tbody tr').length === 2")
            .await;
        page.wait_text("[data-testid=fleet-trends] tbody tr", "+6.0")
            .await;

        // Only the start of a long table.
        page.wait_for("$$('[data-testid=fleet-ops] tbody tr').length === 12")
            .await;
        page.click("[data-testid=fleet-ops] button").await;
        page.wait_for("$$('[data-testid=fleet-ops] tbody tr').length === 30")
            .await;
        page.wait_text("[data-testid=fleet-rejected]", "the file is a web page")
            .await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn runs_are_filtered_and_sorted_and_a_run_opens_when_its_file_is_dropped() {
    with_page("fleet-runs", async |page| {
        choose_fleet(page, &summary(600)).await;
        page.wait_text("[data-testid=run-count]", "600 of 600")
            .await;
        page.enter("#run-filter", "llama b03").await;
        page.wait_text("[data-testid=run-count]", "100 of 600")
            .await;
        page.wait_hash("find=llama%20b03").await;
        page.click("[data-testid=fleet-runs] [data-sort=total]")
            .await;
        // The longest first: 106 ms and 598 ns.
        page.wait_text("[data-testid=fleet-runs] tbody tr[id]", "run596.json.gz")
            .await;
        page.click("[data-testid=fleet-runs] tbody tr[id] td").await;
        page.wait_text("[data-testid=run-chosen]", "/traces/run596.json.gz")
            .await;
        page.wait_hash("row=596").await;

        // A row scrolled out of view is not an element, so it must not be the active descendant.
        let table = "$('[data-testid=fleet-runs] table')";
        let named =
            format!("document.getElementById({table}.getAttribute('aria-activedescendant'))");
        page.wait_for(&format!("!!{named}")).await;
        page.js("$('[data-testid=fleet-runs] .scroller').scrollTop = 3000")
            .await;
        page.wait_for(&format!("!{table}.hasAttribute('aria-activedescendant')"))
            .await;
        page.js("$('[data-testid=fleet-runs] .scroller').scrollTop = 0")
            .await;
        page.wait_for(&format!("!!{named}")).await;

        // Its file is a normal trace, and the fleet stays open.
        page.open("run596.json", &kernels(&[10, 20])).await;
        page.wait_text(".file", "run596.json").await;
        page.click("#back-to-fleet").await;
        page.find("[data-testid=fleet]").await;
        page.wait_for("!location.hash.includes('file=')").await;

        // A link to a run.
        page.go("#/fleet?row=3").await;
        page.wait_text("[data-testid=run-chosen]", "/traces/run3.json.gz")
            .await;
        assert_eq!(page.requests_after_load(), []);
    });
}

#[test]
fn a_damaged_summary_says_so() {
    with_page("fleet-damaged", async |page| {
        page.drop_file("fleet.json", "{\"dormer_fleet\":1,\"dormer\":")
            .await;
        page.wait_text("[data-testid=reason]", "the fleet summary cannot be read")
            .await;
        page.drop_file("fleet.json", "{\"dormer_fleet\":99}").await;
        page.wait_text("[data-testid=reason]", "format 99").await;
    });
}
