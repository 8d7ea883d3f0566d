//! The rules for lookups and writes by index, for recurrent layers and for the rest.

use super::{LAUNCHES_OF_STEP, Observed, SparseTable};
use crate::findings::engine::narrower::instead_of_32_bits;
use crate::findings::prelude::*;
use crate::hardware::roofline::Bound;
use crate::names::OtherKind;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn evidence(group: &Group<Self>, rule: &Rule<Self>) -> Option<Evidence> {
        let mut found = Evidence::of_operations(group, rule)?;
        if rule.key == DENSE_GRADIENT {
            for (operation, ns) in unused_of_whole(group) {
                let more = Impact::at_most(ns);
                found.impact = found.impact.map(|impact| impact.plus(more));
                found.savings.push((operation, more.mid_ns));
            }
            // Its priority is that of all that it costs.
            let all_ns = found.time_ns.saturating_add(whole_ns(group));
            let of_all = Evidence::of_time(group.input, Vec::new(), all_ns);
            found.priority = found.priority.min(of_all.priority);
        }
        Some(found)
    }
}

const DENSE_GRADIENT: &str = "dense_gradient";

/// Element-wise operations on whole tables, with the time that each takes.
fn whole(group: &Group<Observed<'static>>) -> Vec<(SparseTable, Vec<(usize, i64)>)> {
    let mut tables: Vec<SparseTable> = Vec::new();
    for table in group.observed.iter().filter_map(|observed| observed.table) {
        if tables.iter().all(|known| known.shape != table.shape) {
            tables.push(table);
        }
    }
    let whole = tables.into_iter();
    let whole = whole.map(|table| (table, table.whole(group.input)));
    whole.collect()
}

fn whole_ns(group: &Group<Observed<'static>>) -> i64 {
    let all = whole(group).into_iter().flat_map(|(_, all)| all);
    sum(all.map(|(_, ns)| ns))
}

/// The part of each that goes to rows that no index selects.
fn unused_of_whole(group: &Group<Observed<'static>>) -> Vec<(usize, i64)> {
    let all = whole(group).into_iter();
    let all = all.flat_map(|(table, all)| {
        let unused = move |(at, ns)| (at, table.unused_ns(ns));
        all.into_iter().map(unused)
    });
    times_by_operation(all)
}

/// Calls that are about as short as their launch.
pub(super) const SMALL: &[Rule<Observed>] = &[
    Rule {
        key: "many_small_look_ups",
        when: "many look-ups are about as short as their launch",
        applies: |_, observed| observed.kind == OtherKind::LookUp,
        title: "Many short look-ups",
        issue: "{calls} of look-ups take {each} each on average: {time}{at}.",
        model: "look up in several tables at once: join tables of one width and add an offset to the indices of each, or use an embedding that takes all tables in one call (table-batched embedding).",
        words: small,
        ..Rule::SMALL_KERNELS
    },
    Rule {
        key: "many_small_cells",
        when: "many calls of a recurrent cell are about as short as their launch",
        applies: |_, observed| observed.kind == OtherKind::Recurrent,
        title: "Recurrent cells, one call for each step",
        issue: "{calls} of a recurrent cell take {each} each on average: {time}{at}.",
        model: "use the layer in place of the cell (`torch.nn.LSTM` for `torch.nn.LSTMCell`, `torch.nn.GRU` for `torch.nn.GRUCell`): one call computes all steps, and its GEMMs with the input run for all steps at once; where each step depends on a result of the last one, capture the steps in a GPU graph.",
        words: small,
        ..Rule::SMALL_KERNELS
    },
];

fn small(group: &Group<Observed<'static>>) -> Words {
    let each_ns = group.mean_ns(n_calls(&group.rows));
    vec![("each", format::time_ns(each_ns))]
}

/// Sorting indices is the main cost from this share of a gradient's time on.
const SORTING_SHARE: f64 = 0.25;

pub(super) const RULES: &[Rule<Observed>] = &[
    super::messages::RULE,
    Rule {
        key: DENSE_GRADIENT,
        when: "the gradient of a table has four times as many rows as indices, or more, and it takes 5 % of the computation or more, with the element-wise operations on whole tables",
        applies: |_, observed| observed.table.is_some(),
        takes: |group| {
            let share = group
                .input
                .percent_of_compute(group.time_ns().saturating_add(whole_ns(group)));
            let least = group.input.options.thresholds.medium_percent_of_compute;
            share.is_some_and(|share| share >= least)
        },
        title: "Dense gradient of a large table",
        issue: "{figures}; {indices} select at most as many of {rows}, and the gradient of all others is zero{whole?. Element-wise operations on whole tables of this size take another {whole}}.",
        model: "let the embedding return sparse gradients (`sparse=True`, with `torch.optim.SparseAdam` or `torch.optim.SGD`), or use a fused embedding operation that updates its table in the backward pass: only the rows in use are then written, and read by the optimizer.",
        kernel: "nothing to gain in a kernel: the zeros need not be written.",
        notes: &[
            "The saving is the part of these times that goes to rows which no index selects.",
            "A table that is the output layer of the model, too, has a dense gradient in any case.",
        ],
        words: |group| {
            let input = group.input;
            let table = group.first().table;
            let whole = match whole_ns(group) {
                0 => String::new(),
                ns => time_and_share(ns, input),
            };
            let [indices, rows] = table.map_or([0; 2], |table| [table.n_indices, table.n_rows()]);
            let indices = match indices {
                1 => "1 index".to_owned(),
                n => format!("{} indices", format::count(n)),
            };
            vec![
                ("indices", indices),
                ("rows", format::counted(rows, "row")),
                ("whole", whole),
            ]
        },
        saves: Saves::AtMost(|_, observed| Some(observed.table?.unused_ns(observed.row.time_ns))),
        has_reproducer: false,
        ..Rule::BASE
    },
    Rule {
        key: "sorted_accumulation",
        when: "the gradient of a look-up spends a quarter of its time or more on sorting indices",
        applies: |_, observed| is_for_sorting(observed),
        gate: |group| group.is_large(|lines| lines.other_gate_ms),
        title: "Index and embedding gradients that sort their indices",
        issue: "{figures}, {share} of it in sorting indices ({sorting}).",
        model: "for embeddings use sparse gradients (`sparse=True`) or a fused embedding operation; replace `index_put` with `accumulate=True` by `scatter_add`, if nondeterministic results are acceptable.",
        kernel: "compare it with a kernel that accumulates with atomic adds for these indices, with the reproducer.",
        notes: &[
            "Kernels that sort take {sorting} of it: the gradients of equal indices are then added in one order each time. The other way is to add them as they come, with atomic operations.",
            "How often indices repeat is not recorded; it decides which way is faster.",
        ],
        words: |group| {
            let sorting_ns = group.sum(|observed| observed.sorting_ns);
            let percent = sorting_ns as f64 / group.time_ns().max(1) as f64 * 100.0;
            vec![
                ("sorting", format::time_ns(sorting_ns)),
                ("share", format::percent(percent)),
            ]
        },
        saves: Saves::AtMost(|input, observed| input.gpu().map(|_| observed.sorting_ns)),
        ..Rule::BASE
    },
    Rule {
        key: "slow_look_up_gradient",
        when: "the gradient of a look-up is slow, and not for sorting",
        applies: |_, observed| observed.sorts() && observed.is_slow,
        title: "Index and embedding gradients at a low % of the memory bandwidth",
        issue: "{figures}; it adds up the rows of equal indices.",
        model: "for embeddings use sparse gradients (`sparse=True`) or a fused embedding operation: both touch only the rows in use.",
        kernel: "compare it with a kernel that accumulates with atomic adds for these indices, with the reproducer.",
        notes: &[
            "The trace does not record how often indices repeat: additions to the same row are serialized, so a few frequent indices can dominate the time.",
            NOT_SHOWN,
        ],
        ..SLOW
    },
    Rule {
        key: "whole_tensors_gathered",
        when: "a look-up selects as many rows as its source has, of at least 64 KiB each, in 5 % of the computation or more",
        applies: |_, observed| observed.is_of_whole,
        takes: |group| group.is_much(),
        title: "Whole tensors copied to reorder their rows",
        issue: "{figures}; it gathers as many rows as its source has.",
        model: "reorder indices instead of data: keep a table that says which rows each sequence reads (the block table of a paged KV cache), and copy only the rows that change.",
        kernel: "nothing to gain in a kernel: the rows need not be copied.",
        notes: &[
            "The index values are not recorded: rows that stay in their place are copied, too.",
        ],
        saves: Saves::All,
        has_reproducer: false,
        ..Rule::BASE
    },
    Rule {
        key: "slow_look_up",
        when: "a look-up by index is slow",
        applies: |_, observed| observed.kind == OtherKind::LookUp && observed.is_slow,
        title: "Gathers (indexed reads) at a low % of the memory bandwidth",
        issue: "{figures}; it reads rows selected by an index.",
        model: "look up once and keep the result, or merge neighboring look-ups into one; a slice or a view needs no index.",
        kernel: "it is memory-bound: compare with the best element-wise operation of this trace; wide rows should come near it.",
        notes: &[
            "The trace does not record the index values, so it is unknown how scattered the reads are.",
            NOT_SHOWN,
        ],
        ..SLOW
    },
    Rule {
        key: "slow_scatter",
        when: "a write by index is slow",
        applies: |_, observed| observed.kind == OtherKind::Scatter && observed.is_slow,
        title: "Scatters (indexed writes) at a low % of the memory bandwidth",
        issue: "{figures}; it writes to positions given by an index.",
        model: "if many rows are written to the same index, sort them by index once (CSR) and use a segment reduction; a mask or a slice needs no index.",
        kernel: "compare with a kernel that sums up sorted segments for these indices, with the reproducer.",
        notes: &[
            "The trace does not record how often indices repeat: additions to the same position are serialized, so a few frequent indices can dominate the time.",
            NOT_SHOWN,
        ],
        ..SLOW
    },
    Rule {
        key: "sequential_steps",
        when: "the steps of a recurrent layer, which follow one another, or the kernels of each step, take no longer than two short kernels",
        applies: |_, observed| is_recurrent(observed) && observed.beyond_steps_ns.is_some(),
        title: "Recurrent layers: short steps, one after the other",
        issue: "{figures}; each of its {steps} takes {each}{kernels}, and waits for the one before it.",
        model: "give a step more to do: larger batches take hardly longer, and shorter sequences have fewer steps; where the model is free to choose, layers that compute all positions at once (attention, convolution, scans) need none.",
        kernel: "a persistent kernel, which keeps its weights on chip from step to step, has the shortest steps: check that the library chose one for these sizes.",
        notes: &["The time of a step is latency, which the roofline does not count: {saving}."],
        words: |group| {
            let first = group.first();
            let steps = first.sequential_steps.unwrap_or(1.0).max(1.0);
            let call_ns = group.mean_ns(n_calls(&group.rows)) as f64;
            let per_step = (first.n_kernels / steps).round() as u64;
            let kernels = match per_step {
                0 | 1 => String::new(),
                n => format!(" in {}", format::counted(n, "kernel")),
            };
            let latency = LAUNCHES_OF_STEP * group.input.options.thresholds.short_kernel_us;
            let saving = match group.any(|observed| observed.beyond_steps_ns > Some(0)) {
                true => format!(
                    "at most what each step takes beyond {}, the time of two short kernels, can be saved",
                    format::time_us(latency)
                ),
                false => "what can be saved is unknown".to_string(),
            };
            vec![
                ("kernels", kernels),
                ("saving", saving),
                ("steps", format::counted(steps as u64, "step")),
                ("each", format::time_ns((call_ns / steps).round() as i64)),
            ]
        },
        saves: Saves::AtMost(|_, observed| observed.beyond_steps_ns.filter(|ns| *ns > 0)),
        ..RECURRENT
    },
    Rule {
        key: "compute_bound_gap",
        when: "a recurrent layer is slow and compute-bound",
        applies: |_, observed| is_recurrent(observed) && is_compute_bound(observed),
        ..RECURRENT
    },
    Rule {
        key: "memory_bound_gap",
        when: "a recurrent layer is slow and memory-bound",
        applies: |_, observed| is_recurrent(observed),
        ..RECURRENT
    },
    Rule {
        key: "fft_size",
        when: "a Fourier transform is slow, and its size has a prime factor above 13",
        applies: |_, observed| is_miscellaneous(observed) && observed.odd_size.is_some(),
        title: "Fourier transforms of size {size}",
        issue: "{figures}; its size {size} has the prime factor {factor}, which fast kernels of FFT libraries are not built for.",
        model: "transform sizes with the prime factors 2, 3, 5 and 7 alone: pad with zeros to {next}, where the algorithm allows (convolutions, correlations, spectra for display).",
        kernel: "compare the same transform of size {next}, with the reproducer.",
        words: |group| {
            let [size, factor, next] = group.first().odd_size.unwrap_or_default();
            let text = |size: u64| size.to_string();
            vec![
                ("size", text(size)),
                ("factor", text(factor)),
                ("next", text(next)),
            ]
        },
        is_pattern: true,
        ..MISCELLANEOUS
    },
    Rule {
        key: "factorization",
        when: "a matrix factorization is slow",
        applies: |_, observed| is_miscellaneous(observed) && observed.is_factorization,
        gate: |group| group.is_much(),
        title: "Matrix factorizations",
        model: "factorize several matrices of one size in one call (a batch), and small ones on the CPU; compare the libraries that can do it (`torch.backends.cuda.preferred_linalg_library`).",
        kernel: "compare with a blocked algorithm, which does most of the work in GEMMs.",
        notes: &[
            "A factorization treats the columns of a matrix one after the other, so the roofline is out of its reach; how far is not known.",
        ],
        saves: Saves::Unknown,
        ..MISCELLANEOUS
    },
    Rule {
        key: "compute_bound_gap",
        when: "any other operation is slow and compute-bound",
        applies: |_, observed| is_miscellaneous(observed) && is_compute_bound(observed),
        ..MISCELLANEOUS
    },
    Rule {
        key: "memory_bound_gap",
        when: "any other operation is slow and memory-bound",
        applies: |_, observed| is_miscellaneous(observed),
        ..MISCELLANEOUS
    },
];

const SLOW: Rule<Observed> = Rule {
    by: |observed| observed.row.gap_bucket(),
    ..Rule::BASE
};

/// The library's operator is already used; what remains is the type, and the amount of work in a step of the sequence.
const RECURRENT: Rule<Observed> = Rule {
    title: "Recurrent layers at a low % of roofline",
    model: "{narrower}larger batches: the steps of a sequence follow one another, and each has the rows of a batch alone.",
    words: |group| {
        let narrower = match group.any(|observed| observed.is_in_fp32) {
            true => format!("{}; ", instead_of_32_bits(group.input, &group.rows)),
            false => String::new(),
        };
        vec![("narrower", narrower)]
    },
    ..MISCELLANEOUS
};

const MISCELLANEOUS: Rule<Observed> = Rule {
    title: "{names} at a low % of roofline",
    issue: "{figures}.",
    words: |group| {
        let first = short_name(
            group.input,
            group.input.operation(group.first().row.operation),
        );
        let more = match group.observed.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        vec![("names", format!("`{first}`{more}"))]
    },
    model: "see whether a fused or library operation does the same work for these shapes.",
    kernel: "profile the kernel with the reproducer.",
    notes: &[NOT_SHOWN],
    is_pattern: false,
    ..SLOW
};

pub(super) fn is_for_sorting(observed: &Observed) -> bool {
    observed.sorts() && observed.sorting_ns as f64 >= SORTING_SHARE * observed.row.time_ns as f64
}

fn is_recurrent(observed: &Observed) -> bool {
    observed.kind == OtherKind::Recurrent && observed.is_slow
}

fn is_miscellaneous(observed: &Observed) -> bool {
    observed.kind == OtherKind::Miscellaneous && observed.is_slow
}

fn is_compute_bound(observed: &Observed) -> bool {
    observed.row.bound == Some(Bound::Compute)
}
