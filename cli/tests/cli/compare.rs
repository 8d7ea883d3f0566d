//! `dormer compare`.

use super::{Folder, GPUS, STEPS, TRACE, gzip};

#[test]
fn parts_of_two_traces_can_be_compared() {
    let folder = Folder::with("trace.json", STEPS);
    let compare = "compare --reference trace.json trace.json --names old,new";
    let of_steps = folder
        .run(&format!("{compare} --window 20,40,40,70"))
        .done();
    assert!(
        of_steps.contains("new takes 30.0 µs, old 20.0 µs"),
        "{of_steps}"
    );
    let of_both = folder.run(&format!("{compare} --window 40,70")).done();
    assert!(of_both.contains("both traces take 30.0 µs"), "{of_both}");
}

#[test]
fn steps_of_two_traces_can_be_compared() {
    let folder = Folder::with("trace.json", STEPS);
    let compare = "compare --reference trace.json trace.json --names old,new --step 4,5 -o .";
    let said = folder.run(compare).done();
    assert!(said.contains("new takes 30.0 µs"), "{said}");
    assert!(
        said.contains("old: Only Step 4 is analyzed: 40.0 µs"),
        "{said}"
    );
    let fair = folder.read("comparative_analysis_fair.md");
    assert!(
        fair.contains("The comparison covers `Step 4` alone (40.0 µs) of the reference and `Step 5` alone (30.0 µs) of the target."),
        "{fair}"
    );
}

#[test]
fn gpus_of_two_traces_can_be_compared() {
    let folder = Folder::with("trace.json", GPUS);
    let compare = "compare --reference trace.json trace.json --names old,new";
    let said = folder.run(&format!("{compare} --device 0,5 -o .")).done();
    assert!(said.contains("new takes 30.0 µs, old 10.0 µs"), "{said}");
    let fair = folder.read("comparative_analysis_fair.md");
    assert!(
        fair.contains("The comparison covers `GPU 0` alone (10.0 µs) of the reference and `GPU 5` alone (30.0 µs) of the target."),
        "{fair}"
    );
    // An empty entry means all of them.
    let said = folder.run(&format!("{compare} --device ,5")).done();
    assert!(said.contains("new takes 30.0 µs, old 40.0 µs"), "{said}");
}

#[test]
fn two_traces_are_compared_and_written() {
    let slower = TRACE.replace(r#""ts": 40, "dur": 60"#, r#""ts": 40, "dur": 90"#);
    let folder = Folder::with("before.json", TRACE);
    folder.add("after.json.gz", gzip(&slower));
    let compare = "compare --reference before.json after.json.gz";
    let said = folder.run(&format!("{compare} -o out")).done();
    let headline = "after takes 90.0 µs, before 60.0 µs: +30.0 µs (+50.0 %).";
    assert_eq!(said.lines().next(), Some(headline));
    let sheet = folder.read("out/comparison_csvs/ops_summary.csv");
    let heads = "name,total_direct_kernel_time_ms__after_diff,";
    assert!(sheet.starts_with(heads), "{sheet}");
    for name in ["comparison", "reference_perf_report", "target_perf_report"] {
        assert!(folder.has(&format!("out/{name}.xlsx")), "{name}");
    }
    let from_stdin = "compare --reference before.json - --names before,after";
    let from_stdin = folder.run_with(from_stdin, slower.as_bytes());
    assert_eq!(from_stdin, folder.run(compare));
}

#[test]
fn traces_of_the_same_name_are_distinguished() {
    let folder = Folder::with("trace.json", TRACE);
    let said = folder.run("compare --reference trace.json trace.json");
    assert_eq!(said.code, 0);
    let headline = "No difference: both traces take 60.0 µs.";
    assert_eq!(said.out.lines().next(), Some(headline));
}
