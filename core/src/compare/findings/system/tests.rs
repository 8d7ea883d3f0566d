use crate::compare::Gap;
use crate::compare::comparison::Comparison;
use crate::compare::testing::{self, assert_contains, pair, savings};
use crate::testing::Timetable;

/// GEMMs of 300 µs, each followed by this many idle microseconds.
fn products(n: u32, idle_us: u32) -> Timetable {
    (1..=n).fold(Timetable::new(), |table, id| {
        let gpu = id * (300 + idle_us);
        table.work("aten::mm", "gemm", gpu..gpu + 300)
    })
}

fn compared(reference: &Timetable, target: &Timetable) -> Comparison {
    testing::compared(reference, target, Some(("MI300X", "MI300X")))
}

fn found(pattern: &str, reference: &Timetable, target: &Timetable) -> Gap {
    let gaps = compared(reference, target).gaps;
    let mut ranked = gaps.ranked.iter();
    let gap = ranked.find(|gap| gap.pattern == pattern);
    gap.unwrap_or_else(|| panic!("{gaps:#?}")).clone()
}

#[test]
fn more_steps_that_idle_as_before_are_no_defect() {
    // 5 calls have 4 gaps of 600 µs, 20 calls have 19.
    let more = compared(&products(5, 600), &products(20, 600));
    let idle = more.parts.of_kind(super::PartKind::Idle);
    assert_eq!(idle, pair(2_400_000, 11_400_000));
    assert!((more.amount.ratio - 4.0).abs() < 1e-12);
    assert!(more.gaps.ranked.is_empty(), "{:?}", more.gaps.ranked);
    let said = more.caveats().join(" ");
    assert_contains(&said, "The target does 4.00× as much by its calls");
}

#[test]
fn as_many_calls_with_longer_gaps_are_one() {
    // 19 gaps of 600 µs compared with 19 of 100 µs: 9.5 ms more.
    let slower = compared(&products(20, 100), &products(20, 600));
    let expected = [("more_idle", Some(9_500_000))];
    assert_eq!(savings(&slower.gaps.ranked), expected);
    assert!(!slower.caveats().join(" ").contains("as much"));
    // Fewer calls, but longer gaps.
    let fewer = compared(&products(20, 100), &products(10, 600));
    assert_eq!(fewer.gaps.ranked[0].pattern, "more_idle");
}

#[test]
fn one_call_more_hides_no_idling() {
    // 99 gaps of 2 µs compared with 100 of 202 µs.
    let one_more = compared(&products(100, 2), &products(101, 202));
    let gap = &one_more.gaps.ranked[0];
    assert_eq!(gap.times, pair(198_000, 20_200_000));
    // 20.2 ms; between 101 kernels, the reference would be idle for 200 µs.
    let expected = ("more_idle", Some(20_000_000));
    assert_eq!(savings(&one_more.gaps.ranked)[0], expected);
}

#[test]
fn a_slower_copy_is_counted_once() {
    let copied = |us: u32| {
        let name = "Memcpy HtoD (Pinned -> Device)";
        products(1, 0).work("aten::copy_", name, 1_000..1_000 + us)
    };
    let slower = compared(&copied(100), &copied(500));
    let patterns: Vec<&str> = slower.gaps.ranked.iter().map(|gap| gap.pattern).collect();
    assert_eq!(patterns, ["more_exposed_copies"]);
    assert_eq!(slower.gaps.together_ns, 400_000);
    let said = slower.gaps.ranked[0].reasoning.join(" ");
    let words = "A call of `aten::copy_` takes 500 µs on the target, 400 % more than the reference\u{2019}s 100 µs.";
    assert_contains(&said, words);
}

#[test]
fn pinned_memory_is_advised_where_it_may_not_be_in_use() {
    for (memory, advice) in [
        ("Pageable", "Copy from pinned memory"),
        ("Pinned", "Start copies earlier"),
    ] {
        // A copy of 100 µs in one trace, and of 300 µs in the other.
        let name = format!("Memcpy HtoD ({memory} -> Device)");
        let [reference, target] = [1_100, 1_300].map(|end| {
            let table = products(1, 0).launch(50, 15..16);
            table.copy(50, &name, 1_000..end)
        });
        let gap = found("more_exposed_copies", &reference, &target);
        assert!(gap.model.starts_with(advice), "{}", gap.model);
    }
}

#[test]
fn copies_that_are_pinned_on_the_reference_alone_are_the_cause() {
    let copied = |memory: &str, us: u32| {
        let table = products(1, 0).launch(50, 15..16);
        table.copy(
            50,
            &format!("Memcpy HtoD ({memory} -> Device)"),
            1_000..1_000 + us,
        )
    };
    let gap = found(
        "more_exposed_copies",
        &copied("Pinned", 100),
        &copied("Pageable", 500),
    );
    assert_eq!(
        gap.title,
        "Copies of pageable memory, pinned on the reference"
    );
    let other = found(
        "more_exposed_copies",
        &copied("Pageable", 100),
        &copied("Pageable", 500),
    );
    assert_eq!(other.title, "More exposed memory copies");
}

#[test]
fn a_slow_host_is_named_with_its_operator() {
    // Ten GEMMs of 60 µs; the CPU takes this many microseconds for each.
    let hosted = |us: u32| {
        (0..10).fold(Timetable::new(), |table, id| {
            let (host, gpu) = (id * 500, 100 + id * us.max(60));
            let table = table.op("aten::mm", host..host + us);
            let table = table.launch(id + 1, host + 1..host + 2);
            table.kernel(id + 1, "gemm", gpu..gpu + 60)
        })
    };
    let slower = compared(&hosted(40), &hosted(400));
    let gap = &slower.gaps.ranked[0];
    assert_eq!(gap.pattern, "more_idle");
    let words = "self time of a call: `aten::mm` 400 µs, 40.0 µs on the reference.";
    assert_contains(&gap.reasoning.join(" "), words);
}

/// Ten times three operators; the CPU takes 20 µs for each on the reference, and 50 µs for the first of them on the
/// target, or for all.
#[test]
fn a_slower_cpu_is_told_from_a_slower_operator() {
    let operators = |us: [u32; 3]| {
        let names = ["aten::mm", "aten::add", "aten::gelu"];
        let calls = (0..10).flat_map(|_| names.into_iter().zip(us));
        let mut at = 0;
        calls.fold(Timetable::new(), |table, (name, us)| {
            let start = at;
            at += us + 2;
            let table = table.op(name, start..start + us);
            table.launched(
                name,
                start + us - 2..start + us - 1,
                start + us..start + us + 5,
            )
        })
    };
    let gap = |target| found("more_idle", &operators([20; 3]), &operators(target));
    let all = gap([50; 3]);
    assert_eq!(
        all.title,
        "More idle time: the CPU takes longer for the same calls"
    );
    assert_contains(
        &all.gap,
        "the CPU takes 2.50× as long for the same operators",
    );
    let little = gap([23; 3]);
    assert_contains(&little.gap, "the CPU takes 1.15× as long");
    let one = gap([110, 20, 20]);
    assert!(!one.title.contains("the CPU takes longer"), "{}", one.title);
}

#[test]
fn idle_time_has_the_cause_and_the_advice_of_the_single_report() {
    const LOADER: &str = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    // Ten GEMMs of 100 µs, each after this many microseconds in the data loader.
    let loaded = |us: u32| {
        (0..10).fold(Timetable::new(), |table, at| {
            let host = at * (us + 120);
            let start = host + us + 5;
            let table = table.op(LOADER, host..host + us);
            let table = table.op("aten::mm", start..start + 10);
            table.launched("gemm", start + 1..start + 2, start + 10..start + 110)
        })
    };
    let gap = found("more_idle", &loaded(5), &loaded(900));
    let words = "By cause it grows most by data loading (8.";
    assert_contains(&gap.reasoning.join(" "), words);
    assert!(
        gap.model.starts_with("Load in worker processes"),
        "{}",
        gap.model
    );
    assert!(!gap.model.contains("graph"), "{}", gap.model);
}

#[test]
fn work_in_graphs_is_not_to_be_recorded_as_a_graph() {
    let in_graph = |idle_us: u32| {
        let table = Timetable::new().without_flows();
        let table = table.runtime("cudaGraphLaunch", 1, 0..10);
        (1..=20).fold(table, |table, at| {
            let gpu = at * (300 + idle_us);
            table.kernel(1, "gemm", gpu..gpu + 300)
        })
    };
    for reference in [&in_graph(100), &products(20, 100)] {
        let gap = found("more_idle", reference, &in_graph(600));
        // The gaps are between the kernels of one graph launch.
        let words = "By cause it grows most by inside GPU graphs (11.4 ms, ";
        assert_contains(&gap.reasoning.join(" "), words);
        assert!(
            gap.model.starts_with("Fewer, longer kernels"),
            "{}",
            gap.model
        );
        assert!(!gap.model.contains("GPU graph"), "{}", gap.model);
    }
}

/// Twenty GEMMs of 300 µs; after each, code that is named so runs for 40 µs, or not at all.
fn read_back(is_read: bool) -> Timetable {
    (0..20).fold(Timetable::new(), |table, at| {
        let start = at * 400;
        let table = table.op("aten::mm", start..start + 10);
        let table = table.launched("gemm", start + 1..start + 2, start + 10..start + 310);
        match is_read {
            true => table
                .frame("debug.py(9): check_finite", start + 311..start + 398)
                .op("aten::item", start + 312..start + 390)
                .runtime("cudaStreamSynchronize", 0, start + 313..start + 380),
            false => table,
        }
    })
}

#[test]
fn code_that_most_of_the_growth_is_in_is_named_with_its_size() {
    let [reference, target] = [products(20, 0), read_back(true)];
    let gap = found("more_idle", &reference, &target);
    assert_contains(&gap.title, "More idle time: `aten::item`");
    assert_contains(&gap.gap, "more are in `aten::item`");
    assert_contains(&gap.model, "`.item()`");
    // The same gaps without any code in them have no such cause.
    let without = found("more_idle", &reference, &read_back(false));
    assert!(!without.title.contains("item"), "{}", without.title);
}

/// This many kernels of 10 µs, all launched before the first starts, 1 µs apart.
fn queued(n: u32) -> Timetable {
    (0..n).fold(Timetable::new(), |table, at| {
        let (host, gpu) = (at * 4, 10_000 + at * 11);
        let table = table.op("aten::add", host..host + 3);
        table.launched("add", host + 1..host + 2, gpu..gpu + 10)
    })
}

#[test]
fn gaps_of_more_queued_kernels_are_no_fault_of_the_cpu() {
    let step = |table: Timetable| table.annotation("ProfilerStep#1", 0..9_000);
    let (few, many) = (step(queued(20)), step(queued(200)));
    let gap = found("more_idle", &few, &many);
    assert_eq!(gap.title, "More gaps between queued kernels");
    assert_contains(
        &gap.gap,
        "it runs 200 kernels and copies against 20, with 1.00 µs between",
    );
    assert_contains(&gap.model, "Launch fewer kernels");
    assert!(compared(&many, &many).gaps.ranked.is_empty());
}

/// A GEMM of 1 000 µs, and a collective from one time to another.
fn communicating(from: u32, to: u32) -> Timetable {
    Timetable::new()
        .work("aten::mm", "gemm", 1_000..2_000)
        .stream(8)
        .work("c10d::allreduce_", "ncclDevKernel_AllReduce", from..to)
}

#[test]
fn longer_communication_is_told_from_communication_that_overlaps_less() {
    let reference = communicating(1_500, 2_100);
    for (target, title) in [
        (communicating(1_500, 3_100), "Communication takes longer"),
        (
            communicating(2_000, 2_600),
            "Communication that overlaps with computation on the reference only",
        ),
    ] {
        let gap = found("more_exposed_communication", &reference, &target);
        assert_eq!(gap.title, title);
    }
    assert!(compared(&reference, &reference).gaps.ranked.is_empty());
}

#[test]
fn copies_to_the_cpu_are_not_to_be_pinned_but_avoided() {
    let read = |us: u32| {
        let name = "Memcpy DtoH (Device -> Pageable)";
        products(1, 0).work("aten::copy_", name, 1_000..1_000 + us)
    };
    let gap = found("more_exposed_copies", &read(100), &read(500));
    assert_contains(&gap.model, "Keep values on the GPU");
}

/// A step of four compiled regions against one: 40 µs pass before each first launch.
#[test]
fn graph_breaks_explain_idle_time() {
    let entering = |n: u32| {
        let steps = Timetable::new().annotation("ProfilerStep#1", 0..1_000);
        (0..n).fold(steps, |table, part| {
            let (at, region) = (part * 100, format!("Torch-Compiled Region: {part}/0"));
            let table = table.op(&region, at..at + 90);
            table.launched("triton_poi_0", at + 40..at + 44, at + 50..at + 51)
        })
    };
    let gap = found("more_idle", &entering(2), &entering(8));
    assert_eq!(gap.title, "More idle time: graph breaks");
    assert_contains(
        &gap.gap,
        "enters 8 compiled regions, one of the reference 2",
    );
    let whole = found("more_idle", &products(20, 100), &products(20, 600));
    assert_ne!(whole.title, gap.title);
}

/// Kernels of 5 µs that the CPU launches every 30 µs, so many additions after each GEMM.
#[test]
fn more_kernels_to_launch_are_named_by_their_operator() {
    let step = |n_adds: u32| {
        let mut at = 0;
        (0..20).fold(Timetable::new(), |table, _| {
            let names = std::iter::once("aten::mm").chain((0..n_adds).map(|_| "aten::add"));
            names.fold(table, |table, name| {
                let start = at;
                at += 30;
                table.op(name, start..start + 28).launched(
                    name,
                    start + 20..start + 25,
                    start + 25..start + 30,
                )
            })
        })
    };
    let gap = found("more_idle", &step(1), &step(2));
    assert_eq!(gap.title, "More idle time: 20 more kernels to launch");
    assert_contains(&gap.gap, "(20 more by `aten::add`)");
}

/// Two GEMMs, with this many milliseconds of a compiler between them.
#[test]
fn a_cold_start_of_the_target_is_named_and_saves_nothing() {
    let compiled = |ms: u32| {
        let end = 1_000 + ms * 1_000;
        let table = Timetable::new().launched("a", 0..10, 20..320);
        let table = match ms {
            0 => table,
            _ => table.frame(
                "torch/_dynamo/convert_frame.py(666): _compile",
                400..end - 100,
            ),
        };
        table.launched("b", end..end + 10, end + 20..end + 320)
    };
    let gap = found("cold_start", &compiled(0), &compiled(5));
    assert_eq!(gap.saving, None);
    let same = compared(&compiled(5), &compiled(5)).gaps.ranked;
    assert!(same.is_empty(), "{same:#?}");
}
