//! The package: the calls as JSON, the program that runs them, and a README.

use serde_json::{Value, json};

use super::candidates::{Candidate, candidates};
use crate::assess::Evaluation;
use crate::base::format;
use crate::base::map::Set;
use crate::base::sort::Arrange;
use crate::compare::words::bound;
use crate::names::signatures::is_tensor_type;
use crate::output::archive;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::profile::operations::reproducer::arguments::RecordedArguments;
use crate::profile::operations::reproducer::entry::{Call, call};
use crate::profile::operations::reproducer::reason::Reason;
use crate::report::Report;

/// The program that runs a package. It requires only PyTorch.
pub(crate) const RUNNER: &str = include_str!("batched_replay.py");
/// The name of [`RUNNER`].
pub(crate) const RUNNER_NAME: &str = "batched_replay.py";
/// The general text of a package's README, before the lists of its content.
pub const README: &str = include_str!("README.md");

/// An operation that can be run again.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Why it is in the package, and which operation it is.
    pub candidate: Candidate,
    /// Its name.
    pub name: String,
    json: Value,
}

/// An operation that cannot be run again.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Why it would be in the package, and which operation it is.
    pub candidate: Candidate,
    /// Its name.
    pub name: String,
    /// The reason.
    pub reason: Reason,
}

/// Some operations of a report, ready to be run again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Package {
    /// Its content, in order.
    pub entries: Vec<Entry>,
    /// What could not be rebuilt.
    pub left_out: Vec<LeftOut>,
    /// The GPU of the rooflines.
    gpu: Option<String>,
}

impl Entry {
    /// The JSON that the runner reads.
    pub(super) fn json(&self) -> &Value {
        &self.json
    }
}

impl Package {
    /// The operations that are worth a reproducer, recommended ones first.
    pub fn new(profile: &Profile, report: &Report) -> Package {
        Package::with(profile, report, candidates(profile, report))
    }

    /// A package of one operation, by its position in [`Profile::operations`].
    pub fn of_operation(profile: &Profile, report: &Report, operation: usize) -> Package {
        let known = candidates(profile, report)
            .into_iter()
            .find(|candidate| candidate.operation == operation);
        let candidate = known.unwrap_or_else(|| Candidate {
            operation,
            is_recommended: false,
            reason: "chosen".to_owned(),
        });
        Package::with(profile, report, vec![candidate])
    }

    /// A package of these operations. Equal calls on several threads are merged.
    pub fn with(profile: &Profile, report: &Report, candidates: Vec<Candidate>) -> Package {
        let mut package = Package {
            gpu: report.options.gpu.as_ref().map(|gpu| gpu.name.to_string()),
            ..Package::default()
        };
        let dtype = common_dtype(profile);
        let mut known = Set::default();
        for candidate in candidates {
            let at = candidate.operation;
            let of_operation = profile.operations().get(at).zip(report.evaluations.get(at));
            let Some((operation, evaluation)) = of_operation else {
                continue;
            };
            let name = operation.name(profile);
            match call(profile, operation, dtype) {
                Ok(call) => {
                    let key = (operation.key.name, operation.key.args);
                    if !known.insert(key) {
                        continue;
                    }
                    let json = entry_json(report, operation, evaluation, &candidate, call);
                    package.entries.push(Entry {
                        candidate,
                        name,
                        json,
                    });
                }
                Err(reason) => package.left_out.push(LeftOut {
                    candidate,
                    name,
                    reason,
                }),
            }
        }
        package
    }

    /// `replay_ir.json`: a list, one operation per line.
    pub(crate) fn ir(&self) -> Vec<u8> {
        let entries = self.entries.iter().map(|entry| entry.json.to_string());
        let lines = format::joined(entries, ",\n");
        match lines.is_empty() {
            true => b"[]\n".to_vec(),
            false => format!("[\n{lines}\n]\n").into_bytes(),
        }
    }

    /// `README.md` of the package.
    pub fn readme(&self) -> String {
        let mut out = README.to_owned();
        out.push_str("\n## What is in it\n\n");
        out.push_str(&match &self.gpu {
            Some(gpu) => format!("Rooflines are those of: {}.\n\n", plain(gpu)),
            None => "No GPU was chosen, so rooflines are left out.\n\n".to_owned(),
        });
        let lines = (1..).zip(&self.entries).map(|(number, entry)| {
            let mark = mark(entry.candidate.is_recommended);
            let [name, reason] = [&entry.name, &entry.candidate.reason].map(|text| plain(text));
            format!("{number} | {name} | {mark}: {reason}")
        });
        listed(&mut out, lines.collect(), "Nothing could be rebuilt.");
        out.push_str("\n## What could not be rebuilt\n\n");
        let lines = self.left_out.iter().map(|left| {
            let name = format::middle_ellipsis(&left.name, 100);
            format!("{} | {}", plain(&name), left.reason.label())
        });
        listed(&mut out, lines.collect(), "Nothing was left out.");
        out
    }

    /// The package as a file; `None` if it cannot be written. The same report gives the same bytes.
    pub fn zip(&self) -> Option<Vec<u8>> {
        let files = [
            ("README.md", self.readme().into_bytes()),
            (RUNNER_NAME, RUNNER.as_bytes().to_vec()),
            ("replay_ir.json", self.ir()),
        ];
        let files = files.map(|(path, bytes)| (path.to_owned(), bytes));
        archive::zip(&mut files.into_iter())
    }
}

fn entry_json(
    report: &Report,
    operation: &Operation,
    evaluation: &Evaluation,
    candidate: &Candidate,
    mut call: Call,
) -> Value {
    call.notes.dedup();
    let compute_ns = report.timelines.compute_ns();
    let total_us = operation.kernel_ns as f64 / 1e3;
    let believed = evaluation.plausible();
    let roofline = evaluation.roofline.map(|roofline| {
        json!({
            "us": roofline.time_us,
            "bound": bound(roofline.bound),
            "percent": believed.map(|achieved| achieved.percent_of_roofline),
        })
    });
    json!({
        "op_name": call.op,
        "overload": call.overload,
        "replay_ir": { "list_pos_args": call.positional, "list_kwargs": call.keywords },
        "count": operation.n_calls(),
        "recommended": candidate.is_recommended,
        "reason": candidate.reason,
        "trace": {
            "mean_us": total_us / operation.n_calls().max(1) as f64,
            "total_us": total_us,
            "percent_of_compute": compute_ns
                .map(|all| operation.kernel_ns as f64 / all as f64 * 100.0),
        },
        "work": evaluation.work.map(|work| json!({ "flops": work.flops, "bytes": work.bytes })),
        "roof": roofline,
        "notes": call.notes,
    })
}

/// The element type with the most GPU time; it is used if none is recorded.
fn common_dtype(profile: &Profile) -> Option<&str> {
    let mut times: Vec<(&str, i64)> = Vec::new();
    for operation in profile.operations() {
        let recorded = operation
            .arguments(profile)
            .and_then(RecordedArguments::new);
        let first = recorded.and_then(|recorded| {
            let mut types = (0..recorded.len()).map(|at| recorded.type_at(at));
            types.find(|dtype| is_tensor_type(dtype))
        });
        let Some(dtype) = first else { continue };
        match times.iter_mut().find(|(known, _)| *known == dtype) {
            Some((_, ns)) => *ns = ns.saturating_add(operation.kernel_ns),
            None => times.push((dtype, operation.kernel_ns)),
        }
    }
    // The first among equals.
    times.arrange_by_largest(|(_, ns)| *ns);
    times.first().map(|(dtype, _)| *dtype)
}

/// Whether a reproducer is recommended.
pub(crate) fn mark(is_recommended: bool) -> &'static str {
    match is_recommended {
        true => "recommended",
        false => "offered",
    }
}

/// Lines in a code block, escaped so that none can end it.
fn listed(out: &mut String, lines: Vec<String>, none: &str) {
    out.push_str(&match lines.is_empty() {
        true => format!("{none}\n"),
        false => format!("```text\n{}\n```\n", lines.join("\n")),
    });
}

fn plain(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
        .replace('`', "'")
}
