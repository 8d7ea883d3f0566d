//! What all analyses of one kind of work share: its rows, which of them are bottlenecks, and how a
//! finding is made of some.

use super::assessment::Assessment;
use super::finding::{Finding, Impact, Priority, Replay};
use super::in_use::is_in_graph;
use super::narrower::{is_complex, matrix_rate_16_bit, runs_tf32};
use super::outcome::{Outcome, Row, Status, weighted};
use super::quality;
use super::value::Table;
use super::{AnalysisKind, Input};
use crate::format;
use crate::gpu::{Basis, Precision};
use crate::interval::{percent_of, sum};
use crate::operations::Operation;
use crate::perf::{ComputeSpec, Unit, Work};
use crate::replay::is_callable;
use crate::report::Judged;
use crate::roofline::{Bound, roofline};
use crate::sort::Arrange;
use crate::trace::{Dims, ShapeId};

/// Fewer calls than this say nothing about how much their durations vary.
const MIN_CALLS_FOR_VARIATION: usize = 10;

/// The outcome of an analysis with its rows and nothing else; `NoData` where there are none.
pub fn outcome(input: &Input, kind: &'static AnalysisKind) -> Outcome {
    let covered: Vec<(usize, &Operation, &Judged)> = input
        .operations()
        .filter(|(_, operation, _)| (kind.covers)(input.profile, operation))
        .collect();
    if covered.is_empty() {
        return Outcome::new(kind, Status::NoData);
    }
    let time_ns = sum(covered.iter().map(|(_, operation, _)| operation.kernel_ns));
    let share = |ns: i64, of: Option<i64>| percent_of(ns, of?);
    let mut rows: Vec<Row> = covered
        .iter()
        .map(|&(at, operation, judged)| Row {
            operation: at,
            time_ns: operation.kernel_ns,
            n_calls: operation.n_calls(),
            percent_of_category: share(operation.kernel_ns, Some(time_ns)).unwrap_or(0.0),
            percent_of_compute: share(operation.kernel_ns, input.computation_ns()),
            percent_of_total: share(judged.run_ns, input.total_ns()),
            efficiency_percent: judged.achieved.map(|achieved| achieved.roof_percent),
            assessment: judged
                .achieved
                .filter(|_| !judged.is_anomaly)
                .map(|one| Assessment::of(one.roof_percent, &input.options.thresholds)),
            bound: judged.roof.map(|roof| roof.bound),
            is_anomaly: judged.is_anomaly,
            variation: variation(&operation.times_us),
            class: String::new(),
        })
        .collect();
    rows.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    let mut outcome = Outcome::new(kind, Status::Done);
    outcome.time_ns = time_ns;
    outcome.n_calls = rows.iter().map(|row| row.n_calls).sum();
    outcome.rows = rows;
    outcome.notes = quality::notes(input, &outcome.rows);
    outcome
}

/// Deviation over mean; `None` for too few calls to tell.
pub(crate) fn variation(times_us: &[f64]) -> Option<f64> {
    if times_us.len() <= MIN_CALLS_FOR_VARIATION {
        return None;
    }
    let n = times_us.len() as f64;
    let mean = times_us.iter().sum::<f64>() / n;
    let squares: f64 = times_us.iter().map(|time| (time - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / (n - 1.0)).sqrt() / mean)
}

/// Where a kind of work draws its lines.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// Longer than this can be a bottleneck whatever its share, in milliseconds.
    pub time_ms: f64,
    /// Only below this share of the roof.
    pub efficiency_percent: f64,
}

/// Whether a row is large enough to be a bottleneck: long, or a good part of its kind and no noise.
pub fn is_large(input: &Input, row: &Row, gate: &Gate) -> bool {
    let thresholds = &input.options.thresholds;
    let is_long = row.time_ns as f64 / 1e6 > gate.time_ms;
    let is_noise = row
        .percent_of_total
        .is_none_or(|percent| percent < thresholds.gate_percent_of_total);
    is_long || (row.percent_of_category > thresholds.gate_percent_of_category && !is_noise)
}

/// Whether a row is a bottleneck: large, and far from its roof. Anomalies are none.
pub fn is_bottleneck(input: &Input, row: &Row, gate: &Gate) -> bool {
    let is_slow = row
        .efficiency_percent
        .is_some_and(|percent| percent < gate.efficiency_percent);
    is_slow && !row.is_anomaly && is_large(input, row, gate)
}

/// The priority of a bottleneck: by its share of the computation and its efficiency. `has_pattern`
/// for one that shows a pattern with a name.
pub fn priority(input: &Input, row: &Row, has_pattern: bool) -> Priority {
    let thresholds = &input.options.thresholds;
    let share = row.percent_of_compute.unwrap_or(0.0);
    let is_slow = row
        .efficiency_percent
        .is_some_and(|percent| percent < thresholds.critical_efficiency_percent);
    if share > thresholds.critical_percent_of_compute && is_slow {
        Priority::Critical
    } else if share > thresholds.high_percent_of_compute {
        Priority::High
    } else if share > thresholds.medium_percent_of_compute || has_pattern {
        Priority::Medium
    } else {
        Priority::Low
    }
}

/// What some rows are worth together: by their gap to the roof, and by rule of thumb where a GPU
/// is known but not how much work they are. Anomalies are worth nothing.
pub fn impact(input: &Input, rows: &[&Row]) -> (Option<Impact>, Vec<(usize, i64)>) {
    let mut all: Option<Impact> = None;
    let mut savings = Vec::new();
    for row in rows {
        let impact = match row.efficiency_percent {
            _ if row.is_anomaly => continue,
            Some(percent) => Impact::of_efficiency(row.time_ns, percent),
            None if input.gpu().is_some() => Impact::heuristic(row.time_ns),
            None => continue,
        };
        savings.push((row.operation, impact.mid_ns));
        all = Some(all.map_or(impact, |all| all.plus(impact)));
    }
    (all, savings)
}

/// Whether the first of these rows should go to kernel engineers. It is recommended for what is
/// both large and slow, and offered for `reason`; neither where there is nothing to call.
pub fn replay(input: &Input, row: &Row, reason: Option<&str>) -> Option<Replay> {
    let operation = input.profile.operations().get(row.operation)?;
    if !is_callable(input.profile, operation) {
        return None;
    }
    let thresholds = &input.options.thresholds;
    let share = row.percent_of_compute?;
    let efficiency = row.efficiency_percent.filter(|_| !row.is_anomaly);
    let is_large = share > thresholds.replay_percent_of_compute;
    let is_slow = efficiency.is_some_and(|percent| percent < thresholds.replay_efficiency_percent);
    let figures = match efficiency {
        Some(efficiency) => format!(
            "{} of compute at {} of its roof",
            format::percent(share),
            format::percent(efficiency)
        ),
        None => format!("{} of compute", format::percent(share)),
    };
    match (is_large && is_slow, reason) {
        (true, _) => Some(Replay {
            is_recommended: true,
            reason: figures,
        }),
        (false, Some(reason)) => Some(Replay {
            is_recommended: false,
            reason: reason.to_owned(),
        }),
        (false, None) => None,
    }
}

/// The words of a finding.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// See [`Finding`].
    pub pattern: &'static str,
    /// See [`Finding`].
    pub title: String,
    /// See [`Finding`].
    pub issue: String,
    /// See [`Finding`].
    pub model: String,
    /// See [`Finding`].
    pub kernel: String,
    /// See [`Finding`].
    pub reasoning: Vec<String>,
    /// See [`Finding`].
    pub tables: Vec<Table>,
}

impl Draft {
    /// The same where there is nothing to call, and so no reproducer.
    fn without_reproducer(mut self) -> Draft {
        self.kernel = without_reproducer(&self.kernel);
        for sentence in &mut self.reasoning {
            *sentence = without_reproducer(sentence);
        }
        self
    }
}

/// Advice without what needs a reproducer.
fn without_reproducer(text: &str) -> String {
    const PHRASES: &[(&str, &str)] = &[
        (", with the reproducer", ""),
        (" with the reproducer", ""),
        ("have the reproducer looked at", "have the kernel looked at"),
        (
            "with a reproducer under a hardware profiler",
            "under a hardware profiler",
        ),
        (
            "a reproducer under a hardware profiler",
            "a hardware profiler",
        ),
    ];
    PHRASES
        .iter()
        .fold(text.to_owned(), |text, (phrase, instead)| {
            text.replace(phrase, instead)
        })
}

/// A finding about some rows: its figures are theirs. `None` for no rows.
pub fn finding(input: &Input, rows: &[&Row], has_pattern: bool, draft: Draft) -> Option<Finding> {
    let first = rows.first()?;
    let (impact, savings) = impact(input, rows);
    // A finding matters as much as all its rows together.
    let together = Row {
        percent_of_compute: input
            .computation_ns()
            .map(|all| sum(rows.iter().map(|row| row.time_ns)) as f64 / all as f64 * 100.0),
        efficiency_percent: efficiency(rows),
        ..(*first).clone()
    };
    let replay = replay(
        input,
        first,
        Some("its reproducer tells more than a trace can"),
    );
    let draft = match replay {
        Some(_) => draft,
        None => draft.without_reproducer(),
    };
    Some(Finding {
        pattern: draft.pattern,
        priority: priority(input, &together, has_pattern),
        confidence: None,
        title: draft.title,
        issue: draft.issue,
        model: draft.model,
        kernel: draft.kernel,
        reasoning: draft.reasoning,
        operations: rows.iter().map(|row| row.operation).collect(),
        events: Vec::new(),
        time_ns: sum(rows.iter().map(|row| row.time_ns)),
        efficiency_percent: efficiency(rows),
        impact,
        savings,
        apart: Vec::new(),
        replay,
        tables: draft.tables,
    })
}

/// Whether arithmetic is in 32 bits or more.
pub fn is_wide(spec: ComputeSpec) -> bool {
    use Precision::{Fp32, Fp64, Tf32};
    matches!(spec.precision, Fp32 | Fp64 | Tf32)
}

/// What work in 32 bits would gain in 16 at the same efficiency: half the bytes, and the rate of the
/// 16-bit matrix units, in BF16 or where there is none in FP16. `None` without a GPU, or where the
/// GPU has no such units.
pub fn won_by_16_bit(input: &Input, row: &Row) -> Option<i64> {
    let gpu = input.gpu()?;
    let work = input.judged.get(row.operation)?.work?;
    let (precision, _) = matrix_rate_16_bit(input)?;
    let narrow = Work {
        bytes: work.bytes.map(|bytes| bytes / 2.0),
        compute: Some(ComputeSpec {
            unit: Unit::Matrix,
            precision,
        }),
        ..work
    };
    let basis = input.options.basis;
    let operation = input.profile.operations().get(row.operation)?;
    if is_complex(input, operation) {
        return None;
    }
    let judged = roofline(&work, gpu, basis)?.time_us;
    // The roof of single precision is that of TF32 where the GPU has such a mode. What runs in no such
    // mode takes at least as long as the vector units do.
    let bases = [Basis::Peak, Basis::Achievable];
    let has_units = bases.map(|basis| gpu.matrix(Precision::Fp32, basis).is_some());
    let is_single = work
        .compute
        .is_some_and(|spec| spec.precision == Precision::Fp32);
    let runs_on_vectors = is_single && !has_units.contains(&true) && !runs_tf32(input, &[row]);
    let on_vectors = || {
        let compute = work.compute.map(|spec| ComputeSpec {
            unit: Unit::Vector,
            ..spec
        });
        let us = roofline(&Work { compute, ..work }, gpu, basis)?.time_us;
        (row.time_ns as f64 >= us * 1e3 * row.n_calls as f64).then_some(us)
    };
    let now = runs_on_vectors.then(on_vectors).flatten().unwrap_or(judged);
    let then = roofline(&narrow, gpu, basis)?.time_us;
    let share = (1.0 - then / now).clamp(0.0, 1.0);
    Some((row.time_ns as f64 * share).round() as i64)
}

/// The efficiency of some rows together, weighted by their time.
pub fn efficiency(rows: &[&Row]) -> Option<f64> {
    weighted(
        rows.iter()
            .filter(|row| !row.is_anomaly)
            .filter_map(|row| Some((row.efficiency_percent?, row.time_ns))),
    )
}

/// Bottlenecks of no pattern, by what bounds them and how far they are from it.
pub fn by_gap<'a>(rows: &[&'a Row]) -> Vec<(Option<Bound>, &'static str, Vec<&'a Row>)> {
    let mut groups: Vec<(Option<Bound>, &'static str, Vec<&Row>)> = Vec::new();
    for row in rows {
        let bucket = match row.efficiency_percent {
            None => "unknown",
            Some(percent) if percent < 30.0 => "below 30 %",
            Some(percent) if percent < 60.0 => "30–60 %",
            Some(_) => "above 60 %",
        };
        let known = groups
            .iter_mut()
            .find(|(bound, known, _)| *bound == row.bound && *known == bucket);
        match known {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((row.bound, bucket, vec![row])),
        }
    }
    groups
}

/// "3.41 ms (12.3 % of compute)".
pub fn time_and_share(row_ns: i64, input: &Input) -> String {
    let time = format::time_ns(row_ns);
    match input.computation_ns() {
        Some(all) => {
            let share = format::percent(row_ns as f64 / all as f64 * 100.0);
            format!("{time} ({share} of compute)")
        }
        None => time,
    }
}

/// "at 18.2 % of its roof"; empty where that is not known.
pub fn at_efficiency(efficiency: Option<f64>) -> String {
    efficiency.map_or(String::new(), |percent| {
        format!(" at {} of the roof", format::percent(percent))
    })
}

/// The shapes of the tensors of an operation and their type: "8944 × 1024, 1024 × 2816 bf16". Empty
/// for kernels of GPU graphs: what stands above a graph takes the tensors of all of it.
pub fn shapes(input: &Input, operation: &Operation) -> String {
    /// More operands than this are counted.
    const MAX_SHAPES: usize = 3;
    let args = operation.args(input.profile);
    let Some(args) = args.filter(|_| !is_in_graph(input.profile, operation)) else {
        return String::new();
    };
    let trace = &input.profile.trace;
    let dims = args.dims.as_deref().unwrap_or_default();
    let types = args.types.as_deref().unwrap_or_default();
    let mut shapes: Vec<(String, Option<&str>)> = Vec::new();
    let mut first_type = None;
    for (at, dims) in dims.iter().enumerate() {
        let dtype = types
            .get(at)
            .and_then(|dtype| format::dtype(trace.strings.get(*dtype)));
        let tensors: &[ShapeId] = match dims {
            Dims::One(shape) => std::slice::from_ref(shape),
            Dims::Many(shapes) => shapes,
        };
        for shape in tensors {
            let sizes = trace.args.shape(*shape);
            if !sizes.is_empty() && (dtype.is_some() || matches!(dims, Dims::Many(_))) {
                shapes.push((format::shape(sizes), dtype));
            }
        }
        if first_type.is_none() {
            first_type = dtype;
        }
    }
    let n_more = shapes.len().saturating_sub(MAX_SHAPES);
    shapes.truncate(MAX_SHAPES);
    // A conversion is told by its two types.
    let one_type = shapes.windows(2).all(|two| two[0].1 == two[1].1);
    let texts: Vec<String> = shapes
        .into_iter()
        .map(|(shape, dtype)| match dtype.filter(|_| !one_type) {
            Some(dtype) => format!("{shape} {dtype}"),
            None => shape,
        })
        .collect();
    let mut text = texts.join(", ");
    if n_more > 0 {
        text.push_str(&format!(" and {n_more} more"));
    }
    if let Some(dtype) = first_type.filter(|_| one_type) {
        text.push_str(&format!(" {dtype}"));
    }
    text.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    /// 2·8192³ operations in single precision: 2.22 ms at TF32's 494.7 TFLOPS, 16.4 ms at the 67 of the
    /// vector units, 1.11 ms at 989 in 16 bits.
    #[test]
    fn what_runs_in_no_tf32_gains_from_where_it_is() {
        let won = |kernel: &str, us: u32| {
            let profile = Timetable::new()
                .op("aten::mm", 0..10)
                .args(r#""Input Dims": [[8192, 8192], [8192, 8192]], "Input type": ["float", "float"]"#)
                .launch(1, 1..2)
                .kernel(1, kernel, 100..100 + us)
                .profile();
            let report = Report::new(&profile, &options_on("H100"));
            let row = &report.analyses.outcome("gemm").unwrap().rows[0];
            let won_ns = won_by_16_bit(&report.analysis_input(&profile), row).unwrap();
            won_ns as f64 / f64::from(us) / 10.0
        };
        // In percent: one half of TF32's time, and 93 of 100 of the vector units'.
        assert!((won("cutlass_80_tensorop_s1688gemm_128x128", 20_000) - 50.0).abs() < 0.1);
        assert!((won("ampere_sgemm_128x64_nn", 20_000) - 93.2).abs() < 0.1);
        // Faster than the vector units are: whatever its name, it does not run on them.
        assert!((won("sgemm", 10_000) - 50.0).abs() < 0.1);
    }

    /// The gate and the priorities on their lines, for a row in a run of 1 s that computes all along.
    fn with_input(check: impl Fn(&Input, &Row)) {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .launch(1, 1..2)
            .kernel(1, "gemm", 0..1_000_000)
            .profile();
        let options = options_on("MI300X");
        let report = Report::new(&profile, &options);
        let row = &report.analyses.outcome("gemm").unwrap().rows[0];
        check(&report.analysis_input(&profile), row);
    }

    #[test]
    fn priorities_go_by_share_and_efficiency() {
        use Priority::{Critical, High, Low, Medium};
        let cases = [
            // Share of compute, efficiency, a pattern.
            (15.1, 29.9, false, Critical),
            (15.0, 29.9, false, High),
            (15.1, 30.0, false, High),
            (10.1, 5.0, false, High),
            (10.0, 5.0, false, Medium),
            (5.1, 39.0, false, Medium),
            (5.0, 39.0, false, Low),
            // Inefficient alone is not high; a pattern with a name is worth a look.
            (0.6, 1.0, false, Low),
            (0.6, 1.0, true, Medium),
        ];
        with_input(|input, row| {
            for (share, efficiency, has_pattern, expected) in cases {
                let row = Row {
                    percent_of_compute: Some(share),
                    efficiency_percent: Some(efficiency),
                    ..row.clone()
                };
                let found = priority(input, &row, has_pattern);
                assert_eq!(found, expected, "{share} % at {efficiency} %");
            }
        });
    }

    #[test]
    fn what_cannot_be_called_has_no_reproducer() {
        let cases = [
            (
                "tune tile sizes for these shapes with the reproducer, and check the choice.",
                "tune tile sizes for these shapes, and check the choice.",
            ),
            (
                "have it compared for these shapes, with the reproducer.",
                "have it compared for these shapes.",
            ),
            (
                "use more of the GPU: have the reproducer looked at.",
                "use more of the GPU: have the kernel looked at.",
            ),
            (
                "measure it with a reproducer under a hardware profiler.",
                "measure it under a hardware profiler.",
            ),
            (
                super::super::memory_bound::NOT_SHOWN,
                "A trace does not show why a kernel is slow: a hardware profiler does.",
            ),
        ];
        for (with, without) in cases {
            assert_eq!(without_reproducer(with), without);
        }
    }

    #[test]
    fn a_bottleneck_is_large_and_slow() {
        let gate = Gate {
            time_ms: 50.0,
            efficiency_percent: 40.0,
        };
        let cases = [
            // Milliseconds, share of the category and of the run, efficiency.
            (50.1, 1.0, 0.1, 39.9, true),
            (50.1, 1.0, 0.1, 40.0, false),
            // A large share of its kind, unless that is noise in the run.
            (6.0, 5.1, 0.6, 10.0, true),
            (6.0, 5.0, 0.6, 10.0, false),
            (4.0, 90.0, 0.4, 10.0, false),
        ];
        with_input(|input, row| {
            for (ms, of_category, of_total, efficiency, expected) in cases {
                let row = Row {
                    time_ns: (ms * 1e6) as i64,
                    percent_of_category: of_category,
                    percent_of_total: Some(of_total),
                    efficiency_percent: Some(efficiency),
                    ..row.clone()
                };
                let found = is_bottleneck(input, &row, &gate);
                assert_eq!(found, expected, "{ms} ms, {of_category} %, {efficiency} %");
                let anomaly = Row {
                    is_anomaly: true,
                    ..row
                };
                assert!(!is_bottleneck(input, &anomaly, &gate));
            }
        });
    }
}
