//! Help, and wrong usage.

use super::{Folder, MINE, TRACE};

#[test]
fn help_is_short_on_one_screen_and_complete_on_request() {
    let folder = Folder::with("trace.json", TRACE);
    let report = |help: &str| folder.run(&format!("report {help}")).done();
    let (short, long) = (report("-h"), report("--help"));
    for text in [&short, &long] {
        let too_wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_wide, None);
        for heading in ["Options", "GPU", "Part of the trace", "Checks", "Output"] {
            assert!(
                text.contains(&format!("\n{heading}:\n")),
                "{heading}: {text}"
            );
        }
        assert!(text.starts_with("Analyze a trace: "), "{text}");
        assert!(
            text.contains("\nUsage: dormer report [OPTIONS] <TRACE>\n"),
            "{text}"
        );
    }
    assert!(short.lines().count() < 80, "{short}");
    assert!(!short.contains("tracelens-mixed") && long.contains("tracelens-mixed"));
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::with("trace.json", TRACE);
    folder.add("wrong.json", MINE.replace("1000", "0"));
    let names = |names: &str| format!("compare --reference trace.json trace.json --names {names}");
    let (equal, one) = (names("a,a"), names("a"));
    #[rustfmt::skip]
    let cases: &[(&str, &str)] = &[
        ("report", "TRACE"),
        ("report trace.json trace.json", "dormer report takes one trace; dormer compare compares two"),
        ("report trace.json --window -5,1", "expected two times in microseconds"),
        ("report trace.json --micro-idle -1", "not a number of microseconds above 0"),
        ("repport trace.json", "report"),
        ("report trace.json --format pdf", "pdf"),
        ("report trace.json --format csv", "--format csv needs a folder, given with --output"),
        ("report trace.json --format md,json", "standard output takes one format"),
        ("report trace.json -o trace.json", "dormer: trace.json is a file; -o takes a folder\n"),
        ("report trace.json -o trace.json/deep", "dormer: trace.json is a file; -o takes a folder\n"),
        ("report trace.json --fail-on severe", "critical, high, medium, low"),
        ("compare --reference trace.json trace.json --window 1,2,3", "expected two times in microseconds"),
        ("completions tcsh", "bash, elvish, fish, powershell, zsh"),
        ("report trace.json --gpu MI300", "close names: MI300A, MI300X"),
        ("report trace.json --gpu abacus", "`dormer gpus` lists them"),
        ("report trace.json --gpu wrong.json", "line 1: mem_bw_gbps must be a number from"),
        ("report trace.json --gpu missing.json", "cannot read it: "),
        ("report trace.json --gpu trace.json", "name is missing"),
        ("report trace.json --micro-idle 0", "not a number of microseconds above 0"),
        ("compare trace.json", "--reference"),
        (&equal, "the two names are equal"),
        (&one, "expected two names"),
        ("compare --reference - -", "only one of the two traces can come from standard input"),
        ("tree trace.json", "<--uid <N>|--find <NAME>>"),
        ("tree trace.json --uid 1 --find mm", "cannot be used with"),
        ("tree trace.json --find conv", "trace.json: no call or kernel has “conv” in its name"),
        ("tree trace.json --uid 5", "there is no complete event at position 5"),
        ("tree trace.json --uid 99", "there is no complete event at position 99"),
    ];
    for (arguments, sentence) in cases {
        let said = folder.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments}");
        assert!(said.err.contains(sentence), "{arguments}: {said:?}");
    }
}
