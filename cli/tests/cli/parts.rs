//! Parts of a trace: steps, time ranges, single GPUs.

use super::{Folder, GPUS, STEPS};

#[test]
fn a_step_or_a_part_of_the_time_can_be_analyzed_alone() {
    let folder = Folder::with("trace.json", STEPS);
    let of_step = folder.run("report trace.json --step 5").done();
    let first =
        "Only Step 5 is analyzed: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(of_step.starts_with(first), "{of_step}");
    assert!(of_step.contains("aten::add"), "{of_step}");
    assert!(!of_step.contains("aten::mm"), "{of_step}");
    let by_name = folder.run("report trace.json --step ProfilerStep#5");
    assert_eq!(by_name.out, of_step);
    folder.run("report trace.json --step 5 -o out").done();
    let fair = folder.read("out/standalone_analysis_fair.md");
    assert!(fair.contains(first), "{fair}");

    let by_time = folder.run("report trace.json --window 40,70.5").done();
    let first = "Only a part of the trace is analyzed: 30.5 µs, from 40.0 µs to 70.5 µs after the trace begins.\n";
    assert!(by_time.starts_with(first));
    assert_eq!(folder.run("report trace.json --window 70,40").code, 2);

    let unknown = folder.run("report trace.json --step 9");
    let sentence = "dormer: trace.json: no step “9”; there are: ProfilerStep#4, ProfilerStep#5\n";
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, sentence);
}

#[test]
fn one_of_several_gpus_can_be_analyzed_alone() {
    let folder = Folder::with("trace.json", GPUS);
    let alone = folder.run("report trace.json --device 5 -o out").done();
    let first =
        "Only GPU 5 is analyzed: 30.0 µs, from 40.0 µs to 70.0 µs after the trace begins.\n";
    assert!(alone.starts_with(first), "{alone}");
    assert!(alone.contains("memory copying takes 100 %"), "{alone}");
    assert!(!alone.contains("aten::mm"), "{alone}");
    let sheet = folder.read("out/perf_report_csvs/gpu_timeline.csv");
    assert!(
        sheet.contains("\nexposed_memcpy_time,0.03,100.0\n"),
        "{sheet}"
    );
    let window = folder.read("out/perf_report_csvs/window.csv");
    assert!(window.contains("\nGPU 5,0.04,0.07,"), "{window}");
    assert!(!folder.has("out/perf_report_csvs/gpu_timeline_by_gpu.csv"));

    // One sheet of the whole trace contains all of them.
    folder.run("report trace.json -o all").done();
    let sheet = folder.read("all/perf_report_csvs/gpu_timeline_by_gpu.csv");
    for row in ["0,total_time,0.01,100.0", "5,total_time,0.03,100.0"] {
        assert!(sheet.contains(&format!("\n{row}\n")), "{sheet}");
    }

    let unknown = folder.run("report trace.json --device 1");
    let sentence = "dormer: trace.json: no activity on GPU “1”; GPU numbers with activity: 0, 5\n";
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert_eq!(unknown.err, sentence);
    for more in ["--step 1", "--window 0,1", "--whole"] {
        let both = folder.run(&format!("report trace.json --device 5 {more}"));
        assert_eq!((both.code, both.out.as_str()), (2, ""), "{more}");
        assert!(both.err.contains("cannot be used with"), "{both:?}");
    }
}
