//! Captures of many kinds, including wrong ones: what is merged and what is reported.

use super::{LAUNCHES, Launch, capture, captures, file, merged, replays, said, shown};
use crate::import::import;
use crate::profile::Profile;
use crate::profile::graphs::capture::{CaptureFile, Note};
use crate::testing::Timetable;

/// A decode step of vLLM with this many requests, one token each.
fn step(tokens: u32) -> String {
    let sums = format!("sq{tokens}sk900sqsq{tokens}sqsk900");
    format!("execute_{tokens}_context_0(sq0sk0sqsq0sqsk0)_generation_{tokens}({sums})")
}

/// Three launches of a graph with this many rows.
fn launches(rows: u32) -> [(&'static str, String, Option<&'static str>); 3] {
    [
        ("aten::mm", format!("{rows}x64, 64x16"), Some("gemm")),
        ("my::norm", format!("{rows}x16"), Some("norm")),
        ("aten::copy_", format!("{rows}x16, {rows}x16"), None),
    ]
}

/// A capture with this many rows, inside an annotation.
fn sized(annotation: &str, rows: u32) -> Timetable {
    let launches = launches(rows);
    let launches: Vec<Launch> = launches
        .iter()
        .map(|(op, args, kernel)| (*op, &**args, *kernel))
        .collect();
    captures(&[(annotation, &launches)])
}

/// The first dimension of an operation's first tensor, for each of its calls.
fn rows_of(profile: &Profile, op: &str) -> Vec<(i64, u64)> {
    let operations = profile.operations().iter();
    let of_op = operations.filter(|one| one.short_name(profile) == op);
    let mut rows: Vec<(i64, u64)> = of_op
        .map(|one| {
            (
                one.arguments(profile).unwrap().sizes(0).unwrap()[0],
                one.n_calls(),
            )
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// A graph that is captured and replayed in one recording.
fn both(annotation: &str, rows: &[u32]) -> Timetable {
    let all: Vec<_> = rows.iter().map(|rows| (*rows, launches(*rows))).collect();
    let borrowed: Vec<(String, Vec<Launch>)> = all
        .iter()
        .map(|(rows, launches)| {
            let of: Vec<Launch> = launches
                .iter()
                .map(|(op, args, kernel)| (*op, &**args, *kernel))
                .collect();
            (format!("capture_{rows}_FULL"), of)
        })
        .collect();
    let given: Vec<(&str, &[Launch])> =
        borrowed.iter().map(|(name, of)| (&**name, &**of)).collect();
    let table = captures(&given).annotation(annotation, 50_000..50_100);
    table
        .runtime("hipGraphLaunch", 500, 50_000..50_010)
        .kernel(500, "gemm", 50_020..50_030)
        .kernel(500, "norm", 50_030..50_040)
        .kernel(500, "Memcpy DtoD (Device -> Device)", 50_040..50_050)
}

#[test]
fn a_recording_that_captures_and_replays_is_merged_with_itself() {
    let of = |table: &Timetable, files: &[CaptureFile]| merged(table, files);
    let own = of(&both("a run", &[32]), &[]);
    assert_eq!(rows_of(&own, "aten::mm"), [(32, 1)]);
    assert_eq!(
        said(&own),
        [
            "Operators and shapes of 3 of 3 kernels in 1 of 1 graph replays come from 1 of 1 captured graphs, recorded in this trace itself."
        ]
    );
    // It is not a file that could be removed, and it stays when other files are removed.
    assert_eq!(own.coverage.as_ref().unwrap().merged_files().count(), 0);
    let without = own.without_captures().unwrap();
    assert_eq!(rows_of(&without, "aten::mm"), [(32, 1)]);
    // Given as its own capture, it is an ordinary file.
    let given = of(
        &both("a run", &[32]),
        &[file("itself", &both("a run", &[32]))],
    );
    let files: Vec<_> = given.coverage.as_ref().unwrap().merged_files().collect();
    assert_eq!(files, [("itself", "3 of 3 kernels matched".to_owned())]);
    // A recording that only captures, or only replays, has no coverage of itself.
    assert!(of(&capture(&LAUNCHES), &[]).coverage.is_none());
    assert!(of(&replays(&[0]), &[]).coverage.is_none());
    // Captures that nothing replays are not a problem of the recording.
    let other = capture(&[("aten::relu", "4", Some("relu")); 3]);
    let other =
        other
            .runtime("hipGraphLaunch", 500, 50_000..50_010)
            .kernel(500, "gemm", 50_020..50_030);
    assert!(of(&other, &[]).coverage.is_none());
}

/// Graphs of several sizes launch the same kernels: they are not layers of one step.
#[test]
fn sizes_of_one_recording_are_told_by_the_step() {
    let at = |annotation: &str| rows_of(&merged(&both(annotation, &[64, 32, 16]), &[]), "aten::mm");
    assert_eq!(at(&step(16)), [(16, 1)]);
    assert_eq!(at(&step(17)), [(32, 1)]);
    assert_eq!(at("a run"), []);
    let files = [file("all.json", &both("a run", &[64, 32, 16]))];
    let unknown = merged(&replays(&[10]), &files);
    let why = said(&unknown);
    assert!(
        why[2].contains("captures of several sizes (16, 32, 64)"),
        "{why:?}"
    );
}

/// vLLM writes one file per size; engines that record all ranks write one per rank and size.
#[test]
fn ranks_and_sizes_given_together_are_told_apart() {
    let of_rank = |rank: u32| format!(r#""rank": {rank}, "world_size": 2"#);
    let with_rank = |table: Timetable, rank: u32| {
        let json = table.json();
        let info = format!(r#"{{"distributedInfo": {{{}}}, "#, of_rank(rank));
        json.replacen('{', &info, 1)
    };
    let mut files = Vec::new();
    for rank in 0..2 {
        for rows in [8, 16] {
            // Each rank has its own part of the weights.
            let table = sized("warm-up", rows);
            let json = table
                .json()
                .replace("[64, 16]", &format!("[64, {}]", 16 + rank));
            let name = format!("bs_{rows}_rank{rank}.json");
            files.push(CaptureFile::new(&name, import(json.as_bytes()), &[]));
        }
    }
    for (rank, tokens, expected) in [
        (0, 8, "bs_8_rank0.json"),
        (1, 8, "bs_8_rank1.json"),
        (0, 9, "bs_16_rank0.json"),
        (1, 16, "bs_16_rank1.json"),
    ] {
        let trace = replays(&[10]).annotation(&step(tokens), 0..50);
        let trace = with_rank(trace, rank);
        let profile = Profile::with_captures(import(trace.as_bytes()).unwrap(), &files);
        let used: Vec<_> = profile.coverage.as_ref().unwrap().merged_files().collect();
        assert_eq!(used.len(), 1, "{rank} {tokens}");
        assert_eq!(used[0].0, expected);
    }
}

/// A step of two layers: graphs before, between and after the attention of each layer, which is launched separately.
#[test]
fn pieces_are_merged_in_their_order() {
    let piece = |nth: usize, rows: u32| -> Vec<(&'static str, String, Option<&'static str>)> {
        let ends = ["embed", "gate", "head"][nth];
        vec![
            (
                "aten::mm",
                format!("{rows}x64, 64x{}", 16 + nth),
                Some("gemm"),
            ),
            ("my::norm", format!("{rows}x16"), Some("norm")),
            (
                "my::end",
                format!("{rows}x{}", nth + 1),
                Some(if nth == 1 { "gate" } else { ends }),
            ),
        ]
    };
    let of_size = |rows: u32, argument: &str| {
        let pieces: Vec<Vec<_>> = [0, 1, 1, 2].iter().map(|nth| piece(*nth, rows)).collect();
        let name = format!("capture_{rows}_PIECEWISE");
        let borrowed: Vec<Vec<Launch>> = pieces
            .iter()
            .map(|of| {
                of.iter()
                    .map(|(op, args, kernel)| (*op, &**args, *kernel))
                    .collect()
            })
            .collect();
        let given: Vec<(&str, &[Launch])> = borrowed.iter().map(|of| (&*name, &**of)).collect();
        let json = captures(&given).json().replace("\"kernel\"", argument);
        CaptureFile::new(&format!("{rows}.json"), import(json.as_bytes()), &[])
    };
    let mut trace = Timetable::new()
        .without_flows()
        .annotation(&step(12), 0..400);
    for (nth, end) in (0_u32..).zip(["embed", "gate", "gate", "head"]) {
        trace = trace.runtime("hipGraphLaunch", nth, nth * 100..nth * 100 + 10);
        if nth < 3 {
            let at = nth * 100 + 50;
            trace = trace
                .op("vllm::unified_attention_with_output", at..at + 20)
                .args("12x4x16*3");
            trace = trace.runtime("hipModuleLaunchKernel", 50 + nth, at + 1..at + 5);
            trace = trace.kernel(50 + nth, "attn", 1_060 + nth * 100..1_090 + nth * 100);
        }
        for (at, kernel) in (0_u32..).zip(["gemm", "norm", end]) {
            let start = 1_000 + nth * 100 + at * 10;
            trace = trace.kernel(nth, kernel, start..start + 10);
        }
    }
    // CUDA launches have no names.
    for argument in ["\"kernel\"", "\"hidden\""] {
        let files = [8, 64, 16].map(|rows| of_size(rows, argument));
        let profile = merged(&trace, &files);
        assert_eq!(profile.coverage.as_ref().unwrap().kernels(), (12, 12));
        assert_eq!(rows_of(&profile, "my::norm"), [(16, 4)]);
        // The first piece, both middle pieces, the last.
        assert_eq!(rows_of(&profile, "aten::mm"), [(16, 1), (16, 1), (16, 2)]);
        let attention = "vllm::unified_attention_with_output";
        assert_eq!(rows_of(&profile, attention), [(12, 3)]);
        assert_eq!(
            said(&profile)[1],
            "2 of 3 capture files are needed by no replay."
        );
    }
}

#[test]
fn notes_that_contradict_the_capture_do_not_count() {
    let note = |size: u64| Note {
        file: "c.json".to_owned(),
        size: Some(size),
    };
    let with = |annotation: &str, notes: &[Note], tokens: u32| {
        let json = sized(annotation, 32).json();
        let file = CaptureFile::new("c.json", import(json.as_bytes()), notes);
        merged(&replays(&[10]).annotation(&step(tokens), 0..50), &[file])
    };
    let wrong = "The metadata of the capture c.json says that it is of 48 tokens; it is of 32, which is used.";
    for (annotation, noted, tokens, expected) in [
        ("warm-up", None, 32, None),
        ("warm-up", Some(32), 32, None),
        // Eight requests of four tokens.
        ("capture_32_DECODE", Some(8), 32, None),
        ("warm-up", Some(48), 20, Some(wrong)),
        ("capture_32_FULL", Some(48), 20, Some(wrong)),
    ] {
        let notes: Vec<Note> = noted.map(note).into_iter().collect();
        let profile = with(annotation, &notes, tokens);
        assert_eq!(
            rows_of(&profile, "aten::mm"),
            [(32, 1)],
            "{annotation} {noted:?}"
        );
        assert_eq!(said(&profile).get(1).map(|said| &**said), expected);
    }
    // Too small, whatever the notes say.
    let small = with("warm-up", &[note(48)], 40);
    assert_eq!(rows_of(&small, "aten::mm"), []);
    let said = said(&merged(
        &replays(&[0]),
        &[CaptureFile::unreadable_notes("d/execution_details.json")],
    ));
    assert_eq!(
        said[1],
        "execution_details.json is not a list of capture files with their batch sizes; it was not used."
    );
}

/// A recording that starts in the middle of a capture has an extra end.
#[test]
fn captures_are_told_in_a_file_that_starts_within_one() {
    let json = sized("capture_32_FULL", 32).json();
    let early = Timetable::new()
        .runtime("hipStreamEndCapture", 2, 0..1)
        .json();
    let first = early.find("{\"ph\"").or_else(|| early.rfind("[{")).unwrap();
    let event = &early[first..=early.rfind('}').unwrap()];
    let event = event.trim_start_matches('[');
    let event = &event[..=event.find("}}").map_or(event.len() - 1, |at| at + 1)];
    let cut = json.replacen('[', &format!("[{event},"), 1);
    let files = [CaptureFile::new("c.json", import(cut.as_bytes()), &[])];
    let profile = merged(&replays(&[10]), &files);
    assert_eq!(rows_of(&profile, "aten::mm"), [(32, 1)], "{cut}");
}

/// Requests of speculative decoding compute several tokens: the size may count requests or tokens.
#[test]
fn captures_of_requests_hold_the_tokens_of_all_of_them() {
    let files = || {
        [("capture_graph_bs_8", 32), ("capture_graph_bs_16", 64)]
            .map(|(name, rows)| file(name, &sized(name, rows)))
    };
    for (tokens, expected) in [(32, vec![(32, 1)]), (40, vec![(64, 1)]), (65, vec![])] {
        let name = format!("decode[bs=8 tok={tokens} d={tokens} spec=4]");
        let profile = merged(&replays(&[10]).annotation(&name, 0..50), &files());
        assert_eq!(rows_of(&profile, "aten::mm"), expected, "{tokens}");
    }
    // Sizes that are not a multiple of the captured size are not token rows.
    let weights = file("w", &sized("capture_24_FULL", 2880));
    let profile = merged(&replays(&[10]).annotation(&step(40), 0..50), &[weights]);
    assert_eq!(rows_of(&profile, "aten::mm"), []);
}

/// Kernels of a graph below Python functions: MoE stages, latent attention, one fused kernel.
#[test]
fn functions_of_libraries_get_operators() {
    let experts =
        "1x8:c10::BFloat16, 4x32x8:c10::BFloat16, 4x8x16:c10::BFloat16, 1x1:float, 1x1:int";
    let latent = "2x16x576:c10::BFloat16, 99x1x1x576:c10::BFloat16, 2x16x512:c10::BFloat16";
    let of = |outer: &str, args: &str, frame: &str, inner: &[(&str, &str, &str)], op: &str| {
        let mut capture = Timetable::new()
            .without_flows()
            .annotation("capture_2_FULL", 0..900)
            .frame("model.py(3): forward", 1..899)
            .runtime("hipStreamBeginCapture", 1, 2..3)
            .op(outer, 4..800)
            .args(args)
            .frame(frame, 5..790);
        let mut trace = Timetable::new()
            .without_flows()
            .annotation(&step(2), 0..50)
            .runtime("hipGraphLaunch", 1, 0..10);
        for (nth, (name, args, kernel)) in (0_u32..).zip(inner) {
            let at = 10 + nth * 20;
            capture = capture.op(name, at..at + 15).args(args);
            capture = capture
                .runtime("hipModuleLaunchKernel", 100 + nth, at + 1..at + 5)
                .args(&format!(r#""kernel": "{kernel}""#));
            trace = trace.kernel(1, kernel, 20 + nth * 5..25 + nth * 5);
        }
        let capture = capture.runtime("hipStreamEndCapture", 2, 850..851);
        let profile = merged(&trace, &[file("c", &capture)]);
        let operations = profile.operations().iter();
        let mut own = operations.filter(|one| one.short_name(&profile) == op);
        own.next()
            .map(|one| (one.kernel_ns / 1_000, one.modeled.is_some()))
    };
    let decode = [
        ("aiter::mla_decode_stage1_asm_fwd", latent, "mla_stage1"),
        ("aiter::mla_reduce_v1", "2x16x512", "mla_reduce"),
    ];
    let frame = "aiter/mla.py(120): mla_decode_fwd";
    let pseudo = "pseudo_mla_decode_fwd";
    assert_eq!(
        of("my::outer", "4", frame, &decode, pseudo),
        Some((10, true))
    );
    // Another function, and one without the operator that provides its sizes.
    assert_eq!(
        of(
            "my::outer",
            "4",
            "my.py(1): mla_decode_fwd",
            &decode,
            pseudo
        ),
        None
    );
    assert_eq!(of("my::outer", "4", frame, &decode[1..], pseudo), None);
    let stage = [(
        "sglang_profiler::moe_flydsl_moe_stage1_7",
        "1x8",
        "moe_gemm1_0",
    )];
    let up = "pseudo_op::moe_flydsl_stage1";
    assert_eq!(
        of("aiter::fused_moe_", experts, "a.py(1): f", &stage, up),
        Some((5, true))
    );
    let framed = [("my::launch", "1x8", "moe_gemm1_0")];
    let frame = "b.py(2): flydsl_moe_stage1";
    assert_eq!(
        of("aiter::fused_moe_", experts, frame, &framed, up),
        Some((5, true))
    );
    assert_eq!(of("my::other", experts, frame, &framed, up), None);
    let fused = [
        ("my::sort", "1x8", "aiter::MoeSortingKernel_fmoe"),
        ("my::fused", "1x8", "aiter::fmoe_bf16_g1u1"),
    ];
    let one = "pseudo_op::moe_aiter_fused_1stage";
    assert_eq!(
        of(
            "vllm::rocm_aiter_fused_moe",
            experts,
            "a.py(1): f",
            &fused,
            one
        ),
        Some((5, true))
    );
    // Two of them are not matched.
    let two = [fused[1], fused[1]];
    assert_eq!(
        of(
            "vllm::rocm_aiter_fused_moe",
            experts,
            "a.py(1): f",
            &two,
            one
        ),
        None
    );
}

/// The profiler of kernel shapes numbers its operators; the sheets list them without the number.
#[test]
fn operators_of_the_shape_profiler_lose_their_number() {
    let launches = [
        ("sglang_profiler::norm_rmsnorm_12", "8x16", Some("gemm")),
        LAUNCHES[1],
        LAUNCHES[2],
    ];
    let profile = merged(&replays(&[0]), &[file("c", &capture(&launches))]);
    assert!(
        shown(&profile).contains("\n  sglang_profiler::norm_rmsnorm\n"),
        "{}",
        shown(&profile)
    );
}
