//! Exposed communication that grows: more bytes, another implementation, slower collectives, or less overlap.

use super::{GapSubject, OTHER_AMOUNT, SHARES};
use crate::base::format;
use crate::base::interval::{percent_or_zero, sum};
use crate::base::tally::Tally;
use crate::compare::comparison::Comparison;
use crate::compare::findings::rule::GapRule;
use crate::compare::matched_rows::Timed;
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::findings::Words;
use crate::names::{Family, family_of_kernel};
use crate::perf::collective_element_bytes;

pub(super) const OF_NONE: GapRule = GapRule {
    when: "more communication is exposed, and the reference communicates with no other GPU",
    applies: |comparison, candidate| {
        candidate.subject == GapSubject::ExposedCommunication
            && comparison.communicates(Which::Reference) == Some(false)
    },
    kernel: "The reference communicates with no other GPU, so there is no other measurement of these collectives.",
    ..COMMUNICATION
};

pub(super) const OF_MORE_BYTES: GapRule = GapRule {
    when: "more communication is exposed, mainly because communication takes longer, and it moves at least 1.1 times as many bytes among as many ranks",
    applies: |_, candidate| {
        candidate.subject == GapSubject::ExposedCommunication && candidate.has_word("bytes")
    },
    title: "Communication moves {bytes_ratio} the bytes",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}: its collectives move {bytes}, those of the reference {reference_bytes}{types}.",
    model: "Communicate in the type and in the sizes of the reference: the type in which gradients or shards are reduced (`reduce_dtype`, compression hooks), padding, and collectives that only the target calls.",
    kernel: "More bytes take longer over the same links: no kernel makes up for that.",
    ..COMMUNICATION
};

pub(super) const OF_OTHER_KERNEL: GapRule = GapRule {
    when: "more communication is exposed, mainly because communication takes longer, and only one of the traces communicates by kernels of a communication library",
    applies: |_, candidate| {
        candidate.subject == GapSubject::ExposedCommunication && candidate.has_word("by_kernel")
    },
    title: "Communication by {by_kernel}, on the reference by {reference_kernel}",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}; all communication takes {communication} and {reference_communication}.",
    model: "Find out why the implementation of the reference is not in use: a kernel that reads the memory of other GPUs needs peer access between them, a supported number of ranks, and messages below its limit; serving engines say at their start when they disable it.",
    kernel: "Compare both implementations at this message size.",
    ..COMMUNICATION
};

pub(super) const OF_LONGER: GapRule = GapRule {
    when: "more communication is exposed, mainly because communication takes longer",
    applies: |_, candidate| {
        candidate.subject == GapSubject::ExposedCommunication
            && candidate.has_word("longer_communication")
    },
    title: "Communication takes longer",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}; all communication takes {communication} and {reference_communication}.",
    model: "The collectives themselves take longer, waiting for other ranks included. See in the traces of all ranks whether one of them is late (data loading, uneven work, a slower GPU); otherwise compare the network of both runs.",
    kernel: "Compare topology, links and settings of collective communication on both machines.",
    ..COMMUNICATION
};

pub(super) const OF_LESS_OVERLAP: GapRule = GapRule {
    when: "more communication is exposed that runs beside computation on the reference",
    applies: |_, candidate| {
        candidate.subject == GapSubject::ExposedCommunication && candidate.has_word("hidden")
    },
    title: "Communication that overlaps with computation on the reference only",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}; of all communication {hidden} runs beside computation on the target, and {reference_hidden} on the reference.",
    model: "Let collectives run beside computation as on the reference: start each as soon as its data is ready, on a stream of its own, and wait for it as late as possible (gradient buckets during the backward pass, prefetched all-gathers).",
    kernel: "The collectives take no longer than on the reference: when they start decides, not a kernel.",
    ..COMMUNICATION
};

pub(super) const COMMUNICATION: GapRule = GapRule {
    key: "more_exposed_communication",
    when: "more communication is exposed",
    applies: |_, candidate| candidate.subject == GapSubject::ExposedCommunication,
    title: "More exposed communication",
    issue: "On the target communication runs and nothing is computed for {time}, on the reference for {reference}{change}.",
    model: "Start collectives as soon as their data is ready, and let them run beside computation.",
    kernel: "Compare topology and settings of collective communication on both machines.",
    notes: &[
        SHARES,
        OTHER_AMOUNT,
        "The same {collectives} take {collectives_ratio} the time of the reference: {collectives_time} and {collectives_reference}, waiting for others included.",
        "A trace of one process does not tell waiting for others from moving data.",
    ],
    saves: "the exposed time beyond that of the reference for as much work",
};

/// Words about exposed communication that grows by this much.
pub(super) fn words(comparison: &Comparison, grown_ns: i64) -> Words {
    let mut words = overlap_words(comparison, grown_ns).unwrap_or_default();
    if words
        .iter()
        .any(|(word, _)| *word == "longer_communication")
    {
        words.extend(byte_words(comparison).unwrap_or_default());
        words.extend(kernel_words(comparison).unwrap_or_default());
    }
    words.extend(collective_words(comparison).unwrap_or_default());
    words
}

/// The bytes that collectives move, if the target moves more among as many ranks.
fn byte_words(comparison: &Comparison) -> Option<Words> {
    const MORE: f64 = 1.1;
    let rows = || comparison.collectives.iter();
    let bytes = Pair::of(|which| {
        let of_rows = rows().map(|row| {
            let key = &row.key;
            let n = row.sides.get(which).as_ref().map_or(0, |tally| tally.count);
            let elements = key.in_elements.max(key.out_elements) as f64;
            Some(n as f64 * elements * collective_element_bytes(&key.dtype)?)
        });
        of_rows.sum::<Option<f64>>()
    });
    let bytes = bytes.both()?;
    let scaled = bytes.reference * comparison.amount.ratio;
    let largest = |which: Which| {
        let own = rows().filter(|row| row.sides.get(which).is_some());
        own.max_by_key(|row| {
            (
                row.key.in_elements.max(row.key.out_elements),
                row.key.group_size,
            )
        })
    };
    let keys = Pair::of(|which| largest(which).map(|row| &row.key)).both()?;
    if scaled <= 0.0
        || bytes.target < MORE * scaled
        || keys.reference.group_size != keys.target.group_size
    {
        return None;
    }
    let dtypes = keys.map(|key| format::dtype(&key.dtype).unwrap_or(&key.dtype));
    let types = match dtypes.reference == dtypes.target {
        true => String::new(),
        false => format!(" ({} instead of {})", dtypes.target, dtypes.reference),
    };
    let said = bytes.map(|bytes| format::bytes(bytes.round() as u64));
    Some(vec![
        ("bytes_ratio", words::times(bytes.target / scaled)),
        ("bytes", said.target),
        ("reference_bytes", said.reference),
        ("types", types),
    ])
}

/// The kernels that take most of the communication, if only one of them is of a communication library.
fn kernel_words(comparison: &Comparison) -> Option<Words> {
    let longest = Pair::of(|which| {
        let rows = comparison.kernels.iter();
        let own = rows.filter(|row| family_of_kernel(&row.key) == Family::Communication);
        let own = own.max_by_key(|row| *row.times().get(which));
        own.filter(|row| *row.times().get(which) > 0)
    });
    let names = longest.both()?.map(|row| row.key.as_str());
    let is_of_library = |name: &str| name.contains("nccl") || name.contains("rccl");
    let differ = is_of_library(names.reference) != is_of_library(names.target);
    differ.then(|| {
        vec![
            ("by_kernel", words::kernel(names.target)),
            ("reference_kernel", words::kernel(names.reference)),
        ]
    })
}

/// Whether communication as a whole takes longer by most of what is exposed, or overlaps less.
fn overlap_words(comparison: &Comparison, grown_ns: i64) -> Option<Words> {
    let timelines = comparison.timelines().both()?;
    let all = timelines.map(|whole| whole.comm_ns);
    let scaled_ns = comparison.amount.scaled(all.reference);
    if all.target.saturating_sub(scaled_ns).saturating_mul(2) >= grown_ns {
        let all = all.map(format::time_ns);
        return Some(vec![
            ("longer_communication", String::new()),
            ("communication", all.target),
            ("reference_communication", all.reference),
        ]);
    }
    let hidden = timelines.map(|whole| {
        let hidden_ns = whole.comm_ns.saturating_sub(whole.exposed_comm_ns);
        format::percent(percent_or_zero(hidden_ns, whole.comm_ns))
    });
    Some(vec![
        ("hidden", hidden.target),
        ("reference_hidden", hidden.reference),
    ])
}

/// Whether the collectives themselves take longer, including the wait for other ranks.
fn collective_words(comparison: &Comparison) -> Option<Words> {
    let rows = comparison.collectives.iter();
    let both = rows.filter_map(|row| row.sides.as_ref().map(Option::as_ref).both());
    let same: Vec<Pair<&Tally>> = both
        .filter(|sides| sides.reference.count == sides.target.count)
        .collect();
    let count: u64 = same.iter().map(|sides| sides.target.count).sum();
    let times = Pair::of(|which| sum(same.iter().map(|sides| sides.get(which).ns())));
    Some(vec![
        ("collectives_ratio", words::times(times.ratio()?)),
        ("collectives", format::counted(count, "collective")),
        ("collectives_time", format::time_ns(times.target)),
        ("collectives_reference", format::time_ns(times.reference)),
    ])
}

#[cfg(test)]
mod tests {
    use crate::compare::Gap;
    use crate::compare::testing::{H100, assert_contains, compared};
    use crate::testing::Timetable;

    /// A GEMM of 1 000 µs, and an all-reduce of a million elements after it.
    fn reducing(kernel: &str, dtype: &str, us: u32) -> Timetable {
        let all_reduce = format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 20, "ts": 3000, "dur": {us}, "args": {{"External id": 90, "device": 0, "stream": 20, "correlation": 90, "Collective name": "allreduce", "dtype": "{dtype}", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": 8, "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}}}}"#
        );
        Timetable::new()
            .work("aten::mm", "gemm", 2_000..3_000)
            .raw(&all_reduce)
    }

    fn gap(reference: &Timetable, target: &Timetable) -> Gap {
        let ranked = compared(reference, target, H100).gaps.ranked;
        ranked.first().unwrap().clone()
    }

    #[test]
    fn more_bytes_are_told_from_slower_collectives() {
        let library = "ncclDevKernel_AllReduce_Sum";
        let reference = reducing(library, "BFloat16", 500);
        let wider = gap(&reference, &reducing(library, "Float", 1_000));
        assert_eq!(wider.title, "Communication moves 2.00× the bytes");
        assert_contains(
            &wider.gap,
            "its collectives move 4.00 MB, those of the reference 2.00 MB (fp32 instead of bf16)",
        );
        let slower = gap(&reference, &reducing(library, "BFloat16", 1_000));
        assert_eq!(slower.title, "Communication takes longer");
    }

    #[test]
    fn another_implementation_is_named() {
        let own = "void vllm::cross_device_reduce_1stage<bf16, 4>()";
        let slower = gap(
            &reducing(own, "BFloat16", 500),
            &reducing("ncclDevKernel_AllReduce_Sum", "BFloat16", 1_000),
        );
        assert_contains(
            &slower.title,
            "Communication by `ncclDevKernel_AllReduce_Sum`",
        );
    }
}
