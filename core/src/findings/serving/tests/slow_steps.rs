//! Steps that take longer than others of the trace.

use super::*;

/// Three decode steps of 1 ms that replay a graph of 0.9 ms.
fn three_replays() -> Timetable {
    (0..3_u32).fold(Timetable::new(), |table, step| {
        let at = f64::from(step) * 1_000.0;
        let table = table.annotation(DECODE, at..at + 900.0);
        let table = table.runtime("cudaGraphLaunch", step + 1, at + 10.0..at + 20.0);
        table.kernel(step + 1, GEMM, at + 20.0..at + 920.0)
    })
}

/// After steps with a graph, three steps of more requests that launch nine kernels each, one every 100 µs.
#[test]
fn decode_steps_without_a_graph_are_distinguished_from_those_with_one() {
    const LARGER: &str =
        "execute_40_context_0(sq0sk0sqsq0sqsk0)_generation_40(sq40sk4000sqsq40sqsk4000)";
    let with = |us: f64| {
        (3..6_u32).fold(three_replays(), |table, step| {
            let at = f64::from(step) * 1_000.0;
            let table = table.annotation(LARGER, at..at + 950.0);
            (0..9_u32).fold(table, |table, nth| {
                let at = at + f64::from(nth) * 100.0;
                table.launched("gemm", at + 1.0..at + 5.0, at + 10.0..at + 10.0 + us)
            })
        })
    };
    let key = "eager_steps";
    // Idle for 640 of 1 000 µs, 540 more than with a graph; the last one for 480 of 840 µs.
    let eager = with(40.0);
    assert_eq!(figures(&eager, key), Some((2_840, Some(1_460))));
    assert_contains(
        &issue(&eager, key),
        &[
            "3 decode steps of 40 requests",
            "take 1.00 ms each",
            "3 of 32 requests replay a graph",
        ],
    );
    // Kernels long enough that the CPU launches in time.
    assert_eq!(figures(&with(95.0), key), None);
    assert_eq!(figures(&three_replays(), key), None);
}

#[test]
fn decodes_that_wait_for_a_long_prefill() {
    const MIXED: &str =
        "execute_100_context_1(sq96sk96sqsq9216sqsk9216)_generation_4(sq4sk400sqsq4sqsk400)";
    let with = |us: f64| {
        let table = three_replays().annotation(MIXED, 3_000..3_900);
        table.launched("gemm", 3_001..3_005, 3_020.0..3_020.0 + us)
    };
    let key = "prefill_holds_decodes";
    let long = with(20_000.0);
    assert_eq!(figures(&long, key), Some((20_000, None)));
    let said = "4 decoding requests wait for a prefill of 96 tokens";
    assert_contains(&issue(&long, key), &["takes 1.00 ms", said]);
    assert_eq!(figures(&with(5_000.0), key), None);
    // Many times the 134 tokens that make its GEMMs compute-bound: shorter chunks would take as long in all.
    const CHUNK: &str = "execute_1004_context_1(sq1000sk1000sqsq1000000sqsk1000000)_generation_4(sq4sk400sqsq4sqsk400)";
    let chunk = three_replays().annotation(CHUNK, 3_000..3_900);
    let chunk = chunk.launched("gemm", 3_001..3_005, 3_020..8_020);
    assert_eq!(figures(&chunk, key), Some((5_000, None)));
    assert_contains(&issue(&chunk, key), &["from about 134 tokens on"]);
}

/// Steps of 1 ms that prefill one request each, of so many tokens after so many that are known, with a GEMM of 0.9 ms.
fn prefills(steps: &[(u64, u64)]) -> Timetable {
    let numbered = (0_u32..).zip(steps);
    numbered.fold(Timetable::new(), |table, (nth, (tokens, known))| {
        let all = tokens + known;
        let label = format!(
            "execute_{tokens}_context_1(sq{tokens}sk{all}sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"
        );
        let at = f64::from(nth) * 1_000.0;
        let table = table.annotation(&label, at..at + 900.0);
        table.launched(GEMM, at + 1.0..at + 5.0, at + 20.0..at + 920.0)
    })
}

#[test]
fn short_chunks_of_a_prompt_read_the_weights_each_time() {
    let key = "small_prefill_chunks";
    let short = prefills(&[(32, 0), (32, 32), (32, 64), (32, 96)]);
    // Three GEMMs less the 32 of 134 tokens that a chunk has.
    assert_eq!(figures(&short, key), Some((2_900, Some(2_053))));
    assert_contains(
        &issue(&short, key),
        &["3 steps continue", "at most 32 tokens", "134 tokens"],
    );
    // Long enough; prompts of their own, of which a part is cached; what is left of a prompt after a long chunk.
    let others: [&[(u64, u64)]; 3] = [
        &[(128, 0), (128, 128), (128, 256)],
        &[(32, 64), (32, 64), (32, 64)],
        &[(1_000, 0), (32, 1_000), (1_000, 0), (32, 1_000)],
    ];
    for steps in others {
        assert_eq!(figures(&prefills(steps), key), None);
    }
}

#[test]
fn decodes_that_wait_for_a_step_of_prefill() {
    const PREFILL: &str =
        "execute_96_context_1(sq96sk96sqsq9216sqsk9216)_generation_0(sq0sk0sqsq0sqsk0)";
    let with = |us: f64| {
        let table = three_replays().annotation(PREFILL, 3_000..3_900);
        table.launched("gemm", 3_001..3_005, 3_020.0..3_020.0 + us)
    };
    let key = "prefill_holds_decodes";
    let long = with(20_000.0);
    assert_eq!(figures(&long, key), Some((20_000, None)));
    assert_contains(
        &issue(&long, key),
        &[
            "1 step with prefill between decodes",
            "wait for a prefill of 96 tokens",
        ],
    );
    assert_eq!(figures(&with(5_000.0), key), None);
}
