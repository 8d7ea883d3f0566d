//! The benchmark's figures: their format, the tables they fill, and what counts as slower.

#[path = "bench/figure.rs"]
mod figure;
#[path = "bench/machine.rs"]
#[allow(dead_code, reason = "only what is no I/O is tested")]
mod machine;
#[path = "bench/noise.rs"]
mod noise;
#[path = "bench/tables.rs"]
mod tables;

use figure::{G, JSON, Record, Role, Table, Unit, median, quantile};
use noise::{changes, is_above};

/// Two traces; the numbers are seconds of `gzip` and of opening for the first time.
fn record(gzip: &[f64], first: &[f64]) -> Record {
    let mut record = Record {
        machine: "2 cores of A".to_owned(),
        browser: "Chromium 156".to_owned(),
        build: "commit 1f3a (page 0a)".to_owned(),
        n_runs: 5,
        ..Record::default()
    };
    let opens = (Table::Opens, "small");
    let in_g = (Unit::Time, Role::CostInG);
    record.add(opens, JSON, (Unit::Megabytes, Role::Fact), vec![62.4e6]);
    record.add(opens, G, (Unit::Time, Role::Fact), gzip.to_vec());
    record.add(opens, "first open", in_g, first.to_vec());
    let memory = (Table::Memory, "small");
    let in_json = (Unit::Megabytes, Role::CostInJson);
    record.add(memory, "worker", in_json, vec![31.2e6]);
    record
}

/// A record with a figure in every table.
fn complete() -> Record {
    let mut record = record(&[0.2], &[0.4]);
    for table in [
        Table::Choices,
        Table::Stages,
        Table::Ranks,
        Table::Frames,
        Table::Keys,
        Table::Size,
    ] {
        record.add((table, "small"), "a", (Unit::Count, Role::Cost), vec![0.0]);
    }
    record
}

#[test]
fn a_figure_is_its_median_with_the_spread() {
    for (unit, values, expected) in [
        (Unit::Time, vec![0.406, 0.399, 0.423], "406 ms (399–423)"),
        (Unit::Time, vec![0.0012], "1.20 ms"),
        (Unit::Time, vec![1.0, 2.0], "1.50 s (1.00–2.00)"),
        (Unit::Time, vec![12.34, 12.34], "12.3 s"),
        (Unit::Megabytes, vec![62_400_000.0], "62.4 MB"),
        (Unit::Kilobytes, vec![1_718_400.0], "1,718 KB"),
        (Unit::Count, vec![200_514.0], "200,514"),
    ] {
        let mut record = Record::default();
        record.add((Table::Opens, "small"), "a", (unit, Role::Cost), values);
        assert_eq!(record.figures[0].text(), expected);
    }
}

#[test]
fn medians_and_shares() {
    assert!(median(&[]).is_nan());
    assert_eq!(median(&[3.0, 1.0, 2.0]).to_string(), "2");
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).to_string(), "2.5");
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(quantile(&hundred, 0.95).to_string(), "95");
    assert_eq!(quantile(&[7.0], 0.95).to_string(), "7");
}

#[test]
fn tables_show_traces_down_and_ratios_beside() {
    let text = tables::all(&record(&[0.2, 0.19, 0.21], &[0.4, 0.39, 0.5]));
    let expected = "\
2 cores of A; Chromium 156; commit 1f3a (page 0a). Medians of 5 runs, with the least and the greatest value.

| trace | JSON | G | first open |
|---|--:|--:|--:|
| small | 62.4 MB | 200 ms (190–210) | 400 ms (390–500) = 2.00 G |

| trace | worker |
|---|--:|
| small | 31.2 MB = 0.50 × JSON |
";
    assert_eq!(text, expected);
}

#[test]
fn what_only_one_trace_has_is_a_dash_for_the_others() {
    let mut record = Record::default();
    let time = (Unit::Time, Role::Cost);
    for (trace, name) in [("one", "wheel"), ("two", "wheel"), ("two", "keys")] {
        record.add((Table::Frames, trace), name, time, vec![0.001]);
    }
    let text = tables::all(&record);
    let expected = "
|  | one | two |
|---|--:|--:|
| wheel | 1.00 ms | 1.00 ms |
| keys | – | 1.00 ms |
";
    assert!(text.ends_with(expected), "{text}");
}

/// A document with marks for all tables, and their content.
fn document(inside: &str) -> String {
    let names = [
        "build", "opens", "memory", "choices", "stages", "ranks", "frames", "keys", "size",
    ];
    let places = names.map(|name| {
        format!("## {name}\n\n<!-- bench: {name} -->\n{inside}<!-- /bench -->\n\ntext\n")
    });
    places.concat()
}

#[test]
fn the_tables_of_a_document_are_replaced_and_its_text_is_not() {
    let record = complete();
    let once = tables::written(&document(""), &record).unwrap();
    assert!(once.contains(
        "<!-- bench: size -->\n|  | small |\n|---|--:|\n| a | 0 |\n<!-- /bench -->\n\ntext\n"
    ));
    assert_eq!(
        tables::written(&document("| old |\n"), &record),
        Ok(once.clone())
    );
    assert_eq!(tables::written(&once, &record), Ok(once));
}

#[test]
fn a_document_that_lacks_a_place_is_refused_before_anything_is_measured() {
    let whole = document("");
    for (from, to, why) in [
        (
            "<!-- bench: keys -->\n<!-- /bench -->\n",
            "",
            "the document has no place for the table `keys`",
        ),
        (
            "bench: keys",
            "bench: key",
            "there is no table `key`, or it was there already",
        ),
        (
            "bench: keys",
            "bench: opens",
            "there is no table `opens`, or it was there already",
        ),
        (
            "bench: size -->\n<!-- /bench -->",
            "bench: size -->",
            "the table `size` has no end: <!-- /bench -->",
        ),
    ] {
        let document = whole.replace(from, to);
        assert_eq!(tables::places(&document), Err(why.to_owned()));
    }
    assert_eq!(tables::places(&whole), Ok(()));
    let some = record(&[0.2], &[0.4]);
    let why = "nothing was measured for the table `choices`".to_owned();
    assert_eq!(tables::written(&whole, &some), Err(why));
}

#[test]
fn the_document_of_the_project_has_a_place_for_every_table() {
    let document = std::fs::read_to_string("../docs/performance.md").unwrap();
    assert_eq!(tables::places(&document), Ok(()));
}

#[test]
fn slower_is_what_lies_above_all_that_was_there() {
    for (then, now, expected) in [
        // Disjoint, by a fifth.
        (&[1.00, 1.02, 1.04], &[1.20, 1.22, 1.25], true),
        // One new value is among the old ones.
        (&[1.00, 1.02, 1.04], &[1.03, 1.22, 1.25], false),
        // One old value is an outlier.
        (&[1.00, 1.02, 1.30], &[1.20, 1.22, 1.25], false),
        // Disjoint, but by a negligible amount.
        (&[1.000, 1.001, 1.002], &[1.005, 1.006, 1.007], false),
        (&[1.20, 1.22, 1.25], &[1.00, 1.02, 1.04], false),
        // None then, one now, such as a request.
        (&[0.0, 0.0, 0.0], &[1.0, 1.0, 1.0], true),
    ] {
        assert_eq!(is_above(then, now), expected, "{then:?} {now:?}");
    }
}

#[test]
fn a_run_is_compared_as_it_is_and_in_g() {
    let then = record(&[0.20, 0.20, 0.20], &[0.40, 0.41, 0.42]);
    let slower = "small, opens, first open: 410 ms (400–420) then, 510 ms (500–520) now: +24 %";
    let faster = "small, opens, first open: 410 ms (400–420) then, 310 ms (300–320) now: -24 %";
    for (gzip, first, worse, better) in [
        ([0.20, 0.20, 0.20], [0.50, 0.51, 0.52], vec![slower], vec![]),
        ([0.20, 0.20, 0.20], [0.30, 0.31, 0.32], vec![], vec![faster]),
        // The machine is slower by the same factor.
        ([0.25, 0.25, 0.25], [0.50, 0.51, 0.52], vec![], vec![]),
        // Only `gzip` was faster.
        ([0.10, 0.10, 0.10], [0.40, 0.41, 0.42], vec![], vec![]),
    ] {
        let found = changes(&then, &record(&gzip, &first));
        assert_eq!((found.worse, found.better), (own(&worse), own(&better)));
        assert_eq!(found.notes, own(&[]));
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    let then = record(&[0.2], &[0.4]);
    let mut now = record(&[0.2], &[0.8]);
    now.figures[0].values = vec![70e6];
    now.n_runs = 3;
    now.machine = "64 cores of B".to_owned();
    now.busy = 0.3;
    let found = changes(&then, &now);
    assert_eq!(found.worse, own(&[]));
    assert_eq!(
        found.notes,
        own(&[
            "another machine or browser: 2 cores of A; Chromium 156 then, 64 cores of B; Chromium 156 now",
            "fewer than 4 runs: expect a change by chance",
            "other work took 30 % of the machine now",
            "small: another trace of that name, not compared",
        ])
    );
}

#[test]
fn a_machine_that_does_something_else_is_seen() {
    //           user nice system idle iowait irq softirq steal guest guest_nice
    let before = "cpu  100 0 100 1000 0 0 0 0 50 0\ncpu0 …";
    for (after, expected) in [
        ("cpu  100 0 100 1200 0 0 0 0 50 0", "Some(0.0)"),
        ("cpu  250 0 100 1000 50 0 0 0 90 0", "Some(0.75)"),
        ("cpu  300 0 100 1000 0 0 0 0 50 0", "Some(1.0)"),
        (before, "None"),
        ("", "None"),
    ] {
        let busy = machine::busy_between(before, after);
        assert_eq!(format!("{busy:?}"), expected, "{after}");
    }
}

#[test]
fn what_is_saved_is_read_as_the_same() {
    let record = complete();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
}

fn own(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
