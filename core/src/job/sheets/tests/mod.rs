//! Sheets of small hand-built jobs.

mod clocks;
mod ranks;

use crate::job::Analysis;
use ranks::{Of, Ranks, Text};

const WORLD: Of = Of {
    name: "0",
    description: "default_pg",
    ranks: &[0, 1],
};

const EXPERTS: Of = Of {
    name: "9",
    description: "mesh_ep",
    ranks: &[1, 3],
};

const ALL: Of = Of {
    name: "0",
    description: "default_pg",
    ranks: &[0, 1, 2, 3],
};

/// 1024² elements of two bytes.
const MIB: u64 = 1 << 20;

/// ```text
/// µs       100     140       200   210
/// rank 0   [===================)
/// rank 1           [===========────)
/// ```
fn two() -> Ranks {
    Ranks::new(2)
        .ran(0, WORLD, "allreduce", [MIB, MIB], 100..200)
        .ran(1, WORLD, "allreduce", [MIB, MIB], 140..210)
}

#[test]
fn every_collective_of_every_rank_is_a_row() {
    let sheet = two().sheet("nccl_long");
    let labels = [
        "collective_id",
        "rank",
        "Process Group Ranks",
        "In msg size (MB)",
        "ts",
        "dur",
        "node_id",
        "node_span",
    ];
    assert_eq!(
        sheet.columns(&labels),
        [
            "0_0 | 0 | [0, 1] | 2 | 100 | 100 | 0 | intra_node",
            "0_0 | 1 | [0, 1] | 2 | 140 | 70 | 0 | intra_node",
        ]
    );
}

#[test]
fn who_came_first_waited() {
    let sheet = two().sheet("nccl_implicit_sync");
    let labels = [
        "comm_latency",
        "skew in start time",
        "earliest arrival rank",
        "avg_wait_time",
        "skew in end time",
        "rank_0_wait_time",
        "rank_1_wait_time",
    ];
    assert_eq!(sheet.columns(&labels), ["70 | 40 | 0 | 20 | 10 | 40 | 0"]);
    // 2 MiB in 70 µs; an all-reduce of two ranks carries each byte once.
    let bandwidth = (2.0 / 1024.0 / 70e-6).to_string();
    assert_eq!(
        sheet.columns(&["algo bw (GB/s)", "bus bw (GB/s)"]),
        [format!("{bandwidth} | {bandwidth}")]
    );
    assert_eq!(
        two().sheet("straggler_summary").columns(&[
            "rank",
            "total_wait_time_us",
            "times_arrived_last",
            "times_arrived_first",
            "pct_arrived_last",
            "total_nccl_dur_us",
        ]),
        ["1 | 0 | 1 | 0 | 100 | 70", "0 | 40 | 0 | 1 | 0 | 100"]
    );
}

#[test]
fn columns_of_ranks_stand_in_the_order_in_which_rows_need_them() {
    let pair = Of {
        name: "1",
        description: "mesh_tp",
        ranks: &[1, 2],
    };
    let mut ranks = Ranks::new(4);
    for rank in [1, 2] {
        ranks = ranks.ran(rank, pair, "allreduce", [8, 8], 10..20);
    }
    for rank in 0..4 {
        ranks = ranks.ran(rank, ALL, "allreduce", [8, 8], 30..40);
    }
    let sheet = ranks.sheet("nccl_implicit_sync");
    // Collectives of rank 0 come first.
    assert_eq!(sheet.columns(&["collective_id"]), ["0_0", "1_0"]);
    let of_ranks = sheet.0.columns.iter().map(|column| column.label.as_str());
    let of_ranks: Vec<&str> = of_ranks
        .filter(|label| label.starts_with("rank_"))
        .collect();
    assert_eq!(
        of_ranks[..4],
        ["rank_0_ts", "rank_0_dur", "rank_1_ts", "rank_1_dur"]
    );
    assert_eq!(of_ranks[8..10], ["rank_0_wait_time", "rank_1_wait_time"]);
    assert_eq!(
        sheet.columns(&["rank_0_ts", "rank_1_ts", "node_span"]),
        ["30 | 30 | inter_node", "– | 10 | inter_node"]
    );
}

/// The recording of rank 1 starts one collective later than that of rank 0; matched by order, its first would pair with
/// rank 0's first.
#[test]
fn a_rank_that_lacks_a_collective_shifts_no_others() {
    let ranks = Ranks::new(2)
        .ran(0, WORLD, "allreduce", [8, 8], 100..200)
        .ran(0, WORLD, "_allgather_base", [8, 16], 1000..1100)
        .ran(0, WORLD, "allreduce", [8, 8], 2000..2100)
        .ran(1, WORLD, "_allgather_base", [8, 16], 1010..1100)
        .ran(1, WORLD, "allreduce", [8, 8], 2020..2100);
    let long = ranks.clone().sheet("nccl_long");
    assert_eq!(
        long.columns(&["rank", "collective_id", "index_in_group"]),
        [
            "0 | 0_0 | 0",
            "0 | 0_1 | 1",
            "0 | 0_2 | 2",
            "1 | 0_1 | 1",
            "1 | 0_2 | 2"
        ]
    );
    let sync = ranks.clone().sheet("nccl_implicit_sync");
    assert_eq!(
        sync.columns(&["collective_id", "skew in start time"]),
        ["0_0 | 0", "0_1 | 10", "0_2 | 20"]
    );
    let quality = ranks.sheet("job_quality");
    assert!(
        quality
            .columns(&["kind", "group", "count"])
            .contains(&"incomplete | 0 | 1".to_owned())
    );
}

#[test]
fn a_missing_rank_renames_no_others() {
    let mut ranks = Ranks::new(4);
    for rank in 0..4 {
        ranks = ranks.ran(rank, ALL, "allreduce", [8, 8], 100 + rank as i64..200);
    }
    let ranks = ranks.without(1);
    let long = ranks.clone().sheet("nccl_long");
    assert_eq!(
        long.columns(&["rank", "node_id"]),
        ["0 | 0", "2 | 1", "3 | 1"]
    );
    let sync = ranks.clone().sheet("nccl_implicit_sync");
    assert_eq!(
        sync.columns(&["Group size", "rank_2_wait_time", "rank_3_wait_time"]),
        ["4 | 1 | 0"]
    );
    let quality = ranks.clone().sheet("job_quality");
    let quality = quality.columns(&["kind", "rank"]);
    assert!(
        quality.contains(&"missing rank | 1".to_owned()),
        "{quality:?}"
    );
    let collectives = ranks.sheet("collectives");
    assert_eq!(collectives.columns(&["ranks", "ranks read"]), ["4 | 3"]);
}

#[test]
fn exchanges_of_uneven_sizes() {
    // Ranks 1 and 3 keep a part, and send the rest to each other.
    let ranks = Ranks::new(4)
        .ran(1, EXPERTS, "all_to_allv", [3 * MIB, MIB], 100..200)
        .splits(1, ["[1048576, 2097152]", "[1048576, 0]"])
        .ran(3, EXPERTS, "all_to_allv", [MIB, 3 * MIB], 120..210)
        .splits(3, ["[0, 1048576]", "[2097152, 1048576]"]);
    let sheet = ranks.clone().sheet("nccl_all2allv");
    assert_eq!(
        sheet.columns(&[
            "total data communicated (MB)",
            "wall_time (us)",
            "size_imbalance",
            "rank_3_skew in start time",
            "rank_1_skew in end time",
            "rank_3_In split size",
        ]),
        ["8 | 110 | 1.5 | 20 | 10 | [0, 1048576]"]
    );
    // Receivers are ranks of the job, not positions in the group.
    assert_eq!(
        ranks.clone().sheet("nccl_all2allv_heatmap").columns(&[
            "src_rank",
            "dst_rank",
            "total_sent_MB",
            "count"
        ]),
        [
            "1 | 1 | 2 | 1",
            "1 | 3 | 4 | 1",
            "3 | 1 | 0 | 1",
            "3 | 3 | 2 | 1"
        ]
    );
    // Rank 1 sends 4 MiB to rank 3 in 80 µs.
    let bus = (4 * MIB) as f64 / 80e3;
    assert_eq!(
        ranks.sheet("collectives").columns(&[
            "bytes",
            "imbalance",
            "transfer µs",
            "bus bandwidth GB/s"
        ]),
        [format!("{} | 1.5 | 80 | {bus}", 8 * MIB)]
    );
}

#[test]
fn sizes_follow_the_type_of_the_elements() {
    let cases = [
        ("Float8_e4m3fn", "1"),
        ("Float8_e5m2fnuz", "1"),
        ("Char", "1"),
        ("UInt16", "2"),
        ("UInt64", "8"),
        ("ComplexFloat", "8"),
        ("ComplexDouble", "16"),
        ("QInt3", "–"),
    ];
    for (dtype, expected) in cases {
        let sheet = two().of_type(0, dtype).of_type(1, dtype).sheet("nccl_long");
        assert_eq!(
            sheet.columns(&["In msg size (MB)"]),
            [expected; 2],
            "{dtype}"
        );
    }
}

#[test]
fn kernels_without_metadata_have_a_group_of_their_own() {
    let plain = |ranks: Ranks, rank: usize| {
        ranks
            .ran(rank, WORLD, "", [0, 0], 300..400)
            .with(rank, |one| {
                (one.group, one.given, one.got, one.dtype) = (None, None, None, 0);
                one.splits = [0, 0];
            })
    };
    let ranks = plain(plain(two(), 0), 1);
    let sheet = ranks.clone().sheet("nccl_long");
    assert_eq!(
        sheet.columns(&[
            "collective_id",
            "Process Group Ranks",
            "In msg size (MB)",
            "node_span"
        ])[1],
        "Unknown_Group_0 | – | – | unknown"
    );
    // They are matched nevertheless, and nothing is invented for them.
    let collectives = ranks.clone().sheet("collectives");
    assert_eq!(
        collectives.columns(&["group", "ranks", "transfer µs", "bus bandwidth GB/s"])[1],
        "– | 2 | 100 | –"
    );
    assert_eq!(ranks.sheet("nccl_summary_long").0.rows.len(), 2);
}

#[test]
fn the_order_of_files_changes_nothing() {
    let ranks = two().ran(1, WORLD, "broadcast", [4, 4], 300..310);
    let sheets = |ranks: Ranks| {
        let job = ranks.job();
        super::sheets(&job, &Analysis::new(&job), &[])
    };
    assert_eq!(sheets(ranks.clone()), sheets(ranks.reversed()));
}

/// The last collective of all ranks ends a step.
#[test]
fn steps_last_from_collective_to_collective() {
    let mut ranks = Ranks::new(2).step(8, 1_000_000..2_000_000);
    for rank in [0, 1] {
        ranks = ranks
            .ran(rank, WORLD, "allreduce", [8, 8], 900_000..950_000)
            .ran(
                rank,
                WORLD,
                "allreduce",
                [8, 8],
                1_700_000 + 10_000 * rank as i64..1_800_000,
            );
    }
    let sheet = ranks.clone().sheet("rank_steps");
    let labels = [
        "rank",
        "step",
        "step time ms",
        "step time is",
        "waiting ms",
        "times last",
        "waits caused ms",
    ];
    // If two start at the same time, the first counts as the last.
    assert_eq!(
        sheet.columns(&labels),
        [
            "0 | 7 | 1000 | CPU | 0 | 1 | 0",
            "0 | 8 | 850 | collectives | 10 | 0 | 0",
            "1 | 7 | 1000 | CPU | 0 | 0 | 0",
            "1 | 8 | 850 | collectives | 0 | 1 | 10",
        ]
    );
    // Rank 0 works 2 µs between collectives, rank 1 works 3 µs.
    assert_eq!(sheet.columns(&["work imbalance"])[0], "1.2");
    let sheet = ranks.sheet("ranks");
    assert_eq!(
        sheet.columns(&[
            "rank",
            "host",
            "step time mean ms",
            "own time ms",
            "own idle ms"
        ]),
        [
            "0 | node0 | 850 | 0.01 | 0.002",
            "1 | node0 | 850 | 0.01 | 0.002"
        ]
    );
}

#[test]
fn links_are_by_group_and_message() {
    let mut ranks = Ranks::new(2);
    for (at, transfer) in [10, 30, 20].into_iter().enumerate() {
        let start = 1000 * (at as i64 + 1);
        for rank in [0, 1] {
            ranks = ranks.ran(
                rank,
                WORLD,
                "_reduce_scatter_base",
                [500, 250],
                start..start + transfer,
            );
        }
    }
    let sheet = ranks.sheet("links");
    assert_eq!(
        sheet.columns(&[
            "group",
            "type",
            "bytes",
            "count",
            "transfer µs_min",
            "transfer µs_median",
            "bus bandwidth GB/s"
        ]),
        // Half of 1,000 bytes in 20 µs.
        ["0 | reduce-scatter | 1000 | 3 | 10 | 20 | 0.025"]
    );
}

/// A sheet that is too long to be kept is streamed row by row, with the same rows.
#[test]
fn long_sheets_are_made_row_by_row() {
    let job = two().job();
    let analysis = Analysis::new(&job);
    let whole = Text::of(&job, "nccl_long").0;
    let made = super::sheets_of_at_most(1, &job, &analysis, &[]);
    let long = made.iter().find(|made| made.sheet.name == "nccl_long");
    let long = long.unwrap();
    assert_eq!((long.n_rows, long.sheet.rows.len()), (2, 0));
    assert!(!long.is_whole());
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    let is_found = super::stream(
        "nccl_long",
        &job,
        &analysis,
        &[],
        |head| columns.extend_from_slice(head),
        |row| rows.push(row),
    );
    assert!(is_found);
    assert_eq!((columns, rows), (whole.columns, whole.rows));
    let none = super::stream("no", &job, &analysis, &[], |_| (), |_| ());
    assert!(!none);
}

/// Rank 1 is last in one of two collectives.
#[test]
fn the_share_of_last_arrivals_is_of_a_rank_s_own_collectives() {
    let mut ranks = two();
    for rank in [0, 1] {
        let start = 300 + 20 * (1 - rank as i64);
        ranks = ranks.ran(rank, WORLD, "allreduce", [8, 8], start..400);
    }
    let sheet = ranks.sheet("ranks");
    assert_eq!(
        sheet.columns(&["times last", "last share (%)"]),
        ["1 | 50", "1 | 50"]
    );
}

/// The sender of a broadcast need not wait for the receiver; its data is counted nevertheless.
///
/// ```text
/// µs       100     140       200   210     300   350   400 410
/// rank 0   [= all-reduce =====)            [= broadcast ===)
/// rank 1           [===========────)             [===========)
/// ```
#[test]
fn waits_are_those_in_collectives_that_none_can_leave_before_all_have_started() {
    let sheet = two()
        .ran(0, WORLD, "broadcast", [4, 4], 300..400)
        .ran(1, WORLD, "broadcast", [4, 4], 350..410)
        .sheet("ranks");
    let labels = ["collectives", "waiting ms", "times last", "transfer ms"];
    assert_eq!(
        sheet.columns(&labels),
        ["2 | 0.04 | 0 | 0.11", "2 | 0 | 1 | 0.11"]
    );
}
