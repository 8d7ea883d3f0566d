use dormer_core::testing::Timetable;
use dormer_core::{Profile, ReportOptions};

use super::*;
use dormer_core::report::fact_table::FactTable;

fn system_of(profile: &Profile) -> SystemFacts {
    system(&Report::new(profile, &ReportOptions::default()))
}

fn section<'a>(facts: &'a SystemFacts, key: &str) -> &'a SystemSection {
    let mut sections = facts.sections.iter();
    sections.find(|section| section.key == key).unwrap()
}

/// Two kernels of 10 µs, 30 µs apart. The CPU waits for the first in a call of 16 µs, and launches the second 27 µs
/// after that.
fn waiting() -> Profile {
    Timetable::new()
        .frame("train.py(12): step", 0..100)
        .op("aten::mm", 1..5)
        .launched("gemm_one", 2..3, 10..20)
        .runtime("cudaStreamSynchronize", 9, 6..22)
        .op("aten::mm", 48..54)
        .launched("gemm_two", 49..50, 50..60)
        .profile()
}

#[test]
fn the_first_sentence_is_the_answer() {
    let facts = system_of(&waiting());
    let expected =
        "The GPU is idle 30.0 µs of 50.0 µs (60.0 %), mostly after the CPU waited for it.";
    assert!(facts.headline.starts_with(expected), "{}", facts.headline);
    assert_eq!(facts.lead, Vec::<String>::new());
}

#[test]
fn a_gap_says_what_precedes_and_follows_it_and_what_the_cpu_did() {
    let profile = waiting();
    let facts = system_of(&profile);
    let idle = section(&facts, "idle");
    assert_eq!(idle.missing, None);
    let [gap] = idle.gaps.as_slice() else {
        panic!("{:?}", idle.gaps);
    };
    assert_eq!((&*gap.length, &*gap.start), ("30.0 µs", "10.0 µs"));
    assert_eq!(gap.before.0, "gemm_one");
    assert_eq!(gap.after.0, "gemm_two");
    let host = |label: &str| {
        let known = gap.cpu.iter().find(|(known, _)| known == label);
        known.map(|(_, value)| value.as_str())
    };
    // From 20 µs, when the first kernel ends, to 49 µs.
    let launch = "cudaLaunchKernel, 29.0 µs into the gap";
    assert_eq!(host("Launched by"), Some(launch));
    assert_eq!(host("In"), Some("aten::mm \u{b7} train.py(12): step"));
    // The link into the tree is the kernel that ends the gap.
    let uid = gap.event.unwrap();
    let event = profile.trace.events.by_uid(uid).unwrap();
    let name = profile.trace.events.name(event);
    assert_eq!(profile.trace.strings.get(name), "gemm_two");
    // All idle time is in one bar of lengths.
    let [causes, lengths] = idle.charts.as_slice() else {
        panic!("{:?}", idle.charts);
    };
    // The wait explains as much of it as it took.
    assert_eq!(causes.rows[0].cells[..2], ["16.0 µs", "53.3 %"]);
    assert_eq!(causes.rows[1].cells[..2], ["14.0 µs", "46.7 %"]);
    let [length] = lengths.rows.as_slice() else {
        panic!("{:?}", lengths.rows);
    };
    assert_eq!(length.label, "10 to 100 µs");
}

#[test]
fn what_was_not_recorded_is_said() {
    let facts = system_of(&waiting());
    let missing = |key: &str| section(&facts, key).missing.as_deref();
    let no_communication = "No communication between GPUs was recorded.";
    assert_eq!(missing("copies"), Some("No memory copies were recorded."));
    assert_eq!(missing("communication"), Some(no_communication));
    let host = Timetable::new().op("aten::mm", 0..10).profile();
    let facts = system_of(&host);
    let nothing = "No GPU activity was recorded.";
    assert_eq!(facts.headline, nothing);
    for section in &facts.sections {
        assert_eq!(section.missing.as_deref(), Some(nothing), "{}", section.key);
    }
}

/// An exposed copy of 4 000 bytes in 50 µs, and a collective that half overlaps a kernel.
#[test]
fn copies_and_collectives_have_their_figures() {
    let profile = Timetable::new()
        .op("aten::item", 0..10)
        .launch(1, 1..2)
        .op("aten::mm", 20..30)
        .launch(2, 21..22)
        .op("record_param_comms", 30..40)
        .args(r#""Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 8"#)
        .launch(3, 31..32)
        .copy(1, "Memcpy DtoH (Device -> Pageable)", 100..150)
        .args(r#""bytes": 4000"#)
        .kernel(2, "gemm", 150..250)
        .stream(9)
        .kernel(3, "ncclDevKernel_AllReduce", 200..300)
        .profile();
    let facts = system_of(&profile);
    // The GPU is never idle, so that is no headline.
    let communication = "1 collective takes 100 µs, 50.0 µs of it exposed.";
    let copies = "1 memory copy takes 50.0 µs, all of it exposed.";
    let never = "The GPU is never idle in 200 µs.";
    assert_eq!(facts.headline, communication);
    assert_eq!(facts.lead, [copies, never]);
    let cells = |table: &FactTable, label: &str| -> String {
        let mut columns = table.columns.iter();
        let at = columns.position(|(known, _)| known == label).unwrap();
        table.rows[0].cells[at].clone()
    };
    let communication = section(&facts, "communication");
    let overlap = communication.overlap.as_ref().unwrap();
    assert_eq!(overlap.hidden, "50.0 %, 50.0 µs");
    let by_type = &communication.tables[0];
    assert_eq!(cells(by_type, "Type"), "all-reduce");
    // 4 000 bytes in 100 µs are 0.04 GB/s, and 1.75 of that on the links.
    assert_eq!(cells(by_type, "Algorithm bandwidth"), "0.040 GB/s");
    assert_eq!(cells(by_type, "Bus bandwidth"), "0.070 GB/s");

    let copies = section(&facts, "copies");
    let by_direction = &copies.tables[0];
    assert_eq!(cells(by_direction, "Direction"), "GPU to host");
    assert_eq!(cells(by_direction, "Size"), "4.00 kB");
    assert_eq!(cells(by_direction, "Bandwidth"), "0.080 GB/s");
    let copied = &copies.tables[1];
    assert_eq!(cells(copied, "Launched by"), "aten::item");
    assert_eq!(cells(copied, "Host memory"), "pageable");
    assert!(copied.rows[0].event.is_some());
}

#[test]
fn a_note_is_in_the_section_that_it_is_about() {
    let facts = system_of(&waiting());
    let frames = |key: &str| {
        let notes = section(&facts, key).notes.iter();
        notes
            .filter(|note| note.starts_with("Python frames"))
            .count()
    };
    assert_eq!((frames("idle"), frames("cpu")), (0, 1));
}
