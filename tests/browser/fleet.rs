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

/// When the first run was recorded.
const FIRST_NS: i64 = 1_790_000_000_000_000_000;

const GPU_HOUR_NS: i64 = 3_600_000 * MS;

/// The names that the parts of a summary share.
struct Names {
    models: [Text; 2],
    builds: [Text; 3],
    gpu: Text,
    gemm: Text,
    finding: Text,
}

impl Names {
    fn new(texts: &mut Texts) -> Names {
        let mut text = |words: &str| texts.id(words);
        Names {
            models: ["llama", "resnet"].map(&mut text),
            builds: ["b01", "b02", "b03"].map(&mut text),
            gpu: text("AMD Instinct MI300X"),
            gemm: text("GEMM"),
            finding: text("Kernels are launched too late"),
        }
    }
}

/// A summary with this many runs of two models over three builds, the last of which is slower.
pub(super) fn summary(n_runs: u32) -> Summary {
    let mut texts = Texts::default();
    let names = Names::new(&mut texts);
    let runs: Vec<Run> = (0..n_runs).map(|at| run(at, &names, &mut texts)).collect();
    let builds = names.builds.into_iter();
    Summary {
        sentence: "4.1 % of 9 830 GPU hours are idle; build b03 made GEMM 6.0 % slower".to_owned(),
        by: "build".to_owned(),
        dormer: "0.1.0".to_owned(),
        totals: Totals {
            n_files: n_runs + 2,
            n_runs,
            n_partial: 0,
            n_models: 2,
            gpu_ns: 9_830 * GPU_HOUR_NS,
            idle_ns: 403 * GPU_HOUR_NS,
            first_ns: Some(FIRST_NS),
            last_ns: Some(FIRST_NS + 100_000_000_000_000),
        },
        builds: builds
            .map(|build| Build {
                build,
                first_ns: Some(FIRST_NS),
                n_runs: n_runs / 3,
            })
            .collect(),
        medians: medians(n_runs, &names),
        regressions: vec![slower_gemm(&runs, &names)],
        carriers: vec![slower_mm(&mut texts)],
        history: history(&names),
        lost: vec![Lost {
            cause: Cause::Idle,
            lost_ns: 403 * GPU_HOUR_NS,
            share_percent: 4.1,
            model: Some(names.models[0]),
            model_lost_ns: 300 * GPU_HOUR_NS,
            n_runs,
        }],
        ops: ops(n_runs, &names, &mut texts),
        rejected: vec![Rejected {
            status: Status::Rejected,
            reason_kind: Some(texts.id("not_json")),
            reason: Some(texts.id("the file is a web page")),
            count: 2,
            uri: Some(texts.id("/traces/login.json")),
        }],
        runs,
        texts: texts.into_list(),
        ..Summary::default()
    }
}

/// How long a run of a build takes, by the number of the build.
fn total_ns(build: u32) -> i64 {
    (100 + 6 * i64::from(build / 2)) * MS
}

fn run(at: u32, names: &Names, texts: &mut Texts) -> Run {
    let (build, model) = (at % 3, at % 2);
    Run {
        id: texts.id(&format!("{at:016x}")),
        model: Some(names.models[model as usize]),
        gpu: Some(names.gpu),
        build: Some(names.builds[build as usize]),
        host: None,
        job: None,
        uri: Some(texts.id(&format!("/traces/run{at}.json.gz"))),
        start_ns: Some(FIRST_NS + i64::from(at) * 60_000 * MS),
        status: Status::Ok,
        total_ns: Some(total_ns(build) + i64::from(at)),
        busy_ns: Some(90 * MS),
        compute_ns: Some(80 * MS),
        exposed_comm_ns: at.is_multiple_of(5).then_some(10 * MS),
        exposed_copy_ns: Some(0),
        idle_ns: Some(10 * MS),
        finding: Some(names.finding),
        worth_ns: Some(MS),
    }
}

fn medians(n_runs: u32, names: &Names) -> Vec<Median> {
    let of_model = |model| {
        (0..).zip(names.builds).map(move |(at, build)| Median {
            model: Some(model),
            gpu: Some(names.gpu),
            build: Some(build),
            n_runs: n_runs / 6,
            total_ns: Some(total_ns(at)),
            busy_ns: Some(90 * MS),
            compute_ns: Some(80 * MS),
            exposed_comm_ns: None,
            exposed_copy_ns: None,
            idle_ns: Some(10 * MS),
        })
    };
    names.models.into_iter().flat_map(of_model).collect()
}

/// GEMM is 6 % slower in the last build.
fn slower_gemm(runs: &[Run], names: &Names) -> Change {
    Change {
        model: Some(names.models[0]),
        gpu: Some(names.gpu),
        world_size: Some(1),
        metric: Metric::Category,
        name: Some(names.gemm),
        dims: None,
        build: names.builds[2],
        level: Level::Alarm,
        confirmed_by: None,
        ratio: 1.06,
        low: Some(1.055),
        high: Some(1.066),
        p: Some(0.001),
        n_new: 5,
        n_base: 10,
        n_base_builds: 2,
        base_first: names.builds[0],
        base_last: names.builds[1],
        new_ns: 53 * MS,
        base_ns: 50 * MS,
        new_run: runs[2].id,
        base_run: runs[0].id,
    }
}

/// The operator that most of it comes from.
fn slower_mm(texts: &mut Texts) -> Carrier {
    Carrier {
        regression: 0,
        part: Part::Op,
        name: texts.id("aten::mm"),
        dims: Some(texts.id("[[4096, 4096], [4096, 4096]]")),
        base_ns: 30 * MS,
        new_ns: 33 * MS,
        share_percent: 98.0,
    }
}

fn history(names: &Names) -> Vec<Point> {
    let points = (0..).zip(names.builds).map(|(at, build)| Point {
        regression: 0,
        build,
        n_runs: 5,
        median_ns: (50 + at / 2 * 3) * MS,
    });
    points.collect()
}

fn ops(n_runs: u32, names: &Names, texts: &mut Texts) -> Vec<TopOp> {
    let op = |at: u32| TopOp {
        name: texts.id(&format!("aten::op{at}")),
        dims: None,
        category: Some(names.gemm),
        n_runs,
        calls: 1000,
        kernel_ns: GPU_HOUR_NS,
        share_percent: 12.5,
    };
    (0..30).map(op).collect()
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
